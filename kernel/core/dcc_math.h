/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Integer arithmetic for the cores: saturating, 64-bit, unsigned.
 *
 * BPF has no 128-bit product, no signed division and (with clang 14) no count
 * of leading zeros; a 32-bit kernel has no 64-bit division operator.  Each
 * helper here exists because one of these four compilers lacks the short way.
 * With DCC_PORTABLE none is used that not all have (a test counts operations so).
 * No helper traps: a zero divisor gives the largest value, and a result that
 * does not fit is cut to the nearest that does.
 */
#ifndef DCC_MATH_H
#define DCC_MATH_H

#include "dcc_types.h"

#if defined(__KERNEL__)
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/math64.h>
#endif

#define DCC_LIKELY(x) __builtin_expect(!!(x), 1)
#define DCC_UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * In place of "inline", for what is long and seldom needed: the usual way past it then saves no
 * registers for it.  BPF has steps instead (dcc_types.h).
 */
#if defined(__bpf__)
#define DCC_PORTABLE
#define DCC_NOINLINE inline
#elif defined(__KERNEL__)
#define DCC_NOINLINE noinline
#else
#define DCC_NOINLINE __attribute((noinline))
#endif

#define DCC_U64_MAX (~0ULL)
#define DCC_U32_MAX (~0U)

#define DCC_NS_PER_US 1000U
#define DCC_NS_PER_S 1000000000ULL
#define DCC_BITS_PER_BYTE 8U

/* Ratios: unsigned, 24 fraction bits; 6e-8 of resolution at 1.0. */
#define DCC_RATIO_SHIFT 24
#define DCC_RATIO_ONE 16777216U

