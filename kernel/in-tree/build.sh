#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds net/ipv4/delaycc of a kernel tree with W=1 and C=1, and fails at any
# warning there.
#
#   build.sh TREE OUT JOBS
#
# A tree that has been configured is built in place, with its own options.  For
# a clean one a small configuration with all algorithms as modules is made in OUT.
# ARCH and CC are make's.
set -euo pipefail
tree=$(cd "$1" && pwd)
out=$2
jobs=$3
folder=net/ipv4/delaycc

die() {
	echo "make in-tree: $*" >&2
	exit 1
}

command -v sparse >/dev/null || die "no program sparse: install the Debian package sparse"
if [ -f "$tree/.config" ]; then
	build=(make -C "$tree" -j"$jobs")
	# Kconfig has new options, which are off.
	"${build[@]}" -s olddefconfig
	grep -q '^CONFIG_DELAYCC=' "$tree/.config" || {
		echo "make in-tree: $tree is configured without delaycc, so nothing is built; set CONFIG_TCP_CONG_OSCAR=m or others, and repeat"
		exit 0
	}
else
	mkdir -p "$out"
	build=(make -C "$tree" O="$out" -j"$jobs")
	{
		printf 'CONFIG_%s=y\n' 64BIT MODULES NET INET NETFILTER IPV6 SYSCTL PROC_FS TCP_CONG_ADVANCED
		printf 'CONFIG_%s=m\n' KUNIT DELAYCC_KUNIT_TEST
		grep '^config TCP_CONG_' "$tree/$folder/Kconfig" | sed 's/^config \(.*\)/CONFIG_\1=m/'
	} >"$out/delaycc.config"
	"${build[@]}" -s KCONFIG_ALLCONFIG="$out/delaycc.config" allnoconfig
	while read -r line; do
		grep -qxF "$line" "$out/.config" || die "the kernel did not accept $line"
	done <"$out/delaycc.config"
fi
"${build[@]}" -s prepare modules_prepare
# Sparse reads what is compiled, so all of it is.
touch "$tree/$folder"/*.c "$tree/$folder"/*/*.c
log=$("${build[@]}" W=1 C=1 "$folder/" 2>&1) || {
	echo "$log" >&2
	die "$folder does not build"
}
warnings=$(grep -E "$folder/.*(warning|error):" <<<"$log" || true)
[ -z "$warnings" ] || {
	echo "$warnings" >&2
	die "$folder builds with warnings"
}
echo "$folder: $(grep -c "CC.*$folder/" <<<"$log") files compiled with W=1, $(grep -c "CHECK.*$folder/" <<<"$log") checked by sparse, no warning"
