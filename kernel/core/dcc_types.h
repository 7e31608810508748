/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The integer types of the cores, under the kernel's names, for each of the
 * four compilers that read them.  BPF programs include vmlinux.h first.
 */
#ifndef DCC_TYPES_H
#define DCC_TYPES_H

#if defined(__KERNEL__)
#include <linux/build_bug.h>
#include <linux/types.h>
#elif defined(__bpf__)
/* vmlinux.h has the types. */
#define static_assert(...)
#else
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#endif

/*
 * A step that the BPF verifier is to check by itself, once, instead of along
 * every path that leads to it: BPF programs put a global function of their own
 * in its place.  Its pointers then may be null for all that the verifier knows.
 */
#ifndef DCC_STEP
#define DCC_STEP(function) function
#endif

#endif /* DCC_TYPES_H */
