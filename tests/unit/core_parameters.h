// SPDX-License-Identifier: Apache-2.0
//
// Each parameter of each core at both ends of its range: one suite for all of them.  A contract
// test (core_contract.h) says what its core's parameters are,
//
//   PARAMETERS_OF(Name, DCC_NAME_PARAMS, PARAMETER(field, least, greatest, zero, default), ...)
//
// in numbers of its own, as docs/operate has them.  Sysctls, loaders and dcc_NAME_params_valid()
// take theirs from DCC_NAME_PARAMS, so nothing else would notice a range that has become another.
#ifndef DELAYCC_TESTS_UNIT_CORE_PARAMETERS_H_
#define DELAYCC_TESTS_UNIT_CORE_PARAMETERS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "core_contract.h"

namespace {

// Where a parameter counts: with other parameters, on another path.
template <class Params>
using Where = void (*)(Params&, dcc_path&);

// What is particular about a parameter.
enum Kind {
  kRange,         // nothing: a value beyond an end counts as the end
  kChoice,        // a value beyond is none of the known ones, whatever the core makes of that
  kLeastIsNever,  // the least value never is one that counts
  kUnused,        // another core's
};

template <class Params>
struct Parameter {
  Parameter(const char* name, u32 Params::*field, u32 least, u32 greatest, bool zero,
            u32 by_default, const std::vector<Where<Params>>& where = {}, Kind kind = kRange,
            bool listed = true)
      : name(name),
        field(field),
        least(least),
        greatest(greatest),
        zero(zero),
        by_default(by_default),
        where(where),
        kind(kind),
        listed(listed) {}

  const char* name;
  u32 Params::*field;
  u32 least;
  u32 greatest;
  bool zero;  // is allowed, too, and means something else
  u32 by_default;
  std::vector<Where<Params>> where;
  Kind kind;
  bool listed;  // not if the algorithm's name or the socket sets it
};

// A line of a core's own list.
struct Listed {
  std::string name;
  u64 least;
  u64 greatest;
  bool zero;
};

bool operator==(const Listed& a, const Listed& b) {
  return a.name == b.name && a.least == b.least && a.greatest == b.greatest && a.zero == b.zero;
}

std::ostream& operator<<(std::ostream& out, const Listed& listed) {
  return out << listed.name << " " << listed.least << ".." << listed.greatest
             << (listed.zero ? " or 0" : "");
}

// What path and parameters come to is a part of the state, or the state itself.
template <class State>
auto Derived(const State& state, int) -> const decltype(State::scale)& {
  return state.scale;
}
template <class State>
const State& Derived(const State& state, long) {  // NOLINT(google-runtime-int): the second choice
  return state;
}

// All that a flow decides on a path that is idle, busy, noisy and lossy in turn.
template <class Core>
u64 WhatItDoes(const typename Core::Params& params, const dcc_path& path) {
  Flow<Core> flow(path, params);
  const u64 packet_ns = std::max<u64>(path.wire_bytes * 8000000000ULL / path.line_rate_bps, 1);
  const u32 base_ns = path.base_rtt_ns;
  Random random(5);
  u64 hash = 14695981039346656037ULL;
  const auto note = [&] {
    for (const u64 value : {flow.control.cwnd_q16, flow.control.pacing_bps, flow.control.probe_ns,
                            u64{flow.control.target_ns}, flow.now_ns})
      hash = (hash ^ value) * 1099511628211ULL;
  };
  const auto acks = [&](int count, u64 after_ns, auto queue_ns) {
    for (int i = 0; i < count; ++i)
      if (flow.Ack(base_ns + static_cast<u32>(queue_ns(i)), after_ns)) note();
  };
  note();
  double queue = 0;
  const auto noisy = [&](int) {
    if (random.OneIn(150)) queue = random.OneIn(3) ? 0 : random.LogUniform(100, 20.0 * base_ns);
    return queue * (1 + random.Unit() / 4);
  };
  for (int part = 0; part < 8; ++part) {
    acks(250, packet_ns, noisy);
    acks(100, base_ns / 3, noisy);
    acks(20, base_ns, [&](int i) { return i * base_ns / 40; });
    acks(20, base_ns, [&](int i) { return (20 - i) * base_ns / 40; });
    if (part % 2) flow.Loss(), note();
    if (part == 4) flow.Rto(), note();
    if (part == 6) flow.Restart(), note();
    flow.flows = part % 4 ? 3 * part : 0;
  }
  // Longer than a thousand decisions in a row of one kind, then minutes on a path that gets longer.
  acks(1100, base_ns, [](int) { return 0; });
  acks(1100, 9 * base_ns, [&](int) { return 8 * base_ns; });
  flow.Rto(), note();
  acks(200, base_ns, [](int) { return 0; });
  for (int minute = 0; minute < 15; ++minute) {
    flow.now_ns += 61000000000ULL;
    acks(40, base_ns, [&](int i) { return (minute + i % 2) * base_ns / 60; });
  }
  return hash;
}

template <class Core>
class CoreParameters : public ::testing::Test {
 protected:
  using Params = typename Core::Params;
  using Row = Parameter<Params>;

