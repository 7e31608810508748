// SPDX-License-Identifier: Apache-2.0
#include "dcc_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kunit/dcc_vectors.h"

namespace {

__extension__ typedef unsigned __int128 u128;

constexpr u64 kMax = std::numeric_limits<u64>::max();

// Values at which carries, shifts and quotient digits go wrong first.
std::vector<u64> EdgeValues() {
  std::vector<u64> values = {0, 1, 2, 3, 10, 1000000007};
  for (int bit : {8, 16, 31, 32, 33, 47, 48, 62, 63}) {
    const u64 power = 1ULL << bit;
    values.insert(values.end(), {power - 1, power, power + 1});
  }
  values.insert(values.end(), {kMax, kMax - 1, 0xffffffff00000000ULL, 0x80000000ffffffffULL});
  return values;
}

// Random with a random number of significant bits: uniform values are nearly all huge.
u64 RandomWidth(std::mt19937_64& rng) { return rng() >> (rng() % 64); }

u64 ExpectedMuldiv(u64 a, u64 b, u64 d) {
  if (d == 0) return kMax;
  const u128 q = static_cast<u128>(a) * b / d;
  return q > kMax ? kMax : static_cast<u64>(q);
}

TEST(Muldiv, AgreesWithTheVectorsOfTheKernelsTests) {
  for (const dcc_muldiv_vector& v : dcc_muldiv_vectors)
    EXPECT_EQ(dcc_muldiv_u64(v.a, v.b, v.d), v.result) << v.a << " * " << v.b << " / " << v.d;
}

TEST(Muldiv, IsExactOrSaturatesAtEveryEdge) {
  const auto values = EdgeValues();
  for (u64 a : values)
    for (u64 b : values)
      for (u64 d : values)
        ASSERT_EQ(dcc_muldiv_u64(a, b, d), ExpectedMuldiv(a, b, d))
            << a << " * " << b << " / " << d;
}

TEST(Muldiv, IsExactOrSaturatesForRandomOperands) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 1000000; ++i) {
    const u64 a = RandomWidth(rng), b = RandomWidth(rng), d = RandomWidth(rng);
    ASSERT_EQ(dcc_muldiv_u64(a, b, d), ExpectedMuldiv(a, b, d)) << a << " * " << b << " / " << d;
  }
}

TEST(Mulshift, IsExactOrSaturatesForEveryShift) {
  std::mt19937_64 rng(2);
  for (u32 shift = 0; shift < 64; ++shift) {
    for (int i = 0; i < 5000; ++i) {
      const u64 a = RandomWidth(rng), b = RandomWidth(rng);
      const u128 exact = (static_cast<u128>(a) * b) >> shift;
      const u64 expected = exact > kMax ? kMax : static_cast<u64>(exact);
      ASSERT_EQ(dcc_mulshift_u64(a, b, shift), expected) << a << " * " << b << " >> " << shift;
    }
  }
}

TEST(MulWide, GivesBothHalvesOfTheProduct) {
  const auto values = EdgeValues();
  for (u64 a : values) {
    for (u64 b : values) {
      u64 hi = 0, lo = 0;
      dcc_mul_wide(a, b, &hi, &lo);
      const u128 exact = static_cast<u128>(a) * b;
      ASSERT_EQ(hi, static_cast<u64>(exact >> 64));
      ASSERT_EQ(lo, static_cast<u64>(exact));
    }
  }
}

TEST(Division, ByZeroGivesTheLargestValue) {
  EXPECT_EQ(dcc_div_u64(5, 0), kMax);
  EXPECT_EQ(dcc_div_u64(0, 0), kMax);
  EXPECT_EQ(dcc_div_u64(7, 2), 3u);
}

TEST(CountLeadingZeros, IsRightAtEveryBit) {
  EXPECT_EQ(dcc_clz_u64(0), 64u);
  for (u32 bit = 0; bit < 64; ++bit) {
    EXPECT_EQ(dcc_clz_u64(1ULL << bit), 63 - bit);
    EXPECT_EQ(dcc_clz_u64((1ULL << bit) | ((1ULL << bit) - 1)), 63 - bit);
  }
}

TEST(Log2, IsExactAtPowersOfTwo) {
  for (u32 bit = 0; bit < 64; ++bit) EXPECT_EQ(dcc_log2_q16(1ULL << bit), bit << 16);
  EXPECT_EQ(dcc_log2_q16(0), 0u);
}

TEST(Log2, IsWithinItsStatedError) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 1000000; ++i) {
    const u64 v = std::max<u64>(1, RandomWidth(rng));
    const double exact = std::log2(static_cast<double>(v));
    ASSERT_NEAR(dcc_log2_q16(v) / 65536.0, exact, 1.2e-4) << v;
  }
}

