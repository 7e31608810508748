#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The modules by DKMS, from this source tree: rebuilt for each kernel that is installed later.
#
#   dkms.sh install    for the running kernel, or KERNEL=RELEASE; replaces the same version
#   dkms.sh remove     this version, for every kernel
#
# Environment: SOURCES, where DKMS looks for sources (default /usr/src).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(cat "$here/../VERSION")
sources=${SOURCES:-/usr/src}
kernel=${KERNEL:-$(uname -r)}
PATH=$PATH:/usr/sbin:/sbin

die() {
	echo "packaging/dkms.sh: $*" >&2
	exit 1
}

remove() {
	dkms status "delaycc/$version" | grep -q . || return 0
	dkms remove "delaycc/$version" --all
}

command -v dkms >/dev/null || die "dkms is not installed (Debian: dkms)"
[ "$(id -u)" = 0 ] || die "needs root"
case ${1:-} in
install)
	# A package's sources are the package's to replace.
	! dpkg-query -S "$sources/delaycc-$version" >/dev/null 2>&1 ||
		die "$sources/delaycc-$version belongs to the package delaycc-dkms: remove it first, or upgrade it instead"
	remove
	rm -rf "$sources/delaycc-$version"
	# kernel/VERSION is a link.
	cp -rL "$here/../kernel" "$sources/delaycc-$version"
	dkms install "delaycc/$version" -k "$kernel"
	;;
remove)
	remove
	rm -rf "$sources/delaycc-$version"
	;;
*) die "usage: dkms.sh install|remove" ;;
esac
