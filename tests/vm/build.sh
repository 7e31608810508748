#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the modules for a Debian kernel that need not be this machine's: with
# the newest headers of its series and that release's compiler.
#
#   build.sh SERIES OUT [FOLDER...]    such as 7.3; the modules go to the folder OUT
#   build.sh 6.1-ARCH OUT              for armhf (32 bits) or s390x (big-endian)
#
# Each FOLDER has one module more, that needs them; it goes to OUT/NAME-OF-FOLDER.
#
# Exit status: 0 built, 77 the headers cannot be had here (the reason is printed),
# 1 the build failed.
#
# 6.1 and 6.12 are built by this machine's compiler (Debian 12), those of ARCH by
# Debian 12's cross compiler, which is unpacked, too.  The tools in the
# headers of 7.2 and 7.3 need a newer C library and a newer compiler, so Debian
# 13's packages are unpacked into a folder that serves as root (unshare).  Nothing
# is installed, and this machine's apt is left as it is: other suites have lists of
# their own.  What has been fetched stays in ${XDG_CACHE_HOME:-~/.cache}/delaycc/headers
# and is used from then on, without network; remove the folder to get a newer one.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
kernel=$here/../../kernel
series=${1:?usage: build.sh SERIES OUT}
out=${2:?usage: build.sh SERIES OUT}
shift 2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/delaycc/headers
# What Kbuild calls, beside the compiler that the headers depend on.
tools="base-files bash binutils coreutils dash diffutils findutils gawk grep make sed"

die()
{
	echo "tests/vm/build.sh: $*" >&2
	exit 1
}

skip()
{
	echo "$*"
	exit 77
}

# shellcheck source=tests/vm/debian.sh
. "$here/debian.sh"
# Debian's name of another architecture, and of its kernel's flavour; what Kbuild has to know.
flavour=amd64 cross='' kbuild=''
case $series in
6.1-armhf) arch=armhf flavour=armmp cross=arm-linux-gnueabihf kbuild=ARCH=arm ;;
6.1-s390x) arch=s390x flavour=s390x cross=s390x-linux-gnu kbuild=ARCH=s390 ;;
esac
version=${series%"${arch:+-$arch}"}
suites=$(suites_of "$version")
[ -z "$arch" ] || suites=bookworm
PATH=$PATH:/usr/sbin:/sbin
command -v apt-get >/dev/null || skip "Debian's headers are fetched with apt-get, which is not here"

# ---- the headers ------------------------------------------------------------

