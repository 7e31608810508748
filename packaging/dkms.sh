#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The modules by DKMS, from this source tree: rebuilt for each kernel that is installed later.
#
#   dkms.sh install    for the running kernel, or KERNEL=RELEASE; replaces any other version
#   dkms.sh remove     every version, for every kernel
#
# Versions of the package delaycc-dkms are not touched: where there is one both end with 1.
# Environment: SOURCES, where DKMS looks for sources (default /usr/src).
set -euo pipefail
# The modules are for all users, whatever the umask.
umask 022
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(cat "$here/../VERSION")
sources=${SOURCES:-/usr/src}
kernel=${KERNEL:-$(uname -r)}
PATH=$PATH:/usr/sbin:/sbin

die() {
	echo "packaging/dkms.sh: $*" >&2
	exit 1
}

# The versions that DKMS knows, and those that have left sources alone.
versions() {
	{
		dkms status delaycc | sed -n 's|^delaycc/\([^,: ]*\)[,:].*|\1|p'
		find "$sources" -maxdepth 1 -name 'delaycc-*' -printf '%f\n' | sed 's/^delaycc-//'
	} | sort -u
}

of_package() { # VERSION
	dpkg-query -S "$sources/delaycc-$1" >/dev/null 2>&1
}

remove() { # VERSION
	! dkms status "delaycc/$1" | grep -q . || dkms remove "delaycc/$1" --all
	rm -rf "$sources/delaycc-$1"
}

# DKMS ends with 0 where it keeps a module that it takes for a newer one.
check_installed() {
	local module shown
	for module in delaycc delaycc_count $(cd "$here/../kernel" && ls tcp_*.c); do
		[[ $module != *.mod.c ]] || continue
		shown=$(modinfo -k "$kernel" -F version "${module%.c}" 2>&1) || :
		[ "$shown" = "$version" ] ||
			die "$(modinfo -k "$kernel" -n "${module%.c}" 2>/dev/null || echo "${module%.c}") has version '$shown', not $version: remove it, then try again"
	done
}

command -v dkms >/dev/null || die "dkms is not installed (Debian: dkms)"
[ "$(id -u)" = 0 ] || die "needs root"
case ${1:-} in
install)
	for other in $(versions); do
		# A package's sources are the package's to replace.
		! of_package "$other" ||
			die "$sources/delaycc-$other belongs to the package delaycc-dkms: remove it first, or upgrade it instead"
	done
	remove "$version"
	# kernel/VERSION is a link.
	cp -rL "$here/../kernel" "$sources/delaycc-$version"
	dkms build "delaycc/$version" -k "$kernel"
	# From here on it can only be installed: what is there now goes.
	for other in $(versions); do
		[ "$other" = "$version" ] || remove "$other"
	done
	dkms install "delaycc/$version" -k "$kernel" --force
	check_installed
	;;
remove)
	package=
	for other in $(versions); do
		if of_package "$other"; then
			package=$other
		else
			remove "$other"
		fi
	done
	[ -z "$package" ] || die "$sources/delaycc-$package belongs to the package delaycc-dkms: remove that (apt-get remove delaycc-dkms)"
	;;
*) die "usage: dkms.sh install|remove" ;;
esac
