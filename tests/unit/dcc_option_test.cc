// SPDX-License-Identifier: Apache-2.0
#include "dcc_option.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kunit/dcc_vectors.h"

namespace {

using Bytes = std::vector<u8>;

const Bytes kTimestamps = {1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8};

// An exact allocation, so that the sanitizer sees a read behind the area.
u32 Flows(const Bytes& area) {
  const Bytes exact(area);
  return dcc_option_flows(exact.data(), static_cast<u32>(exact.size()));
}

bool Fits(const Bytes& area) {
  const Bytes exact(area);
  return dcc_option_fits(exact.data(), static_cast<u32>(exact.size()));
}

Bytes Written(u32 flows) {
  Bytes bytes(DCC_OPTION_BYTES);
  dcc_option_write(bytes.data(), flows);
  return bytes;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes SackBlocks(int n) {
  Bytes sack = {1, 1, 5, static_cast<u8>(2 + 8 * n)};
  sack.resize(sack.size() + 8 * n, 0xaa);
  return sack;
}

TEST(Option, HasTheDocumentedBytes) {
  EXPECT_EQ(Written(0x123456), (Bytes{254, 8, 0xdc, 0xc0, 0, 0x12, 0x34, 0x56}));
}

TEST(Option, AgreesWithTheVectorsOfTheKernelsTests) {
  for (const dcc_option_vector& v : dcc_option_vectors)
    EXPECT_EQ(Flows(Bytes(v.area, v.area + v.len)), v.flows) << &v - dcc_option_vectors;
}

TEST(Option, IsReadAsWritten) {
  for (u32 flows : {1u, 2u, 255u, 256u, 1000u, 65535u, 65536u, DCC_OPTION_FLOWS_MAX})
    EXPECT_EQ(Flows(Written(flows)), flows);
}

TEST(Option, CannotSayMoreThanItHolds) {
  EXPECT_EQ(Flows(Written(DCC_OPTION_FLOWS_MAX + 1)), DCC_OPTION_FLOWS_MAX);
  EXPECT_EQ(Flows(Written(~0U)), DCC_OPTION_FLOWS_MAX);
}

TEST(Option, KeepsTheHeaderAMultipleOfFour) { EXPECT_EQ(DCC_OPTION_BYTES % 4, 0u); }

TEST(Option, IsFoundBehindTimestampsAndSackBlocks) {
  EXPECT_EQ(Flows(kTimestamps + Written(7)), 7u);
  EXPECT_EQ(Flows(kTimestamps + SackBlocks(2) + Written(7)), 7u);
  EXPECT_EQ(Flows(SackBlocks(3) + Written(7)), 7u);
}

TEST(Option, IsFoundInFrontOfOthersAndAtAnyOffset) {
  EXPECT_EQ(Flows(Written(9) + kTimestamps), 9u);
  for (size_t nops = 0; nops <= DCC_OPTION_SPACE - DCC_OPTION_BYTES; ++nops)
    EXPECT_EQ(Flows(Bytes(nops, 1) + Written(9)), 9u) << nops;
}

TEST(Option, IsAbsentFromWhatOthersWrite) {
  EXPECT_EQ(Flows({}), 0u);
  EXPECT_EQ(Flows(kTimestamps), 0u);
  EXPECT_EQ(Flows(kTimestamps + SackBlocks(3)), 0u);
  EXPECT_EQ(Flows({254, 8, 0xf9, 0x89, 0, 0, 0, 1}), 0u);  // fast open's ExID
  EXPECT_EQ(Flows({253, 8, 0xdc, 0xc0, 0, 0, 0, 1}), 0u);  // the other experiments' kind
}

TEST(Option, OfAnUnknownVersionOrLengthSaysNothing) {
  EXPECT_EQ(Flows({254, 8, 0xdc, 0xc0, 1, 0, 0, 5}), 0u);
  EXPECT_EQ(Flows({254, 4, 0xdc, 0xc0}), 0u);
  EXPECT_EQ(Flows({254, 7, 0xdc, 0xc0, 0, 0, 5}), 0u);
  EXPECT_EQ(Flows({254, 9, 0xdc, 0xc0, 0, 0, 0, 5, 0}), 0u);
}

TEST(Option, CutAnywhereSaysNothing) {
  const Bytes whole = kTimestamps + Written(5);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(Flows(Bytes(whole.begin(), whole.begin() + size)), 0u) << size;
}

TEST(Option, BehindTheEndOfTheListIsNotRead) {
  EXPECT_EQ(Flows(Bytes{0} + Written(5)), 0u);
  EXPECT_EQ(Flows(Written(5) + Bytes{0, 254, 8, 0xdc}), 5u);
}

TEST(Option, InAnAreaWithALengthThatDoesNotFitSaysNothing) {
  EXPECT_EQ(Flows(Bytes{8, 0} + Written(5)), 0u);
  EXPECT_EQ(Flows(Bytes{8, 1} + Written(5)), 0u);
  EXPECT_EQ(Flows(Written(5) + Bytes{8, 1}), 0u);
  EXPECT_EQ(Flows(Written(5) + Bytes{8, 10, 0, 0}), 0u);
  EXPECT_EQ(Flows(Written(5) + Bytes{8}), 0u);
}

TEST(Option, TwiceSaysNothing) {
  EXPECT_EQ(Flows(Written(5) + Written(6)), 0u);
  EXPECT_EQ(Flows(Written(5) + Written(5)), 0u);
  EXPECT_EQ(Flows(Written(5) + Bytes{254, 4, 0xdc, 0xc0}), 0u);
  EXPECT_EQ(Flows(Written(5) + Bytes{254, 4, 0xf9, 0x89}), 5u);
}

TEST(Option, InALongerAreaThanTcpHasSaysNothing) {
  EXPECT_EQ(Flows(Bytes(33, 1) + Written(5)), 0u);
}

TEST(Option, FitsBehindWhatLeavesEightBytes) {
  EXPECT_TRUE(Fits({}));
  EXPECT_TRUE(Fits(kTimestamps));
  EXPECT_TRUE(Fits(kTimestamps + SackBlocks(2)));
  EXPECT_FALSE(Fits(kTimestamps + SackBlocks(3)));
  EXPECT_TRUE(Fits(SackBlocks(3)));
  EXPECT_FALSE(Fits(SackBlocks(4)));
  EXPECT_TRUE(Fits(Bytes(32, 1)));
  EXPECT_FALSE(Fits(Bytes(33, 1)));
}

TEST(Option, DoesNotFitASignedHeader) {
  Bytes md5 = {1, 1, 19, 18};
  md5.resize(20, 0x55);
  EXPECT_FALSE(Fits(md5));
  EXPECT_FALSE(Fits({29, 4, 1, 1}));
}

TEST(Option, DoesNotFitBehindTheEndOrASecondTimeOrWhatIsMalformed) {
  EXPECT_FALSE(Fits({2, 4, 5, 0xb4, 0, 0, 0, 0}));
  EXPECT_FALSE(Fits(Written(5)));
  EXPECT_FALSE(Fits({254, 4, 0xdc, 0xc0}));
  EXPECT_FALSE(Fits({8, 0, 1, 1}));
  EXPECT_FALSE(Fits({1, 1, 1, 8}));
}

}  // namespace