fetch()
{
	# shellcheck disable=SC2086 # a list of names
	[ -z "$suites" ] || use_suites $suites
	pattern=$(echo "$version" | sed 's/[.]/[.]/g')
	headers=$(apt-cache search --names-only "^linux-headers-${pattern}[.][0-9.+debpo~-]*-$flavour\$" | cut -d' ' -f1 | sort -V | tail -n 1)
	[ -n "$headers" ] || skip "apt knows no linux-headers-$version.*-$flavour in ${suites:-this machine\'s suites}"
	tmp=$dir.$$.tmp
	trap 'rm -rf "$tmp"' EXIT
	mkdir -p "$tmp/root" "$tmp/deb"
	case $suites in
	trixie*)
		# With all that they depend on, whatever this machine has.
		# shellcheck disable=SC2086 # a list of names
		download_with_all_it_needs "$tmp/deb" "${suites%% *}" "$headers" $tools ||
			skip "apt-get could not download $headers"
		;;
	bookworm)
		# The headers' tools are this machine's: modpost reads objects of any.
		needed="${headers%-"$flavour"}-common linux-kbuild-$version gcc-12-$cross cpp-12-$cross binutils-$cross"
		# shellcheck disable=SC2086 # a list of names
		(cd "$tmp/deb" && apt-get -qq download "$headers:$arch" $needed) >&2 || skip "apt-get could not download $headers:$arch and its compiler"
		;;
	*)
		needed=$(apt-cache depends "$headers" | sed -n 's/^ *Depends: \(linux-headers-.*\|linux-kbuild-.*\)$/\1/p')
		# shellcheck disable=SC2086 # a list of names
		(cd "$tmp/deb" && apt-get -qq -o APT::Sandbox::User= download "$headers" $needed) >&2 || skip "apt-get could not download $headers"
		;;
	esac
	# The links of a merged /usr come first.
	for deb in "$tmp"/deb/base-files_*.deb "$tmp"/deb/*.deb; do
		[ ! -f "$deb" ] || dpkg -x "$deb" "$tmp/root" && rm -f "$deb"
	done
	[ ! -e "$tmp/root/usr/bin/gawk" ] || ln -sf gawk "$tmp/root/usr/bin/awk"
	release=${headers#linux-headers-}
	if [ ! -d "$tmp/root/usr/bin" ] || [ -n "$arch" ]; then
		# The package's makefile names its other half by an absolute path.
		sed -i "s#^include /usr/src/#include $dir/root/usr/src/#" "$tmp/root/usr/src/$headers/Makefile"
	fi
	echo "$release" >"$tmp/release"
	rm -rf "$dir"
	mv -T "$tmp" "$dir"
}

mkdir -p "$cache"
dir=$cache/$series
# Tests that run side by side may want the same headers: one fetches them, the others wait.
exec 9>"$cache/lock"
flock 9
[ -f "$dir/release" ] || fetch
flock -u 9
release=$(cat "$dir/release")

# ---- the modules ------------------------------------------------------------

# What needs debugging information or the kernel's image is not wanted here.
build="CONFIG_DEBUG_INFO_BTF_MODULES= $kbuild"
if [ -n "$arch" ]; then
	build="$build CROSS_COMPILE=$cross- CC=$cross-gcc-12"
	PATH=$dir/root/usr/bin:$PATH
	LD_LIBRARY_PATH=$dir/root/usr/lib/$(gcc -print-multiarch)
	export LD_LIBRARY_PATH
fi
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd -P)
names=
for more; do
	name=$(basename "$more")
	names="$names $name"
	mkdir "$out/$name"
	cp -rL "$more"/. "$out/$name"
done
if [ ! -d "$dir/root/usr/bin" ] || [ -n "$arch" ]; then
	# shellcheck disable=SC2086
	make -s -j2 -C "$kernel" KDIR="$dir/root/usr/src/linux-headers-$release" OUT="$out" $build || die "the modules do not build for $release"
	for name in $names; do
		# shellcheck disable=SC2086 # a list of words
		make -s -C "$dir/root/usr/src/linux-headers-$release" M="$out/$name" DELAYCC_MODULES="$out" KBUILD_EXTRA_SYMBOLS="$out/Module.symvers" \
			$build modules || die "$name does not build for $release"
	done
else
	cp -rL "$kernel"/. "$out"
	map=
	[ "$(id -u)" = 0 ] || map=--map-root-user
	# shellcheck disable=SC2086
	why=$(unshare --mount $map true 2>&1) || skip "a folder cannot serve as root here, where / is no mount point (a chroot): $why"
	# shellcheck disable=SC2016,SC2086
	unshare --mount $map sh -euc '
		root=$1; out=$2; shift 2
		mkdir -p "$root/dev" "$root/proc" "$root/build" "$root/tmp"
		mount --rbind /dev "$root/dev"
		mount --rbind /proc "$root/proc"
		mount --bind "$out" "$root/build"
		headers=/usr/src/linux-headers-$1
		in_root() { env -i PATH=/usr/bin:/usr/sbin LC_ALL=C chroot "$root" make -s -j2 -C "$headers" "$@"; }
		build=$2
		in_root M=/build $build modules
		shift 2
		for name; do
			in_root M=/build/$name DELAYCC_MODULES=/build KBUILD_EXTRA_SYMBOLS=/build/Module.symvers $build modules
		done' \
		sh "$dir/root" "$out" "$release" "$build" $names || die "the modules do not build for $release"
fi
echo "$release"
