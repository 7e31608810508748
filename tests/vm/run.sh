#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Boots a stock Debian kernel in QEMU with our modules and runs guest.sh as its
# init.  DELAYCC_VM_KERNEL chooses the series (6.1).  The console goes to standard output.  Needs no rights and no KVM:
# the machine is emulated, its clock counts instructions, so that a run
# repeats and idle time costs nothing.  DELAYCC_VM_SHIFT is the logarithm of the
# nanoseconds that an instruction takes (3); DELAYCC_VM_WORDS are added to the kernel's
# command line, for the script.
#
#   run.sh [GUEST-SCRIPT]
#
# The script needs the programs that its line "# programs: ..." names.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${DELAYCC_VM_WORK:-$root/build/vm}
guest=${1:-$here/guest.sh}
programs=$(sed -n 's/^# programs: //p' "$guest")

die()
{
	echo "tests/vm/run.sh: $*" >&2
	exit 1
}

for tool in qemu-system-x86_64 cpio depmod gcc make ip tc ss nstat sysctl unshare setpriv dash ethtool tcpdump $programs; do
	PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || die "$tool is missing: run make setup"
done
PATH=$PATH:/usr/sbin:/sbin

kernel=$("$here/kernel.sh" "${DELAYCC_VM_KERNEL:-6.1}")
release=$(cat "$kernel/release")

# ---- our modules and the transfer program -----------------------------------

mkdir -p "$work"
# Machines that start side by side build the same modules: one after the other.
mkdir -p "$root/build/modules"
exec 9>"$root/build/modules/vm.lock"
flock 9
modules=$root/build/modules/$release
make -s -C "$root/kernel" KDIR="$kernel/build" OUT="$modules" CONFIG_DEBUG_INFO_BTF_MODULES= >"$work/modules.log" 2>&1 ||
	{ cat "$work/modules.log" >&2; die "the modules do not build for $release"; }
# An algorithm for tests alone.
counted=$work/counted-$release
mkdir -p "$counted"
for file in Kbuild tcp_counted.c; do
	ln -sfn "$root/tests/lab/counted/$file" "$counted/$file"
done
make -s -C "$kernel/build" M="$counted" DELAYCC_MODULES="$modules" KBUILD_EXTRA_SYMBOLS="$modules/Module.symvers" \
	CONFIG_DEBUG_INFO_BTF_MODULES= modules >"$work/counted.log" 2>&1 ||
	{ cat "$work/counted.log" >&2; die "tcp_counted does not build for $release"; }
exec 9>&-
for program in xfer refused mirror sockets; do
	gcc -std=gnu11 -O2 -Wall -Wextra -static -o "$work/$program" "$here/$program.c"
done

# ---- the initial file system ------------------------------------------------

tree=$work/tree
rm -rf "$tree"
mkdir -p "$tree/dev" "$tree/proc" "$tree/sys" "$tree/run" "$tree/tmp" "$tree/etc" "$tree/usr/bin" \
	"$tree/usr/lib/modules/$release/extra"
for link in bin sbin lib lib64; do
	ln -s "usr/$link" "$tree/$link"
done
ln -s bin "$tree/usr/sbin"
ln -s lib "$tree/usr/lib64"

add_program() # NAME...: with the libraries that it needs
{
	for name; do
		file=$(command -v "$name")
		cp -L "$file" "$tree/usr/bin/$name"
		for library in $(ldd "$file" 2>/dev/null | grep -o '/[^ ]*'); do
			mkdir -p "$tree/$(dirname "$library")"
			[ -e "$tree/$library" ] || cp -L "$library" "$tree/$library"
		done
	done
}
# Real programs, no busybox: its shell has an `ip` of its own.
add_program dash ip tc ss nstat sysctl modprobe rmmod insmod mount unshare setpriv \
	cat cut grep head tail tr sed seq sleep timeout dmesg uname mkdir rm wc ethtool tcpdump
# shellcheck disable=SC2086 # a list of names
add_program $programs
ln -s dash "$tree/usr/bin/sh"
cp "$work/xfer" "$work/refused" "$work/mirror" "$work/sockets" "$tree/usr/bin"
mkdir -p "$tree/usr/share"
cp "$here/common.sh" "$tree/common.sh"
cp "$guest" "$tree/init"
chmod +x "$tree/init"

mods=$tree/usr/lib/modules/$release
cp "$kernel/lib/modules/$release/modules.order" "$kernel/lib/modules/$release/modules.builtin" "$mods"
cp "$modules"/*.ko "$mods/extra"
mkdir "$mods/test"
cp "$counted/tcp_counted.ko" "$mods/test"
# For tcpdump.
echo root:x:0:0::/:/bin/sh >"$tree/etc/passwd"
echo root:x:0: >"$tree/etc/group"
# Those that guest.sh asks for, with what they need.
for name in veth tun sch_netem sch_fq inet_diag tcp_diag; do
	find "$kernel/lib/modules/$release/kernel" -name "$name.ko*" -exec cp {} "$mods" \;
done
depmod -b "$tree/usr" "$release" 2>"$work/depmod.log" || { cat "$work/depmod.log" >&2; die "depmod failed"; }
(cd "$tree" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 --reproducible) >"$work/initramfs"

# ---- the machine ------------------------------------------------------------

# One instruction takes 8 ns of its clock unless told otherwise, and sleeping takes no
# time: faster and slower hosts give the same run.
exec qemu-system-x86_64 -nodefaults -no-user-config -nographic \
	-no-reboot -M pc -cpu Nehalem -smp 1 -m 512 -accel tcg,tb-size=512 -icount shift="${DELAYCC_VM_SHIFT:-3}",sleep=off -seed 1 \
	-rtc base=2026-01-01T00:00:00,clock=vm -serial stdio \
	-kernel "$kernel/boot/kernel" -initrd "$work/initramfs" \
	-append 'console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off nokaslr '"${DELAYCC_VM_WORDS:-}" </dev/null