static inline u64 dcc_min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 dcc_max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u32 dcc_min_u32(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 dcc_max_u32(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* lo <= hi is the caller's duty. */
static inline u64 dcc_clamp_u64(u64 v, u64 lo, u64 hi)
{
	return dcc_min_u64(dcc_max_u64(v, lo), hi);
}

static inline u32 dcc_clamp_u32(u32 v, u32 lo, u32 hi)
{
	return dcc_min_u32(dcc_max_u32(v, lo), hi);
}

/* A 64-bit value in 32 bits; what does not fit is the largest. */
static inline u32 dcc_sat_u32(u64 v)
{
	return v > DCC_U32_MAX ? DCC_U32_MAX : (u32)v;
}

static inline u64 dcc_add_sat_u64(u64 a, u64 b)
{
	u64 sum = a + b;

	return sum < a ? DCC_U64_MAX : sum;
}

static inline u64 dcc_sub_sat_u64(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static inline u32 dcc_add_sat_u32(u32 a, u32 b)
{
	u32 sum = a + b;

	return sum < a ? DCC_U32_MAX : sum;
}

static inline u32 dcc_sub_sat_u32(u32 a, u32 b)
{
	return a > b ? a - b : 0;
}

static inline u64 dcc_abs_s64(s64 v)
{
	/* Negated as unsigned: the most negative value has no positive counterpart. */
	return v < 0 ? 0ULL - (u64)v : (u64)v;
}

/* n / d rounded down; d = 0 gives the largest value. */
static inline u64 dcc_div_u64(u64 n, u64 d)
{
	if (DCC_UNLIKELY(!d))
		return DCC_U64_MAX;
#if defined(__KERNEL__)
	return div64_u64(n, d);
#else
	return n / d;
#endif
}

/*
 * Whether a * b fits in 64 bits, and the product, modulo 2^64.  Without a compiler builtin that
 * reports an overflow, the answer is yes only for factors of 32 bits: callers need another way
 * for the rest.
 */
static inline bool dcc_mul_fits_u64(u64 a, u64 b, u64 *product)
{
#if defined(DCC_PORTABLE)
	*product = a * b;
	return !((a | b) >> 32);
#else
	return !__builtin_mul_overflow(a, b, product);
#endif
}

/* Zero bits above the highest set bit, 0 .. 64.  Where no instruction counts them, by halving. */
static inline u32 dcc_clz_u64(u64 v)
{
#if defined(DCC_PORTABLE)
	u32 n = 0;

	if (!v)
		return 64;
	if (!(v >> 32)) {
		n += 32;
		v <<= 32;
	}
	if (!(v >> 48)) {
		n += 16;
		v <<= 16;
	}
	if (!(v >> 56)) {
		n += 8;
		v <<= 8;
	}
	if (!(v >> 60)) {
		n += 4;
		v <<= 4;
	}
	if (!(v >> 62)) {
		n += 2;
		v <<= 2;
	}
	if (!(v >> 63))
		n += 1;
	return n;
#elif defined(__KERNEL__)
	return 64 - (u32)fls64(v);
#else
	return v ? (u32)__builtin_clzll(v) : 64;
#endif
}

/* The 128-bit product of a and b, from four products of 32-bit halves. */
static inline void dcc_mul_wide(u64 a, u64 b, u64 *hi, u64 *lo)
{
	u64 a_lo = a & DCC_U32_MAX, a_hi = a >> 32;
	u64 b_lo = b & DCC_U32_MAX, b_hi = b >> 32;
	u64 low = a_lo * b_lo;
	u64 mid = a_hi * b_lo + (low >> 32); /* < 2^64: (2^32-1)^2 + 2^32-1 */
	u64 mid2 = a_lo * b_hi + (mid & DCC_U32_MAX);

	*lo = (mid2 << 32) | (low & DCC_U32_MAX);
	*hi = a_hi * b_hi + (mid >> 32) + (mid2 >> 32);
}

/*
 * One step of schoolbook division in base 2^32: the quotient digit of
 * (rem * 2^32 + next) / d, with d normalised (top bit set) and rem < d.  The
 * estimate from d's upper half is never too small and at most 2 too large.
 */
static inline u64 dcc_div_digit(u64 *rem, u32 next, u64 d)
{
	u64 d_hi = d >> 32, d_lo = (u32)d;
	u64 q = dcc_div_u64(*rem, d_hi);
	u64 r = *rem - q * d_hi;

	if (q >> 32 || q * d_lo > ((r << 32) | next)) {
		q--;
		r += d_hi;
		/* With r past 32 bits the comparison could only say "small enough". */
		if (!(r >> 32) && (q >> 32 || q * d_lo > ((r << 32) | next)))
			q--;
	}
	*rem = ((*rem << 32) | next) - q * d; /* modulo 2^64: the true value is below d */
	return q;
}

/* The general case of dcc_muldiv_u64(). */
static DCC_NOINLINE u64 dcc_muldiv_wide(u64 a, u64 b, u64 d)
{
	u64 hi, lo, q;
	u32 s;

	dcc_mul_wide(a, b, &hi, &lo);
	if (hi >= d)
		return DCC_U64_MAX;
	if (!hi)
		return dcc_div_u64(lo, d);
	s = dcc_clz_u64(d);
	if (s) { /* a shift by 64 is undefined */
		hi = (hi << s) | (lo >> (64 - s));
		lo <<= s;
		d <<= s;
	}
	q = dcc_div_digit(&hi, (u32)(lo >> 32), d) << 32;
	return q | dcc_div_digit(&hi, (u32)lo, d);
}

/* a * b / d rounded down, exact with the 128-bit product inside; saturates; d = 0 saturates. */
static inline u64 dcc_muldiv_u64(u64 a, u64 b, u64 d)
{
	u64 product;

	if (DCC_LIKELY(dcc_mul_fits_u64(a, b, &product)))
		return dcc_div_u64(product, d);
	return dcc_muldiv_wide(a, b, d);
}

/* The general case of dcc_mulshift_u64(). */
static DCC_NOINLINE u64 dcc_mulshift_wide(u64 a, u64 b, u32 shift)
{
	u64 hi, lo;

	dcc_mul_wide(a, b, &hi, &lo);
	if (hi >> shift)
		return DCC_U64_MAX;
	return shift ? (hi << (64 - shift)) | (lo >> shift) : lo;
}

/* (a * b) >> shift, exact with the 128-bit product inside; saturates.  shift 0 .. 63. */
static inline u64 dcc_mulshift_u64(u64 a, u64 b, u32 shift)
{
	u64 product;

	shift &= 63;
	if (DCC_LIKELY(dcc_mul_fits_u64(a, b, &product)))
		return product >> shift;
	return dcc_mulshift_wide(a, b, shift);
}

/* v * ratio with ratio <= 1 (Q24), rounded down, exact for every v. */
static inline u64 dcc_scale_q24(u64 v, u32 ratio_q24)
{
#if !defined(DCC_PORTABLE)
	u64 product;

	if (DCC_LIKELY(dcc_mul_fits_u64(v, ratio_q24, &product)))
		return product >> DCC_RATIO_SHIFT;
#endif
	return (v >> DCC_RATIO_SHIFT) * ratio_q24 +
	       (((v & (DCC_RATIO_ONE - 1)) * ratio_q24) >> DCC_RATIO_SHIFT);
}

/* The same with 30 fraction bits. */
static inline u64 dcc_scale_q30(u64 v, u32 ratio_q30)
{
#if !defined(DCC_PORTABLE)
	u64 product;

	if (DCC_LIKELY(dcc_mul_fits_u64(v, ratio_q30, &product)))
		return product >> 30;
#endif
	return (v >> 30) * ratio_q30 + (((v & ((1U << 30) - 1)) * ratio_q30) >> 30);
}

/* n / d as a ratio (Q24), cut at 1.0; d = 0 gives 1.0. */
static inline u32 dcc_ratio_q24(u64 n, u64 d)
{
	if (n >= d)
		return DCC_RATIO_ONE;
	return (u32)dcc_muldiv_u64(n, DCC_RATIO_ONE, d);
}

/* Parts per million as a ratio (Q24), rounded to nearest; for ppm <= 1000000. */
static inline u32 dcc_ppm_to_q24(u32 ppm)
{
	return (u32)dcc_div_u64(((u64)ppm << DCC_RATIO_SHIFT) + 500000, 1000000);
}

static inline u32 dcc_q24_to_ppm(u32 ratio_q24)
{
	return (u32)(((u64)ratio_q24 * 1000000 + DCC_RATIO_ONE / 2) >> DCC_RATIO_SHIFT);
}

/*
 * Binary logarithm, Q16, of v >= 1 (0 gives 0).  The integer part is the top
 * bit's place; for v = 2^k * (1 + m) the rest is
 * m + m (1 - m) (0.4424 - 0.2696 m + 0.1505 m^2 - 0.0449 m^3), which is exact at both ends of each
 * octave and elsewhere off by at most 5e-5, with the cut digits 1.2e-4 (8 units).
 */
static inline u32 dcc_log2_q16(u64 v)
{
	u32 k;
	u64 m, poly;

	if (!v)
		return 0;
	k = 63 - dcc_clz_u64(v);
	/* Normalised to 63 bits, cut to 16 fraction bits: at most one unit lost. */
	m = ((v << (63 - k)) >> 47) & 0xffff;
	poly = 28994 + ((9865 * m * m) >> 32) - ((17667 * m) >> 16) -
	       ((((2941 * m * m) >> 32) * m) >> 16);
	return (k << 16) + (u32)(m + ((((m * (65536 - m)) >> 16) * poly) >> 16));
}

/*
 * 1 / sqrt(v / 2^16) as Q30, of v >= 1 (0 is taken as 1); the error is below 3e-6 of it and one
 * unit.  v = x * 4^k with x in [1, 4); a parabola guesses 1 / sqrt(x) within 2.5 %, and each of
 * two steps of Newton's y (3 - x y^2) / 2 squares the error.  No division.
 */
static inline u64 dcc_rsqrt_q30(u64 v_q16)
{
	u64 x, y;
	u32 s;
	int i;

	if (!v_q16)
		v_q16 = 1;
	s = dcc_clz_u64(v_q16) & ~1U;
	/* Q30: x below 4 takes 32 bits, y below 1.01 31. */
	x = (v_q16 << s) >> 32;
	y = 1433892551 + ((((54980961 * x) >> 30) * x) >> 30) - ((440951767 * x) >> 30);
	for (i = 0; i < 2; i++)
		y = (y * ((3ULL << 30) - ((x * ((y * y) >> 30)) >> 30))) >> 31;
	/* 4^k = 2^(46 - s), and 1 / sqrt of it is 2^(s / 2 - 23). */
	s /= 2;
	return s > 23 ? y << (s - 23) : y >> (23 - s);
}

/*
 * 2^x for x in Q16, as Q16; what does not fit is the largest.  Exact where x is
 * whole, elsewhere off by at most 1.1e-4: 1 + f (0.6956 + f (0.2262 + 0.0783 f)).
 */
static inline u64 dcc_exp2_q16(u32 x_q16)
{
	u32 whole = x_q16 >> 16;
	u64 f = x_q16 & 0xffff;
	u64 value = 65536 + ((f * (45584 + ((f * (14823 + ((f * 5129) >> 16))) >> 16))) >> 16);

	return whole > 46 ? DCC_U64_MAX : value << whole;
}

/*
 * Binary logarithm, Q16, of v >= 1 (0 gives 0), straight lines between the powers of two: exact
 * there, elsewhere up to 0.086 too small.  Shifts only.
 */
static inline u32 dcc_log2_segments_q16(u64 v)
{
	u32 k;

	if (!v)
		return 0;
	k = 63 - dcc_clz_u64(v);
	return (k << 16) + (u32)(((v << (63 - k)) >> 47) & 0xffff);
}

/* How often whole is halved down to part, Q16, 0 .. most; whole by its logarithm. */
static inline u32 dcc_halvings_q16(u32 whole_log2_q16, u64 part, u32 most)
{
	u32 halvings_q16 = dcc_sub_sat_u32(whole_log2_q16, dcc_log2_segments_q16(part));

	return dcc_min_u32(halvings_q16, most << 16);
}

#endif /* DCC_MATH_H */