  static Params Default() {
    Params params;
    Core::Default(&params);
    return params;
  }
  static bool Valid(const Row& row, u32 value) {
    Params params = Default();
    params.*row.field = value;
    return Core::Valid(&params);
  }
  // One number for each circumstance in which the parameter may count.
  static std::vector<u64> With(const Row& row, u32 value) {
    std::vector<u64> done;
    for (size_t i = 0; i < std::max<size_t>(row.where.size(), 1); ++i) {
      Params params = Default();
      dcc_path path = kDataCenter;
      if (!row.where.empty()) row.where[i](params, path);
      params.*row.field = value;
      done.push_back(WhatItDoes<Core>(params, path));
    }
    return done;
  }
};
TYPED_TEST_SUITE_P(CoreParameters);

TYPED_TEST_P(CoreParameters, AreListedForSysctlsAndLoadersWithTheseRanges) {
  std::vector<Listed> expected;
  size_t rows = 0;
  for (const auto& row : TypeParam::Rows()) {
    ++rows;
    if (!row.listed) continue;
    // 0 is in a range from 0, whatever the list says.
    expected.push_back({row.name, row.least, row.greatest, row.zero || !row.least});
  }
  EXPECT_EQ(TypeParam::List(), expected);
  EXPECT_EQ(rows * sizeof(u32), sizeof(typename TypeParam::Params)) << "each field has a row";
}

TYPED_TEST_P(CoreParameters, HaveTheseDefaultsWhateverTheMemoryHeld) {
  for (const int dirt : {0, 0xff}) {
    typename TypeParam::Params params;
    std::memset(&params, dirt, sizeof(params));
    TypeParam::Default(&params);
    for (const auto& row : TypeParam::Rows())
      EXPECT_EQ(params.*row.field, row.by_default) << row.name;
    EXPECT_TRUE(TypeParam::Valid(&params));
  }
}

TYPED_TEST_P(CoreParameters, AreValidUpToBothEndsAndNoFurther) {
  for (const auto& row : TypeParam::Rows()) {
    EXPECT_TRUE(this->Valid(row, row.least)) << row.name;
    EXPECT_TRUE(this->Valid(row, row.greatest)) << row.name;
    EXPECT_EQ(this->Valid(row, 0), row.zero || !row.least) << row.name;
    if (row.least > 1) {
      EXPECT_FALSE(this->Valid(row, 1)) << row.name;
      EXPECT_FALSE(this->Valid(row, row.least - 1)) << row.name;
    }
    if (row.greatest < kMax32) {
      EXPECT_FALSE(this->Valid(row, row.greatest + 1)) << row.name;
      EXPECT_FALSE(this->Valid(row, kMax32)) << row.name;
    }
  }
}

TYPED_TEST_P(CoreParameters, BeyondAnEndCountAsTheEnd) {
  for (const auto& row : TypeParam::Rows()) {
    if (row.kind == kChoice) continue;
    const std::vector<u64> greatest = this->With(row, row.greatest);
    if (row.greatest < kMax32) {
      EXPECT_EQ(this->With(row, row.greatest + 1), greatest) << row.name;
      EXPECT_EQ(this->With(row, kMax32), greatest) << row.name;
    }
    if (row.least > (row.zero ? 1 : 0)) {
      EXPECT_EQ(this->With(row, row.least - 1), this->With(row, row.least)) << row.name;
    }
  }
}

TYPED_TEST_P(CoreParameters, ChangeWhatTheCoreDoesAtEachEnd) {
  for (const auto& row : TypeParam::Rows()) {
    const std::vector<u64> least = this->With(row, row.least);
    const std::vector<u64> greatest = this->With(row, row.greatest);
    const std::vector<u64> by_default = this->With(row, row.by_default);
    if (row.kind == kUnused) {
      EXPECT_EQ(least, greatest) << row.name;
      continue;
    }
    EXPECT_NE(least, greatest) << row.name;
    if (row.by_default != row.least && row.kind != kLeastIsNever) {
      EXPECT_NE(least, by_default) << row.name;
    }
    if (row.by_default != row.greatest) {
      EXPECT_NE(greatest, by_default) << row.name;
    }
    if (row.zero) {
      const std::vector<u64> zero = this->With(row, 0);
      EXPECT_TRUE(zero != least || zero != greatest) << row.name;
    }
  }
}

// Or each acknowledgment would derive everything anew.
TYPED_TEST_P(CoreParameters, AreKeptWithThePathThatTheyWereDerivedFor) {
  Flow<TypeParam> flow(kDataCenter, this->Default());
  for (const auto& row : TypeParam::Rows()) {
    flow.params.*row.field = row.greatest;
    flow.path.noise_ns++;
    flow.Restart();
    EXPECT_EQ(Derived(flow.state, 0).params.*row.field, row.greatest) << row.name;
    EXPECT_TRUE(dcc_same_path(&Derived(flow.state, 0).path, &flow.path)) << row.name;
  }
}

REGISTER_TYPED_TEST_SUITE_P(CoreParameters, AreListedForSysctlsAndLoadersWithTheseRanges,
                            HaveTheseDefaultsWhateverTheMemoryHeld,
                            AreValidUpToBothEndsAndNoFurther, BeyondAnEndCountAsTheEnd,
                            ChangeWhatTheCoreDoesAtEachEnd,
                            AreKeptWithThePathThatTheyWereDerivedFor);

#define LISTED(field, least, greatest, zero) {#field, least, greatest, (zero) || !(least)},
#define PARAMETER(field, ...) \
  { #field, &Params::field, __VA_ARGS__ }

#define PARAMETERS_OF(Name, LIST, ...)                                     \
  struct Name##Parameters : Name {                                         \
    static std::vector<Listed> List() { return {LIST(LISTED)}; }           \
    static std::vector<Parameter<Params>> Rows() { return {__VA_ARGS__}; } \
  };                                                                       \
  INSTANTIATE_TYPED_TEST_SUITE_P(Core, CoreParameters, Name##Parameters, NameOf)

}  // namespace

#endif  // DELAYCC_TESTS_UNIT_CORE_PARAMETERS_H_
