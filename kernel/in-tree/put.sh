#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Puts the modules into a kernel tree: net/ipv4/delaycc with Kconfig, the page
# Documentation/networking/delaycc.rst, and the lines that lead there. A second
# run replaces what the first one put.
#
#   put.sh TREE
set -euo pipefail
kernel=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tree=${1:?usage: put.sh TREE}
folder=$tree/net/ipv4/delaycc

die() {
	echo "make in-tree: $*" >&2
	exit 1
}

[ -d "$tree" ] || die "TREE=$tree: no such folder"
for file in Kbuild Kconfig net/ipv4/Kconfig net/ipv4/Makefile net/ipv4/tcp_cong.c; do
	[ -f "$tree/$file" ] || die "TREE=$tree: no kernel tree there (no $file)"
done
release=$(sed -n 's/^VERSION = //p; s/^PATCHLEVEL = //p' "$tree/Makefile" | paste -sd.)
[[ $release =~ ^(6\.([1-9]|1[0-9])|7\.[0-3])$ ]] || die "TREE=$tree: Linux $release; delaycc builds for 6.1 to 7.3"

# "TCP_CONG_OSCAR" of tcp_oscar.c.
symbol() {
	local name
	name=$(basename "$1" .c)
	name=${name#tcp_}
	echo "TCP_CONG_${name^^}"
}

kconfig() {
	cat <<'EOF'
# SPDX-License-Identifier: GPL-2.0-only
# Delay-based congestion control; delaycc's "make in-tree" writes this file.

config DELAYCC
	tristate

config DELAYCC_COUNT
	tristate
	depends on NETFILTER
	select DELAYCC
EOF
	local source description
	for source in "$kernel"/tcp_*.c; do
		[[ $source != *.mod.c ]] || continue
		description=$(sed -n 's/^MODULE_DESCRIPTION("\(.*\)");$/\1/p' "$source")
		[ -n "$description" ] || die "$source: no MODULE_DESCRIPTION"
		printf '\nconfig %s\n\ttristate "%s"\n' "$(symbol "$source")" "$description"
		grep -q '\.wants_flows = true' "$source" && printf '\tdepends on NETFILTER\n\tselect DELAYCC_COUNT\n'
		printf '\tselect DELAYCC\n\thelp\n\t  For datacenters; see Documentation/networking/delaycc.rst.\n'
	done
	cat <<'EOF'

config DELAYCC_KUNIT_TEST
	tristate "KUnit tests of delaycc's cores" if !KUNIT_ALL_TESTS
	depends on KUNIT
	default KUNIT_ALL_TESTS
	help
	  Tests of the delay-based control laws and of the table of flows,
	  for developers.  If unsure, say N.
EOF
}

# Built in, so that all of it is in the kernel that kunit.py boots.
kunitconfig() {
	printf 'CONFIG_%s=y\n' KUNIT NET INET NETFILTER TCP_CONG_ADVANCED
	local source
	for source in "$kernel"/tcp_*.c; do
		[[ $source == *.mod.c ]] || echo "CONFIG_$(symbol "$source")=y"
	done
	echo CONFIG_DELAYCC_KUNIT_TEST=y
}

# insert FILE LINE AWK_CONDITION: the line before the first line that the condition holds for, unless it is there.
insert() {
	grep -qxF -- "$2" "$tree/$1" && return
	LINE=$2 awk "!done && ($3) { print ENVIRON[\"LINE\"]; done = 1 } { print }
		END { exit !done }" "$tree/$1" >"$tree/$1.delaycc" || {
		rm -f "$tree/$1.delaycc"
		die "$tree/$1: no place found for \"$2\""
	}
	# Keeps the file's mode.
	cat "$tree/$1.delaycc" >"$tree/$1"
	rm "$tree/$1.delaycc"
}

# copy FILE TO: without a new time where nothing has changed, so that Kbuild builds no more than it must.
copy() {
	cmp -s "$1" "$2" || cp "$1" "$2"
}

cd "$kernel"
list=$(find -L . \( -name '*.[ch]' -o -name Kbuild -o -name VERSION \) ! -name '*.mod.c' -type f | sort)
# shellcheck disable=SC2046 # a list of folders
(mkdir -p "$folder" && cd "$folder" && mkdir -p $(xargs dirname <<<"$list" | sort -u))
for file in $list; do
	copy "$file" "$folder/$file"
done
kconfig >"$folder/Kconfig.new"
copy "$folder/Kconfig.new" "$folder/Kconfig"
rm "$folder/Kconfig.new"
kunitconfig >"$folder/kunit/.kunitconfig"
# Sources of an earlier run that are gone here.
(cd "$folder" && find . \( -name '*.[ch]' -o -name Kbuild \) ! -name '*.mod.c' -type f | sort) |
	comm -13 <(echo "$list") - | sed "s#^#$folder/#" | xargs -r rm

# Inside "if TCP_CONG_ADVANCED", before the choice of the default.
insert net/ipv4/Kconfig 'source "net/ipv4/delaycc/Kconfig"' '/^choice$/'
# Behind everything else, and linked after TCP.
if ! grep -qxF 'obj-y += delaycc/' "$tree/net/ipv4/Makefile"; then
	printf '\nobj-y += delaycc/\n' >>"$tree/net/ipv4/Makefile"
fi
# Debian's tree for the lab has no documentation.
if [ -f "$tree/Documentation/networking/index.rst" ]; then
	copy in-tree/delaycc.rst "$tree/Documentation/networking/delaycc.rst"
	insert Documentation/networking/index.rst '   delaycc' '/^   dns_resolver$/'
fi
echo "$folder: delaycc $(cat VERSION)"
