#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the lab kernel: Debian's linux-source-6.1 with our patches and our
# config, for User-Mode Linux.  The result is cached by a hash of everything
# that goes into it and linked to build/lab-kernel (build/lab-debug-kernel):
#   LINK/linux                             the kernel, an ordinary program
#   make -C LINK ARCH=um M=$PWD modules    builds a module for it
# An interrupted build goes on where it stopped.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../../.." && pwd)
tarball=${LAB_TARBALL:-/usr/src/linux-source-6.1.tar.xz}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/delaycc
flavour=lab
out=
# Part of the hash; raise it when this script comes to build or keep something else.
recipe=1
# Steps that make announces for each flavour; only the progress display uses it.
declare -A expected_steps=([lab]=990 [lab-debug]=1020)

die() {
	echo "harness/backend/lab/kernel/build.sh: $*" >&2
	exit 1
}

usage() {
	cat <<-EOF
	usage: harness/backend/lab/kernel/build.sh [--debug] [--out LINK]
	  --debug      with KASAN, UBSAN, lockdep, kmemleak and SLUB's checks
	  --out LINK   the symbolic link to set (default build/lab-kernel or build/lab-debug-kernel)
	environment: LAB_TARBALL, a kernel source (default $tarball);
	  XDG_CACHE_HOME, where kernels are kept (default ~/.cache); JOBS (default: all CPUs)
	EOF
}

need() {
	command -v "$1" >/dev/null || die "no program '$1': install the Debian package $2"
}

link() {
	mkdir -p "$(dirname "$out")"
	ln -sfn "$final" "$out"
	echo "$out -> $final ($(cat "$final/include/config/kernel.release"))"
}

# Ends here if this very kernel was built before.
reuse() {
	if [ -e "$final/linux" ]; then
		link
		exit 0
	fi
}

# progress DONE TOTAL: one line that is rewritten on a terminal, else one line each 10 %.
progress() {
	local percent=$(($1 * 100 / $2)) elapsed=$((SECONDS - start)) left=
	[ $percent -le 99 ] || percent=99
	[ $percent -lt 5 ] || left=", about $((elapsed * (100 - percent) / percent + 1)) s left"
	if [ -n "$tty" ]; then
		printf '\r%s kernel: %d %%, %d s%s \033[K' $flavour $percent $elapsed "$left" >&2
	elif [ $((percent / 10)) -gt $last_tenth ]; then
		last_tenth=$((percent / 10))
		printf '%s kernel: %d %%, %d s%s\n' $flavour $percent $elapsed "$left" >&2
	fi
}

interrupted() {
	trap '' INT TERM
	[ -z "$maker" ] || kill "$maker" 2>/dev/null || true
	[ -z "$tty" ] || echo >&2
	echo "interrupted; the next run goes on from here" >&2
	exit 130
}

failed() {
	[ -z "$tty" ] || echo >&2
	tail -n 25 "$work/build.log" >&2
	die "$* (the whole log: $work/build.log)"
}

