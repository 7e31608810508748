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

me=harness/backend/lab/kernel/build.sh
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../../.." && pwd)
flavour=lab
out=
arch=um
goals=(linux modules)
image=linux
host=lab
# Raise it when this script or harness/tools/kernel.sh comes to build or keep something else.
recipe=1
# shellcheck source=harness/tools/kernel.sh
. "$root/harness/tools/kernel.sh"

usage() {
	cat <<-EOF
	usage: harness/backend/lab/kernel/build.sh [--debug] [--out LINK]
	  --debug      with KASAN, UBSAN, lockdep, kmemleak and SLUB's checks
	  --out LINK   the symbolic link to set (default build/lab-kernel or build/lab-debug-kernel)
	environment: LAB_TARBALL, a kernel source (default $tarball);
	  XDG_CACHE_HOME, where kernels are kept (default ~/.cache); JOBS (default: all CPUs)
	EOF
}

link() {
	mkdir -p "$(dirname "$out")"
	ln -sfn "$final" "$out"
	echo "$out -> $final ($(cat "$final/include/config/kernel.release"))"
}

keep_kernel() {
	mv Makefile Kbuild Kconfig .config Module.symvers System.map linux include scripts build.log .keep/
	mkdir .keep/arch .keep/arch/x86
	mv arch/um .keep/arch/
	mv arch/x86/include arch/x86/Makefile* arch/x86/um arch/x86/Kconfig* .keep/arch/x86/
	find .keep/arch .keep/scripts \( -name '*.o' -o -name '*.a' -o -name '*.cmd' \) -delete
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
	[ ! -L "$out" ] && [ -e "$out" ] && die "$out is there and is not a link: remove it or choose another with --out"

	configs=("$here/lab.config")
	[ $flavour = lab ] || configs+=("$here/lab-debug.config")
	patches=("$here"/patches/*.patch)

	steps=990
	[ $flavour = lab ] || steps=1020

	kernel_prepare
	kernel_build
	link
}

main "$@"
