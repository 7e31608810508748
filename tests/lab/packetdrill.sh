#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches the kernel's own tests of TCP, its packetdrill scripts, from Debian's
# source package of a newer kernel: they are GPL-2.0 and no part of this tree.
#
#	packetdrill.sh [--cached]	prints their folder
#
# Exit status: 0, or 77: they cannot be had here (the reason is printed).
# --cached: only those that have been fetched.
#
# Nothing is installed.  The folder ${XDG_CACHE_HOME:-~/.cache}/delaycc/packetdrill-7.3
# has the scripts and `release`, the package's version (written last); remove it to
# get a newer one.
set -eu

series=7.3
inside=tools/testing/selftests/net/packetdrill
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/delaycc
dir=$cache/packetdrill-$series
skip()
{
	echo "$*"
	exit 77
}

# shellcheck source=tests/vm/debian.sh
. "$here/../vm/debian.sh"

if [ ! -f "$dir/release" ]; then
	[ "${1:-}" != --cached ] || skip "the kernel's packetdrill scripts are not here: run \`make packetdrill-scripts\`"
	command -v apt-get >/dev/null || skip "the kernel's packetdrill scripts are fetched with apt-get, which is not here"
	mkdir -p "$cache/headers"
	# Tests that build modules use these lists, too.
	exec 9>"$cache/headers/lock"
	flock 9
	# shellcheck disable=SC2046 # a list of names
	use_suites $(suites_of "$series")
	tmp=$dir.$$.tmp
	trap 'rm -rf "$tmp"' EXIT
	mkdir -p "$tmp/deb"
	(cd "$tmp/deb" && apt-get -qq download "linux-source-$series") >&2 || skip "apt-get could not download linux-source-$series"
	deb=$(echo "$tmp"/deb/*.deb)
	dpkg-deb --field "$deb" Version >"$tmp/version"
	dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/linux-source-$series.tar.xz" |
		tar -xJ -C "$tmp" --strip-components=6 --wildcards "*/$inside/*"
	rm -r "$tmp/deb"
	mv "$tmp/version" "$tmp/release"
	rm -rf "$dir"
	mv -T "$tmp" "$dir"
fi
echo "$dir"
