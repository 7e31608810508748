#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compile every core for a 32-bit kernel (with stand-ins for the kernel headers it
# includes) and look for helpers of the compiler that such a kernel does not have.
# usage: check_32bit.sh CC CORE_DIR SCRATCH_DIR
set -eu
cc=$1 core=$2 dir=$3/check_32bit
mkdir -p "$dir/linux"

if ! echo 'int x;' | "$cc" -m32 -ffreestanding -x c -c - -o "$dir/probe.o" 2>/dev/null; then
  echo "skipped: $cc cannot compile for 32 bits"
  exit 77
fi

cat > "$dir/linux/types.h" <<'END'
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef _Bool bool;
#define true 1
#define false 0
END
echo '#define static_assert _Static_assert' > "$dir/linux/build_bug.h"
echo '#define noinline __attribute__((noinline))' > "$dir/linux/compiler.h"
echo 'u64 div64_u64(u64 n, u64 d);' > "$dir/linux/math64.h"
echo 'int fls64(u64 v);' > "$dir/linux/bitops.h"

# Everything static is made visible, so that each function's code is really emitted.  At -O1 this
# compiler multiplies for u64 / 3, where ARM's divides; at -Os it divides, too.
for header in "$core"/dcc_*.h; do
  echo "#include \"$(basename "$header")\""
done > "$dir/all.c"
"$cc" -m32 -ffreestanding -D__KERNEL__ -Dinline= -Wno-unused-function -std=gnu11 -Os \
  -fkeep-static-functions -I"$dir" -I"$core" -c "$dir/all.c" -o "$dir/all.o"
undefined=$(nm -u "$dir/all.o" | awk '{print $2}' | grep -v -x -e div64_u64 -e fls64 -e _GLOBAL_OFFSET_TABLE_ || true)
if [ -n "$undefined" ]; then
  echo "the cores need what a 32-bit kernel does not have: $undefined" >&2
  exit 1
fi
