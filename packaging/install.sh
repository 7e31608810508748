#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `make install`, `install-lab` and `uninstall` do; kernel/Makefile installs the modules.
#
#   install.sh tools       the command and its data below PREFIX
#   install.sh lab         the lab kernel and its modules, for an installed command
#   install.sh uninstall   removes both, and the modules of every kernel
#
# Environment: BUILD (the build folder), PREFIX (absolute), DESTDIR (goes in front of every path; for packages).
# PREFIX/share/delaycc/installed lists every file, so that another version can be removed too.
set -euo pipefail
# What is installed is for all users, whatever the umask.
umask 022

destdir=${DESTDIR:-}
prefix=${PREFIX:-/usr/local}
list=$destdir$prefix/share/delaycc/installed
lab=$prefix/libexec/delaycc/lab

die() {
	echo "packaging/install.sh: $*" >&2
	exit 1
}

# remove_files < LIST: the files of a list, one absolute path a line.
remove_files() {
	local file
	while IFS= read -r file; do
		case $file in "$prefix"/*) rm -f "$destdir$file" ;; esac
	done
}

# Folders that hold nothing but delaycc.
remove_empty_folders() {
	local folder
	for folder in share/delaycc libexec/delaycc lib/delaycc share/doc/delaycc; do
		[ ! -d "$destdir$prefix/$folder" ] || find "$destdir$prefix/$folder" -depth -type d -empty -delete
	done
}

# keep_list < LIST: the files that are installed from now on. Those of an earlier version that are no longer
# among them go.
keep_list() {
	local new
	new=$(sort)
	[ ! -f "$list" ] || comm -23 <(sort "$list") - <<<"$new" | remove_files
	mkdir -p "$(dirname "$list")"
	printf '%s\n' "$new" >"$list"
	remove_empty_folders
}

of_lab() {
	grep "^$lab/" "$list" 2>/dev/null || true
}

[[ $prefix == /* && $prefix != *[[:space:]]* ]] || die "PREFIX=$prefix: needs an absolute path without spaces"
case ${1:-} in
tools)
	DESTDIR=$destdir cmake --install "$BUILD" --prefix "$prefix" >/dev/null
	{
		# CMake writes no newline behind the last.
		cat "$BUILD/install_manifest.txt"
		echo
		echo "$prefix/share/delaycc/installed"
		of_lab
	} | grep . | keep_list
	echo "installed: $destdir$prefix/bin/delaycc and its data ($(wc -l <"$list") files, listed in $list)"
	;;
lab)
	[ -e "$BUILD/lab/linux" ] || die "no lab in $BUILD/lab: run make lab"
	rm -rf "${destdir:?}$lab"
	install -D -t "$destdir$lab" "$BUILD/lab/linux"
	install -m 644 -t "$destdir$lab" "$BUILD"/lab/*.ko
	{
		[ ! -f "$list" ] || grep -v "^$lab/" "$list"
		find "$destdir$lab" -type f -printf "$lab/%f\n"
		echo "$prefix/share/delaycc/installed"
	} | sort -u | keep_list
	echo "installed: $destdir$lab"
	;;
uninstall)
	found=
	if [ -f "$list" ]; then
		found=1
		remove_files <"$list"
		remove_empty_folders
	fi
	for folder in "$destdir"/lib/modules/*/updates/delaycc; do
		[ -d "$folder" ] || continue
		found=1
		rm -r "$folder"
		rmdir --ignore-fail-on-non-empty "$(dirname "$folder")"
		release=$(basename "$(dirname "$(dirname "$folder")")")
		[ -n "$destdir" ] || PATH=$PATH:/usr/sbin:/sbin depmod "$release"
	done
	[ -n "$found" ] || die "nothing to remove: no $list, and no updates/delaycc in $destdir/lib/modules/*"
	echo "removed"
	;;
*) die "usage: install.sh tools|lab|uninstall" ;;
esac
