#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Boots a debug kernel with four emulated processors in QEMU, with our modules; its init is the
# stress program.  The console goes to standard output.
#
#   run.sh FLAVOUR [WORD...]     kasan or kcsan; words for guest/main.cc, such as smp_seconds=60
#
# The kernel has to be in the cache (make smp-kernel).  The exit status is QEMU's own.
# Environment: DELAYCC_SMP_WORK, a folder for what is made (build/smp/FLAVOUR).
set -euo pipefail
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
flavour=${1:?usage: run.sh FLAVOUR [WORD...]}
shift
work=${DELAYCC_SMP_WORK:-$root/build/smp/$flavour}

die() {
	echo "tests/smp/run.sh: $*" >&2
	exit 1
}

for tool in qemu-system-x86_64 cpio depmod gcc g++ make ip tc modprobe; do
	command -v "$tool" >/dev/null || die "$tool is missing: run make setup"
done

kernel=${DELAYCC_SMP_KERNEL:-$("$here/kernel/build.sh" --cached "$flavour")}
release=$(cat "$kernel/include/config/kernel.release")
modules=$root/build/modules/smp-$flavour
faulty=$modules-faulty
mkdir -p "$work" "$faulty"
log=$work/build.log

# Machines that start side by side build the same modules: one after the other.
exec 9>"$modules.lock"
flock 9
# -g: a report's function+offset can be looked up.
make -s -C "$root/kernel" KDIR="$kernel" OUT="$modules" KCFLAGS=-g >"$log" 2>&1 ||
	{ cat "$log" >&2; die "the modules do not build for $release"; }
for file in Kbuild smp_faulty.c; do
	ln -sfn "$here/faulty/$file" "$faulty/$file"
done
make -s -C "$kernel" M="$faulty" modules >"$log" 2>&1 || { cat "$log" >&2; die "smp_faulty does not build"; }
g++ -std=c++17 -O2 -Wall -Wextra -static -o "$work/stress" "$here"/guest/*.cc
exec 9>&-

# ---- the initial file system ------------------------------------------------

tree=$work/tree
mods=$tree/usr/lib/modules/$release
rm -rf "$tree"
mkdir -p "$tree"/{dev,proc,sys,run,tmp,etc} "$tree/usr/bin" "$mods/extra" "$mods/test"
for link in bin sbin lib lib64; do
	ln -s "usr/$link" "$tree/$link"
done
ln -s bin "$tree/usr/sbin"
ln -s lib "$tree/usr/lib64"
for name in ip tc modprobe; do
	file=$(command -v "$name")
	cp -L "$file" "$tree/usr/bin/$name"
	for library in $(ldd "$file" | grep -o '/[^ ]*'); do
		mkdir -p "$tree/$(dirname "$library")"
		[ -e "$tree/$library" ] || cp -L "$library" "$tree/$library"
	done
done
cp "$work/stress" "$tree/usr/bin/stress"
ln -s usr/bin/stress "$tree/init"
# The kernel itself loads a module when somebody asks for its algorithm.
# Without what addr2line reads: loading it takes an emulated machine seconds.
for file in "$modules"/*.ko; do
	strip -g -o "$mods/extra/${file##*/}" "$file"
done
cp "$faulty/smp_faulty.ko" "$mods/test"
: >"$mods/modules.order"
: >"$mods/modules.builtin"
depmod -b "$tree/usr" "$release" 2>"$log" || { cat "$log" >&2; die "depmod failed"; }
(cd "$tree" && find . | sort | cpio --quiet -o -H newc -R 0:0 --reproducible) >"$work/initramfs"

# ---- the machine ------------------------------------------------------------

# An emulated processor may stand still for seconds while others run: no stall of RCU is
# reported, and nothing that watches for hung tasks is built in.  The stress program itself
# says when a thread does not come back.
# Grace periods of RCU that somebody waits for are short: many steps wait for one. RCU's threads
# go before all that makes trouble: else rcu_barrier(), for which the removal of a module waits,
# takes minutes on a busy host.
# The machine's TSC is this one's.  On a busy machine its kernel measures it wrong, and then
# its clock runs too fast.
khz=$(awk -F: '/^cpu MHz/ { printf "%d", $2 * 1000; exit }' /proc/cpuinfo)
words=(tsc_early_khz="$khz" console=ttyS0 loglevel=5 panic=-1 oops=panic net.ifnames=0 mitigations=off nokaslr
	rcupdate.rcu_cpu_stall_suppress=1 rcupdate.rcu_expedited=1 rcutree.kthread_prio=2 rcutree.use_softirq=0 tsc=reliable no_hash_pointers kasan_multi_shot
	kcsan.interrupt_watcher=1)
exec qemu-system-x86_64 -nodefaults -no-user-config -nographic -no-reboot \
	-M pc -cpu Nehalem -smp 4 -m 2000 -accel tcg,thread=multi,tb-size=512 -serial stdio \
	-kernel "$kernel/bzImage" -initrd "$work/initramfs" -append "${words[*]} $*" </dev/null
