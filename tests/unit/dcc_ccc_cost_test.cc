// SPDX-License-Identifier: Apache-2.0
//
// What an acknowledgment costs, counted: the core is compiled once more with integers that count
// each multiplication and division that is executed, whatever it is written for. Shifts, additions
// and comparisons are free, a product with a constant is not. Section 5 of the paper claims one
// division, at most 17 multiplications and less than 1000 bits of state per flow.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

// Operands are as the core writes them.
#pragma GCC diagnostic ignored "-Wsign-compare"

namespace counted {

struct Operations {
  int multiplications = 0;
  int divisions = 0;
};
Operations operations;

// An integer of type T. Mixed operands behave as T's built-in arithmetic does: both sides are
// promoted, and the result has the common type.
template <typename T>
class Counted {
 public:
  using Value = T;
  Counted() = default;
  template <typename U, typename = std::enable_if_t<std::is_arithmetic_v<U> || std::is_enum_v<U>>>
  constexpr Counted(U v) : v_(static_cast<T>(v)) {}
  template <typename U>
  constexpr Counted(Counted<U> v) : v_(static_cast<T>(v.value())) {}
  constexpr T value() const { return v_; }
  explicit constexpr operator bool() const { return v_ != 0; }
  constexpr bool operator!() const { return v_ == 0; }
  auto operator-() const { return Counted<decltype(-v_)>(-v_); }
  Counted operator++(int) { return Counted(v_++); }
  Counted operator--(int) { return Counted(v_--); }

 private:
  T v_;
};

template <typename T>
constexpr bool kIsCounted = false;
template <typename T>
constexpr bool kIsCounted<Counted<T>> = true;

template <typename T>
constexpr auto Plain(const T& v) {
  if constexpr (kIsCounted<T>)
    return v.value();
  else
    return v;
}

template <typename T>
constexpr bool kIsNumber = kIsCounted<T> || std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <typename A, typename B>
using IfCounted = std::enable_if_t<(kIsCounted<A> || kIsCounted<B>)&&kIsNumber<A> && kIsNumber<B>>;

#define COUNTED_ARITHMETIC(op, before)                                    \
  template <typename A, typename B, typename = IfCounted<A, B>>           \
  auto operator op(const A& a, const B& b) {                              \
    before;                                                               \
    return Counted<decltype(Plain(a) op Plain(b))>(Plain(a) op Plain(b)); \
  }                                                                       \
  template <typename A, typename B, typename = IfCounted<Counted<A>, B>>  \
  auto& operator op##=(Counted<A>& a, const B& b) {                       \
    return a = Counted<A>(a op b);                                        \
  }
COUNTED_ARITHMETIC(+, )
COUNTED_ARITHMETIC(-, )
COUNTED_ARITHMETIC(*, operations.multiplications++)
COUNTED_ARITHMETIC(/, operations.divisions++)
COUNTED_ARITHMETIC(%, operations.divisions++)
COUNTED_ARITHMETIC(&, )
COUNTED_ARITHMETIC(|, )
COUNTED_ARITHMETIC(<<, )
COUNTED_ARITHMETIC(>>, )
#undef COUNTED_ARITHMETIC

#define COUNTED_COMPARISON(op)                                  \
  template <typename A, typename B, typename = IfCounted<A, B>> \
  bool operator op(const A& a, const B& b) {                    \
    return Plain(a) op Plain(b);                                \
  }
COUNTED_COMPARISON(<)
COUNTED_COMPARISON(>)
COUNTED_COMPARISON(<=)
COUNTED_COMPARISON(>=)
COUNTED_COMPARISON(==)
COUNTED_COMPARISON(!=)
#undef COUNTED_COMPARISON

// In place of dcc_types.h.
#define DCC_TYPES_H
#define DCC_PORTABLE
#define DCC_BPF_SUBPROG(function) function
using u8 = Counted<unsigned char>;
using u32 = Counted<unsigned int>;
using u64 = Counted<unsigned long long>;
using s32 = Counted<int>;
using s64 = Counted<long long>;

