#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Unpacks a Debian kernel and its headers into the cache: an image to boot in
# QEMU, and what modules for it are built with.  Nothing is installed on this
# machine.
#
#   kernel.sh SERIES     6.1 (Debian 12's own), 6.12, 7.2, 7.3; prints the folder
#
# Exit status: 0, 77 it cannot be had here (the reason is printed), 1 something else failed.
#
# The folder has `release` (a file with the kernel's release, written last) and
# `boot/kernel`, and where this machine's compiler can build for it `build` (for make KDIR=);
# for the others there is build.sh.  What has been unpacked once is
# used from then on, without network; remove the folder to get a newer one.
set -eu

series=${1:?usage: kernel.sh SERIES}
cache=${DELAYCC_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/delaycc/vm}

die()
{
	echo "tests/vm/kernel.sh: $*" >&2
	exit 1
}

skip()
{
	echo "$*"
	exit 77
}

# shellcheck source=tests/vm/debian.sh
. "$(dirname "$0")/debian.sh"
suites=$(suites_of "$series")

reuse()
{
	unpacked=$(find "$cache" -mindepth 2 -maxdepth 2 -path "$cache/linux-$series.*/release" 2>/dev/null | sort -V | tail -n 1)
	if [ -n "$unpacked" ]; then
		dirname "$unpacked"
		exit 0
	fi
}

reuse
# Tests that run side by side may want the same kernel: one fetches it, the others wait.
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
reuse

# shellcheck disable=SC2086 # a list of names
[ -z "$suites" ] || use_suites $suites
# The newest of the series; -dbg, -cloud- and -rt- are others.
pattern=$(echo "$series" | sed 's/[.]/[.]/g')
image=$(apt-cache search --names-only "^linux-image-${pattern}[.][0-9.+debpo~-]*-amd64\$" | cut -d' ' -f1 | sort -V | tail -n 1)
[ -n "$image" ] || skip "apt knows no linux-image-$series.*-amd64 in ${suites:-"this machine's suites: run apt-get update (Debian 12 with its security updates)"}"
release=${image#linux-image-}
case $series in
7.*)
	# The modules are built by build.sh, with the headers that it has by now or will get.
	has=${XDG_CACHE_HOME:-$HOME/.cache}/delaycc/headers/$series/release
	[ ! -f "$has" ] || release=$(cat "$has")
	packages="linux-binary-$release linux-modules-$release linux-base-$release"
	;;
*)
	# linux-headers-R needs linux-headers-R-common (one for all flavours) and linux-kbuild-*.
	needed=$(apt-cache depends "linux-headers-$release" |
		sed -n 's/^ *Depends: \(linux-headers-.*\|linux-kbuild-.*\)$/\1/p')
	[ -n "$needed" ] || die "linux-headers-$release: apt does not know it: run apt-get update"
	packages="$image linux-headers-$release $needed"
	;;
esac

dir=$cache/linux-$release
tmp=$dir.$$.tmp
rm -rf "$dir" "$tmp"
mkdir "$tmp"
trap 'rm -rf "$tmp"' EXIT
# shellcheck disable=SC2086 # a list of names
(cd "$tmp" && apt-get -q -o APT::Sandbox::User= download $packages) >&2 || die "apt-get download failed"
for deb in "$tmp"/*.deb; do
	dpkg -x "$deb" "$tmp"
	rm "$deb"
done

# Newer packages have all of it under usr/lib/modules.
[ -d "$tmp/lib/modules" ] || ln -s usr/lib "$tmp/lib"
mkdir -p "$tmp/boot"
vmlinuz=$tmp/boot/vmlinuz-$release
[ -f "$vmlinuz" ] || vmlinuz=$tmp/lib/modules/$release/vmlinuz

# QEMU boots the bare kernel at once; unpacking itself takes it seconds of emulation.
# 6.1 is compressed with xz, whose stream begins with these bytes.
offset=$(LC_ALL=C grep -abo -m 1 "$(printf '\3757zXZ')" "$vmlinuz" | head -n 1 | cut -d: -f1)
# What follows the stream makes xz complain.
tail -c "+$((${offset:-0} + 1))" "$vmlinuz" | xz -dc >"$tmp/boot/kernel" 2>/dev/null || :
readelf -h "$tmp/boot/kernel" >/dev/null 2>&1 || cp "$vmlinuz" "$tmp/boot/kernel"

build=usr/src/linux-headers-$release
if [ -d "$tmp/$build" ]; then
	# The package's makefile names its other half by an absolute path.
	sed -i "s#^include /usr/src/#include $dir/usr/src/#" "$tmp/$build/Makefile"
	ln -s "$build" "$tmp/build"
fi
echo "$release" >"$tmp/release"
mv -T "$tmp" "$dir" 2>/dev/null || [ -f "$dir/release" ] || die "$dir: cannot be put in place"
echo "$dir"
