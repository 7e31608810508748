#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds a debug kernel with several processors, from Debian's linux-source-6.1 and our config,
# for QEMU.  The result is cached by a hash of everything that goes into it:
#   FOLDER/bzImage                 boots
#   make -C FOLDER M=$PWD modules  builds a module for it
# Prints FOLDER.
set -euo pipefail
export LC_ALL=C

me=tests/smp/kernel/build.sh
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
arch=x86_64
goals=(bzImage modules)
image=arch/x86/boot/bzImage
host=smp
# Raise it when this script or harness/tools/kernel.sh comes to build or keep something else.
recipe=1
steps=1130
patches=()
# shellcheck source=harness/tools/kernel.sh
. "$root/harness/tools/kernel.sh"

usage() {
	cat <<-EOF
	usage: tests/smp/kernel/build.sh [--cached] FLAVOUR
	  FLAVOUR    kasan: wrong memory, locks, leaks; kcsan: data races
	  --cached   do not build: without the kernel in the cache, fail
	environment: LAB_TARBALL, a kernel source (default $tarball);
	  XDG_CACHE_HOME, where kernels are kept (default ~/.cache); JOBS (default: all CPUs)
	EOF
}

keep_kernel() {
	mv Makefile Kbuild Kconfig .config Module.symvers System.map include scripts build.log "$image" .keep/
	mkdir -p .keep/arch/x86 .keep/tools/objtool
	mv arch/x86/include arch/x86/Makefile* arch/x86/Kconfig* .keep/arch/x86/
	mv tools/objtool/objtool .keep/tools/objtool/
	find .keep/arch .keep/scripts \( -name '*.o' -o -name '*.a' -o -name '*.cmd' \) -delete
}

# In a function, so that bash has read all of it before it starts: the file may
# change (git pull) while a build runs.
main() {
	local builds=1 which=
	while [ $# -gt 0 ]; do
		case $1 in
		--cached) builds= ;;
		kasan | kcsan) which=$1 ;;
		-h | --help)
			usage
			exit 0
			;;
		*) die "unknown argument '$1' (--help shows what there is)" ;;
		esac
		shift
	done
	[ -n "$which" ] || die "which flavour? kasan or kcsan"
	flavour=smp-$which
	configs=("$here/smp.config" "$here/$which.config")
	[ -z "$builds" ] || [ -r /usr/include/libelf.h ] || die "no libelf.h: install the Debian package libelf-dev"

	kernel_prepare
	if [ -n "$builds" ]; then
		kernel_build
	elif ! kernel_is_there; then
		die "the $flavour kernel is not built; \`make smp-kernel\` builds and caches it"
	fi
	echo "$final"
}

main "$@"
