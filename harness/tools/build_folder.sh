#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Prints the folder of what is built: build/ in this clone.  Neither make nor the kernel's build
# takes every name of a folder (no space, no colon): in a clone that has such a name build/ is made
# a link to a folder in the cache, and that is printed.
set -eu
me=harness/tools/build_folder.sh
top=$(cd "$(dirname "$0")/../.." && pwd -P)

is_plain() {
	case $1 in
	*[!A-Za-z0-9/._+,@%=~-]*) return 1 ;;
	esac
}

die() {
	echo "$me: $*" >&2
	exit 2
}

build=$top/build
if ! is_plain "$top"; then
	if [ ! -e "$build" ]; then
		folder=${XDG_CACHE_HOME:-$HOME/.cache}/delaycc/build-$(printf %s "$top" | cksum | cut -d' ' -f1)
		is_plain "$folder" || die "the kernel cannot be built in this clone, '$top', nor in '$folder': set XDG_CACHE_HOME to a folder whose name has no space"
		mkdir -p "$folder"
		ln -sfn "$folder" "$build"
	fi
	build=$(cd "$build" && pwd -P)
	is_plain "$build" || die "the kernel cannot be built in '$build', whose name has a space or the like: remove that folder, then make chooses another"
fi
echo "$build"