TEST(Log2, HalvingsAreBetweenNoneAndTheMost) {
  for (u32 bit = 0; bit < 40; ++bit)
    EXPECT_EQ(dcc_halvings_q16(dcc_log2_segments_q16(1ULL << 40), 1ULL << bit, 24),
              std::min(40 - bit, 24u) << 16);
  EXPECT_EQ(dcc_halvings_q16(20 << 16, 1ULL << 21, 7), 0u);
  EXPECT_EQ(dcc_halvings_q16(20 << 16, 0, 7), 7u << 16);
  // Straight between powers of two: half-way from 2^19 to 2^20.
  EXPECT_EQ(dcc_halvings_q16(20 << 16, 3ULL << 18, 7), 1u << 15);
}

TEST(Log2, NeverFallsAsItsArgumentGrows) {
  u32 before = 0;
  for (u64 v = 1; v < 200000; ++v) {
    const u32 now = dcc_log2_q16(v);
    ASSERT_GE(now, before) << v;
    before = now;
  }
}

TEST(Saturation, StopsAtBothEnds) {
  EXPECT_EQ(dcc_add_sat_u64(kMax, 1), kMax);
  EXPECT_EQ(dcc_add_sat_u64(kMax - 1, 1), kMax);
  EXPECT_EQ(dcc_sub_sat_u64(1, 2), 0u);
  EXPECT_EQ(dcc_sub_sat_u64(2, 1), 1u);
  EXPECT_EQ(dcc_add_sat_u32(DCC_U32_MAX, 7), DCC_U32_MAX);
  EXPECT_EQ(dcc_sub_sat_u32(0, 7), 0u);
  EXPECT_EQ(dcc_sat_u32(1ULL << 32), DCC_U32_MAX);
  EXPECT_EQ(dcc_sat_u32(DCC_U32_MAX), DCC_U32_MAX);
  EXPECT_EQ(dcc_clamp_u32(5, 7, 9), 7u);
  EXPECT_EQ(dcc_clamp_u64(50, 7, 9), 9u);
}

TEST(AbsoluteValue, HoldsForTheMostNegativeNumber) {
  EXPECT_EQ(dcc_abs_s64(std::numeric_limits<s64>::min()), 1ULL << 63);
  EXPECT_EQ(dcc_abs_s64(-5), 5u);
  EXPECT_EQ(dcc_abs_s64(5), 5u);
}

TEST(Exp2, IsExactAtWholeNumbers) {
  for (u32 k = 0; k <= 46; ++k) EXPECT_EQ(dcc_exp2_q16(k << 16), 65536ULL << k);
  EXPECT_EQ(dcc_exp2_q16(47 << 16), kMax);
  EXPECT_EQ(dcc_exp2_q16(0xffffffff), kMax);
}

TEST(Exp2, IsWithinItsStatedError) {
  for (u32 x = 0; x < 16 << 16; x += 7) {
    const double want = std::exp2(x / 65536.0) * 65536;
    ASSERT_NEAR(static_cast<double>(dcc_exp2_q16(x)), want, 1.1e-4 * want + 4 * (1 << (x >> 16)))
        << x;
  }
}

TEST(Ratio, ScalesEveryValueExactly) {
  std::mt19937_64 rng(4);
  for (int i = 0; i < 200000; ++i) {
    const u64 v = RandomWidth(rng);
    const u32 ratio = static_cast<u32>(rng() % (DCC_RATIO_ONE + 1));
    ASSERT_EQ(dcc_scale_q24(v, ratio), static_cast<u64>((static_cast<u128>(v) * ratio) >> 24));
  }
  EXPECT_EQ(dcc_scale_q24(kMax, DCC_RATIO_ONE), kMax);
}

TEST(Ratio, IsCutAtOne) {
  EXPECT_EQ(dcc_ratio_q24(1, 2), DCC_RATIO_ONE / 2);
  EXPECT_EQ(dcc_ratio_q24(3, 2), DCC_RATIO_ONE);
  EXPECT_EQ(dcc_ratio_q24(0, 0), DCC_RATIO_ONE);
  EXPECT_EQ(dcc_ratio_q24(kMax - 1, kMax), DCC_RATIO_ONE - 1);
}

TEST(Ratio, SurvivesTheWayToPartsPerMillionAndBack) {
  for (u32 ppm = 0; ppm <= 1000000; ++ppm) ASSERT_EQ(dcc_q24_to_ppm(dcc_ppm_to_q24(ppm)), ppm);
}

TEST(ReciprocalRoot, IsAccurateOverTheWholeRange) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 1000000; ++i) {
    const u64 v = std::max<u64>(1, RandomWidth(rng));
    const double exact = 1073741824.0 / std::sqrt(static_cast<double>(v) / 65536);
    ASSERT_NEAR(static_cast<double>(dcc_rsqrt_q30(v)), exact, 1 + exact * 3e-6) << v;
  }
}

TEST(ReciprocalRoot, TakesZeroAsTheSmallestValue) { EXPECT_EQ(dcc_rsqrt_q30(0), dcc_rsqrt_q30(1)); }

}  // namespace
