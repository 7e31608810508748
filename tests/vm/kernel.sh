#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Unpacks Debian kernel packages into the cache: an image to boot in QEMU and
# the headers to build modules for it.  Nothing is installed on this machine.
#
#   kernel.sh image      prints the folder of the unpacked 6.1 image + headers
#   kernel.sh headers    prints the folder of unpacked 6.12 headers only
#
# The folder has `release` (a file with the kernel's release, written last) and `build` (for
# make KDIR=).  Once unpacked, no network is needed.
set -eu

what=${1:?usage: kernel.sh image|headers}
cache=${DELAYCC_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/delaycc/vm}

die()
{
	echo "tests/vm/kernel.sh: $*" >&2
	exit 1
}

# The newest release that a package name with "@" in the release's place offers.
newest()
{
	apt-cache search --names-only "^$1\$" | cut -d' ' -f1 | sort -V | tail -n 1
}

case $what in
image)
	image=$(apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-6\.1\..*\)$/\1/p' | head -n 1)
	# Not on Debian 12, or no lists: what has been unpacked before will do.
	release=${image#linux-image-}
	;;
headers)
	package=$(newest 'linux-headers-6[.]12[.].*deb12-amd64')
	release=${package#linux-headers-}
	image=
	;;
*)
	die "$what: not image or headers"
	;;
esac

if [ -z "$release" ]; then
	dir=$(find "$cache" -maxdepth 1 -name "$what-*" ! -name '*.tmp' 2>/dev/null | sort -V | tail -n 1)
	[ -n "$dir" ] || die "apt knows no such kernel package: run apt-get update (Debian 12 with security updates)"
	echo "$dir"
	exit 0
fi

dir=$cache/$what-$release
if [ -f "$dir/release" ]; then
	echo "$dir"
	exit 0
fi
rm -rf "$dir"

# linux-headers-R needs linux-headers-R-common (one for all flavours) and linux-kbuild-*.
headers=$(apt-cache depends "linux-headers-$release" |
	sed -n 's/^ *Depends: \(linux-headers-.*\|linux-kbuild-.*\)$/\1/p')
[ -n "$headers" ] || die "linux-headers-$release: apt does not know it: run apt-get update"

mkdir -p "$cache"
tmp=$dir.$$.tmp
rm -rf "$tmp"
mkdir "$tmp"
trap 'rm -rf "$tmp"' EXIT
# shellcheck disable=SC2086 # a list of names
(cd "$tmp" && apt-get -q download ${image:+"$image"} "linux-headers-$release" $headers) >&2 ||
	die "apt-get download failed"
for deb in "$tmp"/*.deb; do
	dpkg -x "$deb" "$tmp"
	rm "$deb"
done

# QEMU boots the bare kernel at once; unpacking itself takes it seconds of emulation.
# Debian compresses with xz, whose stream begins with these bytes.
if [ -n "$image" ]; then
	vmlinuz=$tmp/boot/vmlinuz-$release
	offset=$(LC_ALL=C grep -abo -m 1 "$(printf '\3757zXZ')" "$vmlinuz" | head -n 1 | cut -d: -f1)
	# What follows the stream makes xz complain.
	tail -c "+$((${offset:-0} + 1))" "$vmlinuz" | xz -dc >"$tmp/boot/vmlinux" 2>/dev/null || :
	readelf -h "$tmp/boot/vmlinux" >/dev/null 2>&1 || die "$vmlinuz: no xz-compressed kernel in it"
fi

# The package's makefile names its other half by an absolute path.
build=usr/src/linux-headers-$release
sed -i "s#^include /usr/src/#include $dir/usr/src/#" "$tmp/$build/Makefile"
ln -s "$build" "$tmp/build"
echo "$release" >"$tmp/release"
mv -T "$tmp" "$dir" 2>/dev/null || [ -f "$dir/release" ] || die "$dir: cannot be put in place"
echo "$dir"