# In a function, so that bash has read all of it before it starts: the file may
# change (git pull) while a build runs.
main() {
	while [ $# -gt 0 ]; do
		case $1 in
		--debug) flavour=lab-debug ;;
		--out)
			[ $# -ge 2 ] || die "--out needs the name of a link"
			out=$2
			shift
			;;
		-h | --help)
			usage
			exit 0
			;;
		*) die "unknown argument '$1' (--help shows what there is)" ;;
		esac
		shift
	done
	out=${out:-$root/build/$flavour-kernel}
	jobs=${JOBS:-$(nproc)}

	[ "$(uname -m)" = x86_64 ] || die "the lab runs on x86_64 only; this machine is $(uname -m)"
	[ -r "$tarball" ] || die "no $tarball: install the Debian package linux-source-6.1" \
		"(apt-get install linux-source-6.1), or name the file in LAB_TARBALL"
	need gcc gcc
	need make make
	need flex flex
	need bison bison
	need bc bc
	need xz xz-utils
	need patch patch
	need flock util-linux
	[ ! -L "$out" ] && [ -e "$out" ] && die "$out is there and is not a link: remove it or choose another with --out"

	configs=("$here/lab.config")
	[ $flavour = lab ] || configs+=("$here/lab-debug.config")
	patches=("$here"/patches/*.patch)

	key=$({
		sha256sum <"$tarball"
		cat "${configs[@]}" "${patches[@]}"
		gcc -dumpfullversion
		echo $recipe
	} | sha256sum | cut -c1-16)
	final=$cache/$flavour-$key
	work=$final.tmp

	reuse
	mkdir -p "$cache" || die "cannot make $cache: set XDG_CACHE_HOME to a folder that can be written"
	exec 9>"$cache/$flavour.lock"
	if ! flock -n 9; then
		echo "another build of the $flavour kernel is running; waiting for it" >&2
		flock 9
	fi
	reuse
	free_kb=$(df -Pk "$cache" | awk 'NR == 2 { print $4 }')
	[ "$free_kb" -ge 2000000 ] || die "$cache has $((free_kb / 1024)) MB free; a build needs 2000 MB"

	start=$SECONDS
	last_tenth=-1
	tty=
	[ -t 2 ] && tty=1

	maker=
	trap interrupted INT TERM

	if [ ! -e "$work/.unpacked" ]; then
		# Builds of other versions that were interrupted will not go on.
		rm -rf "$cache/$flavour"-????????????????.tmp
		mkdir "$work"
		: >"$work/build.log"
		progress 0 100
		# Most of the source is drivers and processors that cannot be configured here.
		xz -T0 -dc "$tarball" | tar -x -C "$work" --strip-components=1 \
			--exclude='*/Documentation/*' --exclude='*/tools/testing/*' --exclude='*/tools/perf/*' \
			--exclude='*/drivers/gpu/*.[chS]' --exclude='*/drivers/media/*.[chS]' \
			--exclude='*/drivers/net/ethernet/*.[chS]' --exclude='*/drivers/net/wireless/*.[chS]' \
			--exclude='*/drivers/scsi/*.[chS]' --exclude='*/drivers/staging/*.[chS]' \
			--exclude='*/drivers/infiniband/*.[chS]' --exclude='*/drivers/usb/*.[chS]' \
			--exclude='*/sound/*.[chS]' --exclude='*/arch/*/boot/dts/*' \
			--exclude='*/arch/arm*/*.[chS]' --exclude='*/arch/mips/*.[chS]' --exclude='*/arch/powerpc/*.[chS]' \
			--exclude='*/arch/s390/*.[chS]' --exclude='*/arch/sparc/*.[chS]' \
			>>"$work/build.log" 2>&1 || failed "cannot unpack $tarball"
		mkdir -p "$work/Documentation"
		: >"$work/Documentation/Kconfig"
		for p in "${patches[@]}"; do
			patch -d "$work" -p1 -s -N --no-backup-if-mismatch <"$p" >>"$work/build.log" 2>&1 ||
				failed "$(basename "$p") does not fit $tarball"
		done
		: >"$work/.unpacked"
	fi

	# Nothing of this machine or this moment goes into the kernel.
	export KBUILD_BUILD_USER=delaycc KBUILD_BUILD_HOST=lab KBUILD_BUILD_VERSION=1
	export KBUILD_BUILD_TIMESTAMP='2026-01-01 00:00:00 UTC'
	unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES KBUILD_OUTPUT CROSS_COMPILE LLVM
	build=(make -C "$work" ARCH=um -j"$jobs")
	if [ ! -e "$work/.configured" ]; then
		cat "${configs[@]}" >"$work/lab.config"
		"${build[@]}" KCONFIG_ALLCONFIG=lab.config allnoconfig >>"$work/build.log" 2>&1 || failed "make allnoconfig failed"
		# Kconfig drops without a word what it cannot have.
		grep '^CONFIG_' "$work/lab.config" | while read -r line; do
			grep -qxF "$line" "$work/.config" || echo "${line%%=*}"
		done >"$work/.missing"
		[ ! -s "$work/.missing" ] || failed "the kernel did not accept: $(tr '\n' ' ' <"$work/.missing")"
		: >"$work/.configured"
	fi

	steps=0
	total=${expected_steps[$flavour]}
	exec 4< <(exec "${build[@]}" linux modules 2>&1)
	maker=$!
	while IFS= read -r line <&4; do
		echo "$line" >&3
		case $line in
		'  CC '* | '  AS '* | '  AR '* | '  LD '* | '  HOSTCC '* | '  GEN '*)
			steps=$((steps + 1))
			progress "$steps" "$total"
			;;
		esac
	done 3>>"$work/build.log"
	wait "$maker" || failed "the lab kernel does not build"
	maker=
	[ -x "$work/linux" ] || failed "the lab kernel does not build"

	# Keep the kernel and what building modules takes.  If this is interrupted, start anew.
	rm "$work/.unpacked"
	(
		cd "$work"
		mkdir .keep
		mv Makefile Kbuild Kconfig .config Module.symvers System.map linux include scripts build.log .keep/
		mkdir .keep/arch .keep/arch/x86
		mv arch/um .keep/arch/
		mv arch/x86/include arch/x86/Makefile* arch/x86/um arch/x86/Kconfig* .keep/arch/x86/
		find .keep/arch .keep/scripts \( -name '*.o' -o -name '*.a' -o -name '*.cmd' \) -delete
	)
	rm -rf "$final"
	mv "$work/.keep" "$final"
	rm -rf "$work"
	[ -z "$tty" ] || printf '\r\033[K' >&2
	echo "$flavour kernel built in $((SECONDS - start)) s" >&2
	link
}

main "$@"
