#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Unpacks a newer QEMU than Debian 12's into the cache, with the libraries that it
# needs, and prints a command that runs it.  Nothing is installed.  QEMU 7.2 of Debian 12
# ends by itself now and then while it emulates newer kernels; 10 does not.
#
#   qemu.sh SUITE        trixie: QEMU 10
#
# Exit status: 0, 77 it cannot be had here (the reason is printed).
#
# What has been unpacked once is used from then on, without network.
set -eu

suite=${1:?usage: qemu.sh SUITE}
cache=${DELAYCC_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/delaycc/vm}
dir=$cache/qemu-$suite

skip()
{
	echo "$*"
	exit 77
}

# shellcheck source=tests/vm/debian.sh
. "$(dirname "$0")/debian.sh"

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -x "$dir/qemu-system-x86_64" ]; then
	command -v apt-get >/dev/null || skip "Debian's packages are fetched with apt-get, which is not here"
	use_suites "$suite"
	tmp=$dir.$$.tmp
	trap 'rm -rf "$tmp"' EXIT
	mkdir -p "$tmp/deb/partial" "$tmp/root"
	download_with_all_it_needs "$tmp/deb" "$suite" base-files qemu-system-x86 || skip "apt-get could not download qemu-system-x86 of $suite"
	# The links of a merged /usr come first.
	for deb in "$tmp"/deb/base-files_*.deb "$tmp"/deb/*.deb; do
		[ ! -f "$deb" ] || dpkg -x "$deb" "$tmp/root" && rm -f "$deb"
	done
	cat >"$tmp/qemu-system-x86_64" <<EOF
#!/bin/sh
root=$dir/root
exec "\$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "\$root/usr/lib/x86_64-linux-gnu" "\$root/usr/bin/qemu-system-x86_64" \\
	-L "\$root/usr/share/seabios" -L "\$root/usr/share/qemu" "\$@"
EOF
	chmod +x "$tmp/qemu-system-x86_64"
	rm -rf "$dir"
	mv -T "$tmp" "$dir"
fi
echo "$dir/qemu-system-x86_64"
