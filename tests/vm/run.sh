#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Boots a stock Debian kernel in QEMU with our modules and runs guest.sh as its
# init.  The console goes to standard output.  Needs no rights and no KVM:
# the machine is emulated, its clock counts instructions, so that a run
# repeats and idle time costs nothing.
#
#   DELAYCC_VM_KERNEL   the kernel's series: 6.1 (default), 6.12, 7.2, 7.3 (kernel.sh)
#   DELAYCC_VM_QEMU     a suite of Debian whose QEMU to use, trixie, in place of this
#                       machine's (qemu.sh)
#   DELAYCC_VM_SMP      its processors (1); they take turns
#   DELAYCC_VM_SHIFT    logarithm of the nanoseconds that an instruction takes (3)
#   DELAYCC_VM_WORDS    added to the kernel's command line, for the script
#   DELAYCC_VM_MACHINE  its kind (pc), and DELAYCC_VM_DEVICES: words for QEMU
#
#   run.sh [--prepare | --boot] [GUEST-SCRIPT]
#
# --prepare builds modules, programs and the initial file system and boots nothing;
# --boot boots what was built, so that one building serves many machines, also side by
# side.  The script needs the programs and the kernel's modules that its lines
# "# programs: ..." and "# modules: ..." name, and the files of "# files: SOURCE:TARGET ...":
# a pattern below the source tree, and a folder of the machine.  "# python: PACKAGE ..." takes
# Python with its standard library and these packages of this machine's.  "# memory: MB" is for
# more than 512, "# devices:" for words to QEMU.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$("$root/harness/tools/build_folder.sh")
work=${DELAYCC_VM_WORK:-$build/vm}
only=
case ${1:-} in
--prepare | --boot)
	only=${1#--}
	shift
	;;
esac
guest=${1:-$here/guest.sh}
programs=$(sed -n 's/^# programs: //p' "$guest")
modules_wanted=$(sed -n 's/^# modules: //p' "$guest")
files_wanted=$(sed -n 's/^# files: //p' "$guest")
python_wanted=$(sed -n 's/^# python: //p' "$guest")
memory=$(sed -n 's/^# memory: //p' "$guest")
devices=$(sed -n 's/^# devices: //p' "$guest" | tr '\n' ' ')

die()
{
	echo "tests/vm/run.sh: $*" >&2
	exit 1
}

qemu=
[ -n "${DELAYCC_VM_QEMU:-}" ] || qemu="qemu-system-x86_64"
for tool in $qemu cpio depmod modinfo gcc make ip tc ss nstat sysctl unshare setpriv dash ethtool tcpdump $programs; do
	PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || die "$tool is missing: run make setup"
done
PATH=$PATH:/usr/sbin:/sbin

series=${DELAYCC_VM_KERNEL:-6.1}
# What cannot be had here says why: 77.
kernel=$("$here/kernel.sh" "$series") || { status=$?; echo "$kernel" >&2; exit $status; }
release=$(cat "$kernel/release")
[ -n "$qemu" ] || qemu=$("$here/qemu.sh" "$DELAYCC_VM_QEMU") || { status=$?; echo "$qemu" >&2; exit $status; }

# ---- what it boots ----------------------------------------------------------

build_programs()
{
	mkdir -p "$work"
	# Machines that start side by side build the same modules: one after the other, until each has copied them.
	mkdir -p "$build/modules"
	exec 9>"$build/modules/vm.lock"
	flock 9
	modules=$build/modules/$release
	# Modules for tests alone.
	more="tests/lab/counted tests/lab/mended tests/lab/sealed tests/lab/stamped tests/replay/watched"
	if [ -d "$kernel/build" ]; then
		make -s -C "$root/kernel" KDIR="$kernel/build" OUT="$modules" CONFIG_DEBUG_INFO_BTF_MODULES= >"$work/modules.log" 2>&1 ||
			{ cat "$work/modules.log" >&2; die "the modules do not build for $release"; }
		built_more=$modules-tests
		for folder in $more; do
			name=${folder##*/}
			mkdir -p "$built_more/$name"
			ln -sfn "$root/$folder"/* "$built_more/$name"
			make -s -C "$kernel/build" M="$built_more/$name" DELAYCC_MODULES="$modules" KBUILD_EXTRA_SYMBOLS="$modules/Module.symvers" \
				CONFIG_DEBUG_INFO_BTF_MODULES= modules >"$work/$name.log" 2>&1 ||
				{ cat "$work/$name.log" >&2; die "$name does not build for $release"; }
		done
	else
		built_more=$modules
		# shellcheck disable=SC2086 # a list of folders
		built=$(cd "$root" && tests/vm/build.sh "$series" "$modules" $more 2>"$work/modules.log") ||
			{ cat "$work/modules.log" >&2; die "the modules do not build for $release"; }
		[ "$built" = "$release" ] || die "the headers are of $built, the kernel is $release: remove both folders from the cache (kernel.sh, build.sh)"
	fi
	for program in xfer refused mirror sockets bulk soak; do
		gcc -std=gnu11 -O2 -Wall -Wextra -static -o "$work/$program" "$here/$program.c"
	done
}

add_program() # NAME...: with the libraries that it needs
{
	for name; do
		file=$(command -v "$name")
		# Ours have symbols, ten times the program.
		case $file in
		/usr/* | /bin/* | /sbin/*) cp -L "$file" "$tree/usr/bin/$name" ;;
		*) strip -o "$tree/usr/bin/$name" "$file" ;;
		esac
		for library in $(ldd "$file" 2>/dev/null | grep -o '/[^ ]*'); do
			mkdir -p "$tree/$(dirname "$library")"
			[ -e "$tree/$library" ] || cp -L "$library" "$tree/$library"
		done
	done
}

# Debian's Python; what is compiled of its library depends on times that the tree does not keep.
add_python() # PACKAGE...
{
	(PATH=/usr/bin:/bin && add_program python3)
	library=$(/usr/bin/python3 -I -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
	for folder in "$library" "$@"; do
		case $folder in
		/*) ;;
		*) folder=/usr/lib/python3/dist-packages/$folder ;;
		esac
		tar -C / --exclude=__pycache__ --exclude=test --exclude=tests --exclude=idlelib --exclude=lib2to3 --exclude=tkinter \
			--exclude='config-*' -c "${folder#/}" | tar -C "$tree" -x
	done
	for file in $(find "$tree$library" -name '*.so' -exec ldd {} + | sed -n 's#.*=> \(/[^ ]*\) .*#\1#p' | LC_ALL=C sort -u); do
		mkdir -p "$tree/$(dirname "$file")"
		[ -e "$tree/$file" ] || cp -L "$file" "$tree/$file"
	done
}

# The kernel's own, with those that they need.
add_module() # NAME...
{
	for name; do
		[ -z "$(find "$mods" -maxdepth 1 -name "$name.ko*")" ] || continue
		# Files have both kinds of dashes, what a module needs has one.
		file=$(find "$kernel/lib/modules/$release/kernel" -name "$(echo "$name" | sed 's/[-_]/[-_]/g').ko*")
		# Built in.
		[ -n "$file" ] || continue
		cp "$file" "$mods"
		# shellcheck disable=SC2046 # a list of names
		add_module $(modinfo -F depends "$file" | tr , ' ')
	done
}

make_file_system()
{
	tree=$work/tree
	rm -rf "$tree"
	mkdir -p "$tree/dev" "$tree/proc" "$tree/sys" "$tree/run" "$tree/tmp" "$tree/etc" "$tree/usr/bin" \
		"$tree/usr/lib/modules/$release/extra"
	for link in bin sbin lib lib64; do
		ln -s "usr/$link" "$tree/$link"
	done
	ln -s bin "$tree/usr/sbin"
	ln -s lib "$tree/usr/lib64"

	# Real programs, no busybox: its shell has an `ip` of its own.
	add_program dash ip tc ss nstat sysctl modprobe rmmod insmod mount unshare setpriv \
		cat cut grep head tail tr sed seq sleep sort timeout dmesg uname uniq mkdir rm wc ethtool tcpdump
	# shellcheck disable=SC2086 # a list of names
	add_program $programs
	# shellcheck disable=SC2086 # a list of names
	[ -z "$python_wanted" ] || add_python $python_wanted
	ln -s dash "$tree/usr/bin/sh"
	cp "$work/xfer" "$work/refused" "$work/mirror" "$work/sockets" "$work/bulk" "$work/soak" "$tree/usr/bin"
	mkdir -p "$tree/usr/share"
	for file in $files_wanted; do
		mkdir -p "$tree${file#*:}"
		# shellcheck disable=SC2086 # a pattern
		cp "$root"/${file%%:*} "$tree${file#*:}"
	done
	cp "$here/common.sh" "$tree/common.sh"
	cp "$guest" "$tree/init"
	chmod +x "$tree/init"

	mods=$tree/usr/lib/modules/$release
	cp "$kernel/lib/modules/$release/modules.order" "$kernel/lib/modules/$release/modules.builtin" "$mods"
	cp "$modules"/*.ko "$mods/extra"
	mkdir "$mods/test"
	for folder in $more; do
		cp "$built_more/${folder##*/}"/*.ko "$mods/test"
	done
	# From here on another machine may build them anew.
	exec 9>&-
	# For tcpdump.
	echo root:x:0:0::/:/bin/sh >"$tree/etc/passwd"
	echo root:x:0: >"$tree/etc/group"
	# shellcheck disable=SC2086 # a list of names
	add_module veth tun sch_netem sch_fq inet_diag tcp_diag $modules_wanted
	depmod -b "$tree/usr" "$release" 2>"$work/depmod.log" || { cat "$work/depmod.log" >&2; die "depmod failed"; }
	# The same files are the same bytes.
	find "$tree" -exec touch -h -d @0 {} +
	(cd "$tree" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 --reproducible) >"$work/initramfs"
}

if [ "$only" != boot ]; then
	build_programs
	make_file_system
fi
[ "$only" != prepare ] || exit 0

# ---- the machine ------------------------------------------------------------

# One instruction takes 8 ns of its clock unless told otherwise, and sleeping takes no
# time: faster and slower hosts give the same run.
#
# QEMU's main loop moves the clock on when it sees the processor halted.  It must not see
# that before the instructions until then are counted, but does if it runs at that moment.
# So both threads share a host processor, and the main loop, which only the other one wakes,
# goes first.  Without the right to that priority a run in a few is not the same.
repeats=
if chrt --reset-on-fork --fifo 1 true 2>/dev/null; then
	processors=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
	# Machines side by side take the first and the last, each the one that no other machine has; a
	# machine holds the lock as long as it runs.
	each="${processors%%[-,]*} ${processors##*[-,]}"
	[ $(($$ % 2)) = 0 ] || each="${each#* } ${each% *}"
	for processor in $each; do
		exec 8>"${kernel%/*}/processor-$processor.lock"
		! flock -n 8 || break
	done
	repeats="chrt --reset-on-fork --fifo 1 taskset --cpu-list $processor"
fi
# shellcheck disable=SC2086 # a command
exec $repeats "$qemu" $devices ${DELAYCC_VM_DEVICES:-} -nodefaults -no-user-config -nographic \
	-no-reboot -M "${DELAYCC_VM_MACHINE:-pc}" -cpu Nehalem -smp "${DELAYCC_VM_SMP:-1}" -m "${memory:-512}" -accel tcg,tb-size=512 -icount shift="${DELAYCC_VM_SHIFT:-3}",sleep=off -seed 1 \
	-rtc base=2026-01-01T00:00:00,clock=vm -serial stdio \
	-kernel "$kernel/boot/kernel" -initrd "$work/initramfs" \
	-append 'console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off nokaslr '"${DELAYCC_VM_WORDS:-}" </dev/null
