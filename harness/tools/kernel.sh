# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Builds a kernel from Debian's linux-source-6.1: what the lab kernel (User-Mode Linux) and
# the debug kernels with several processors (tests/smp/kernel) have in common.  The result is
# cached by a hash of everything that goes into it.  An interrupted build goes on where it
# stopped.
#
# Who includes this sets
#   me             its own name, for messages
#   flavour        of the kernel: its folder in the cache is FLAVOUR-HASH
#   arch           ARCH=
#   configs        files of CONFIG_ lines that are added to allnoconfig
#   patches        files for patch -p1; may be empty
#   recipe         a number, part of the hash: raised when the build comes to make or keep something else
#   steps          how many steps make announces; for the display of progress alone
#   goals          what make is to build
#   image          the kernel, a path in the build's folder
#   host           the name of the machine that the kernel says it was built on
# and a function keep_kernel, which moves what is worth keeping from the current folder into
# the folder .keep, and calls
#   kernel_prepare         sets $final, the kernel's folder, whether it is there or not
#   kernel_build           builds it there unless it is
#
# shellcheck disable=SC2154 # what is set by who includes this

tarball=${LAB_TARBALL:-/usr/src/linux-source-6.1.tar.xz}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/delaycc
jobs=${JOBS:-$(nproc)}

die() {
	echo "$me: $*" >&2
	exit 1
}

need() {
	command -v "$1" >/dev/null || die "no program '$1': install the Debian package $2"
}

# progress DONE TOTAL: one line that is rewritten on a terminal, else one line each 10 %.
progress() {
	local percent=$(($1 * 100 / $2)) elapsed=$((SECONDS - start)) left=
	[ $percent -le 99 ] || percent=99
	[ $percent -lt 5 ] || left=", about $((elapsed * (100 - percent) / percent + 1)) s left"
	if [ -n "$tty" ]; then
		printf '\r%s kernel: %d %%, %d s%s \033[K' "$flavour" $percent $elapsed "$left" >&2
	elif [ $((percent / 10)) -gt "$last_tenth" ]; then
		last_tenth=$((percent / 10))
		printf '%s kernel: %d %%, %d s%s\n' "$flavour" $percent $elapsed "$left" >&2
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

kernel_prepare() {
	[ "$(uname -m)" = x86_64 ] || die "it is for x86_64 only; this machine is $(uname -m)"
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

	local key
	key=$({
		sha256sum <"$tarball"
		cat "${configs[@]}" "${patches[@]}" </dev/null
		gcc -dumpfullversion
		echo "$recipe"
	} | sha256sum | cut -c1-16)
	final=$cache/$flavour-$key
	work=$final.tmp
}

kernel_is_there() {
	[ -e "$final/${image##*/}" ]
}

kernel_build() {
	! kernel_is_there || return 0
	mkdir -p "$cache" || die "cannot make $cache: set XDG_CACHE_HOME to a folder that can be written"
	exec 9>"$cache/$flavour.lock"
	if ! flock -n 9; then
		echo "another build of the $flavour kernel is running; waiting for it" >&2
		flock 9
	fi
	! kernel_is_there || return 0
	local free_kb p line finished=0
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
	export KBUILD_BUILD_USER=delaycc KBUILD_BUILD_HOST="$host" KBUILD_BUILD_VERSION=1
	export KBUILD_BUILD_TIMESTAMP='2026-01-01 00:00:00 UTC'
	unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES KBUILD_OUTPUT CROSS_COMPILE LLVM
	# Debian has built this source: no script has to look through each object for exported static symbols.
	local build=(make -C "$work" ARCH="$arch" -j"$jobs" cmd_check_local_export=:)
	if [ ! -e "$work/.configured" ]; then
		cat "${configs[@]}" >"$work/our.config"
		"${build[@]}" KCONFIG_ALLCONFIG=our.config allnoconfig >>"$work/build.log" 2>&1 || failed "make allnoconfig failed"
		# Kconfig drops without a word what it cannot have.
		grep '^CONFIG_' "$work/our.config" | while read -r line; do
			grep -qxF "$line" "$work/.config" || echo "${line%%=*}"
		done >"$work/.missing"
		[ ! -s "$work/.missing" ] || failed "the kernel did not accept: $(tr '\n' ' ' <"$work/.missing")"
		: >"$work/.configured"
	fi

	exec 4< <(exec "${build[@]}" "${goals[@]}" 2>&1)
	maker=$!
	while IFS= read -r line <&4; do
		echo "$line" >&3
		case $line in
		'  CC '* | '  AS '* | '  AR '* | '  LD '* | '  HOSTCC '* | '  GEN '*)
			finished=$((finished + 1))
			progress "$finished" "$steps"
			;;
		esac
	done 3>>"$work/build.log"
	wait "$maker" || failed "the $flavour kernel does not build"
	maker=
	[ -e "$work/$image" ] || failed "the $flavour kernel does not build"

	# Keep the kernel and what building modules takes.  If this is interrupted, start anew.
	rm "$work/.unpacked"
	(
		cd "$work" || exit
		mkdir .keep
		keep_kernel
	)
	# In a subshell `times` would count from there.
	times >"$work/.times"
	local used_s
	used_s=$(awk 'NR == 2 { gsub("s", ""); split($0, t, "[m ]"); printf "%d", 60 * (t[1] + t[3]) + t[2] + t[4] }' "$work/.times")
	rm -rf "$final"
	mv "$work/.keep" "$final"
	rm -rf "$work"
	[ -z "$tty" ] || printf '\r\033[K' >&2
	echo "$flavour kernel built in $((SECONDS - start)) s, $used_s s of processor time" >&2
}
