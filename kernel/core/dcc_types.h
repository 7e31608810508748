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
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
#endif

/*
 * A step that the BPF verifier is to check by itself, once, instead of along
 * every path that leads to it: BPF programs put a global function of their own
 * in its place.  Its pointers then may be null for all that the verifier knows.
 */
#ifndef DCC_BPF_SUBPROG
#define DCC_BPF_SUBPROG(function) function
#endif

#endif /* DCC_TYPES_H */