#include "dcc_ccc.h"

namespace {

// The dearest acknowledgment of each region.
class Cost {
 public:
  void Ack(dcc_ccc* core, const dcc_path& path, const dcc_ccc_params& params, std::uint64_t now_ns,
           std::uint32_t rtt_ns, dcc_control* control) {
    dcc_ack ack = {};
    ack.now_ns = now_ns;
    ack.send_ns = now_ns - rtt_ns;
    ack.rtt_ns = rtt_ns;
    ack.acked_bytes = path.wire_bytes;
    operations = {};
    if (!dcc_ccc_ack(core, &path, &params, &ack, control)) return;
    Operations& worst = of_region_[core->flow.region.value()];
    worst.multiplications = std::max(worst.multiplications, operations.multiplications);
    worst.divisions = std::max(worst.divisions, operations.divisions);
    samples_[core->flow.region.value()]++;
  }
  const Operations& of(int region) const { return of_region_.at(region); }
  int samples(int region) const { return samples_.at(region); }

 private:
  std::array<Operations, 9> of_region_ = {};
  std::array<int, 9> samples_ = {};
};

TEST(CccCost, CountsWhatItIsTold) {
  operations = {};
  const u32 a = 6;
  const u64 b = a * u32(7) + (u64(100) / a) % 5;
  EXPECT_EQ(b.value(), 43u);
  EXPECT_EQ(operations.multiplications, 1);
  EXPECT_EQ(operations.divisions, 2);
}

class CccCostOf : public ::testing::TestWithParam<bool> {};

TEST_P(CccCostOf, OneDivisionAndAtMostSeventeenMultiplicationsPerAcknowledgment) {
  const dcc_path path = {25000000000ULL, 20000, 1514, 0, 0};
  dcc_ccc_params params;
  dcc_ccc_params_default(&params);
  params.paper = GetParam();
  dcc_ccc core;
  dcc_control control;
  operations = {};
  dcc_ccc_init(&core, &path, &params, &control);
  RecordProperty("path_multiplications", operations.multiplications);
  RecordProperty("path_divisions", operations.divisions);

  // A queue that swings around q_B, now slowly, now wildly, now gone.
  Cost cost;
  std::uint64_t now_ns = 1000000;
  for (int i = 0; i < 20000; ++i) {
    now_ns += static_cast<std::uint64_t>(400 + 100 * (i % 300));
    const double swing = 6000 + 6000 * std::sin(i * (0.01 + 0.05 * (i / 5000)));
    const double jitter = i % 3 == 0 ? 700.0 * (i % 7) : 0;
    cost.Ack(&core, path, params, now_ns, static_cast<std::uint32_t>(20000 + swing + jitter),
             &control);
  }
  for (int region = DCC_CCC_AI; region <= DCC_CCC_H2D; ++region) {
    EXPECT_GT(cost.samples(region), 50) << "region " << region;
    EXPECT_LE(cost.of(region).divisions, 1) << "region " << region;
    EXPECT_LE(cost.of(region).multiplications, 17) << "region " << region;
    RecordProperty("multiplications_region_" + std::to_string(region),
                   cost.of(region).multiplications);
  }
  EXPECT_EQ(cost.of(DCC_CCC_AI).divisions, 1) << "nothing was counted";
}

INSTANTIATE_TEST_SUITE_P(DefaultAndPaper, CccCostOf, ::testing::Bool());

TEST(CccCost, StateIsLessThanAThousandBitsPerFlow) {
  EXPECT_EQ(sizeof(u64), 8u) << "a counting integer is as large as a plain one";
  EXPECT_LT(sizeof(dcc_ccc_flow) * 8, 1000u);
  RecordProperty("flow_bits", static_cast<int>(sizeof(dcc_ccc_flow) * 8));
  RecordProperty("path_bits", static_cast<int>(sizeof(dcc_ccc_scale) * 8));
}

}  // namespace
}  // namespace counted
