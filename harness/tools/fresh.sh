#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the README's two commands on a Debian 12 that has nothing but ca-certificates, git and
# make (and sudo, for the user): in a clone of this repository's HEAD, once as root in root's home,
# which nobody else may read, and once as a user with sudo in a folder with a space.  Prints how
# long each took.
set -euo pipefail
export LC_ALL=C

me=harness/tools/fresh.sh
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}
base=$cache/delaycc/fresh/bookworm.tar
debian=$top/build/fresh
commands=("make run" "make test")
people=(root user)
quick=
keep=

usage() {
	cat <<-EOF
	usage: $me [--quick] [--keep] [--as root|user] [COMMAND...]
	  --quick    \`make run\` alone, as root, with this machine's lab kernels and compiler cache: does it install what it builds with?
	  --as WHO   as one of the two alone
	  --keep     keeps that Debian: $debian/WHO
	  COMMAND    instead of the README's commands, each one argument
	The minimal Debian (240 MB) is kept in $base; remove it to get a newer one.
	Needs root, mmdebstrap, and Debian's mirror.  Exits with 77 where it cannot run.
	EOF
}

die() {
	echo "$me: $*" >&2
	exit 2
}

skip() {
	echo "$me: skipped: $*" >&2
	exit 77
}

make_base() {
	[ -f "$base" ] && return
	rm -rf --one-file-system "$base" "$base.new"
	mkdir -p "${base%/*}"
	echo "fresh: making a minimal Debian 12" >&2
	mmdebstrap --quiet --variant=minbase --format=tar --include=ca-certificates,git,make,sudo bookworm "$base.new" ||
		die "mmdebstrap cannot make a Debian 12"
	mv "$base.new" "$base"
}

# try WHO: its own Debian, and the commands in it.
try() {
	local who=$1 root=$debian/$1 home=/root clone=/root/delaycc command status=0
	rm -rf --one-file-system "$root"
	mkdir -p "$root"
	tar -xf "$base" -C "$root" --exclude='./dev/*'
	# How this machine reaches a mirror: proxies, name servers.
	apt-config dump Acquire >"$root/etc/apt/apt.conf.d/00host"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	if [ "$who" = user ]; then
		home=/home/user
		clone="$home/my code/delaycc"
		chroot "$root" useradd --create-home --shell /bin/bash user
		echo 'user ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/user"
	fi
	git clone --quiet --no-hardlinks "$top" "$root$clone"
	chroot "$root" chown -R "$who" "$home"
	if [ -n "$quick" ]; then
		mkdir -p "$cache/delaycc" "$cache/ccache" "$root$home/.cache/delaycc" "$root$home/.cache/ccache"
	fi
	for command in "${commands[@]}"; do
		echo "fresh: $command, as $who" >&2
		TIMEFORMAT="fresh: $command, as $who: %0R s, %0U s of processor in programs, %0S s in the kernel"
		time inside "$root" "$who" "$home" "$clone" "$command" || status=1
		[ $status = 0 ] || break
	done
	if [ $status != 0 ]; then
		echo "fresh: FAILED: $command, as $who; its Debian is $root" >&2
		return 1
	fi
	[ -n "$keep" ] || rm -rf --one-file-system "$root"
}

# The root is a mount point, as on a machine, and all mounts go with the last process.
inside() {
	# shellcheck disable=SC2016 # for the shell in there
	root=$1 who=$2 home=$3 clone=$4 command=$5 cache=$cache quick=$quick unshare --mount --pid --fork --kill-child \
		sh -c 'set -e
		mount --make-rprivate /
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount --rbind /sys "$root/sys"
		if [ -n "$quick" ]; then
			for folder in delaycc ccache; do mount --bind "$cache/$folder" "$root$home/.cache/$folder"; done
		fi
		exec chroot "$root" /usr/bin/env -i HOME="$home" USER="$who" TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			setpriv --reuid "$who" --regid "$who" --init-groups bash -c "cd \"$clone\" && $command"'
}

# In a function, so that bash has read all of it before it starts.
main() {
	local given=() who status failed=
	while [ $# -gt 0 ]; do
		case $1 in
		--quick) quick=1 ;;
		--keep) keep=1 ;;
		--as)
			case ${2:-} in
			root | user) people=("$2") ;;
			*) die "--as: '${2:-}' is nobody, allowed are root and user" ;;
			esac
			shift
			;;
		-h | --help)
			usage
			exit 0
			;;
		-*) die "unknown option '$1' (--help shows what there is)" ;;
		*) given+=("$1") ;;
		esac
		shift
	done
	if [ -n "$quick" ]; then
		people=(root)
		commands=("make run")
	fi
	[ ${#given[@]} -eq 0 ] || commands=("${given[@]}")
	[ "$(id -u)" -eq 0 ] || skip "a Debian in a folder needs root"
	command -v mmdebstrap >/dev/null || skip "no mmdebstrap (make setup)"
	command -v apt-config >/dev/null || skip "this is not Debian"
	[ -n "$(apt-config dump Acquire::http::Proxy | cut -s -d'"' -f2)" ] || timeout 30 bash -c ': </dev/tcp/deb.debian.org/80' 2>/dev/null ||
		skip "Debian's mirror cannot be reached"
	make_base
	for who in "${people[@]}"; do
		# Not "try || ...": bash would then go on after what fails in it.
		set +e
		(
			set -e
			try "$who"
		)
		status=$?
		set -e
		[ $status = 0 ] || failed=1
	done
	[ -z "$failed" ] || exit 1
	echo "fresh: all passed"
}

main "$@"
