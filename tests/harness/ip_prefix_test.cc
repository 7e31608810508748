// SPDX-License-Identifier: Apache-2.0
#include "base/ip_prefix.h"

#include <gtest/gtest.h>

#include <string>

namespace delaycc {
namespace {

std::string refusal(const std::string& text) {
  try {
    return "taken as " + parse_ip_prefix(text).text();
  } catch (const PrefixError& e) {
    return e.what();
  }
}

TEST(IpPrefix, HasTheWordsOfTheCLibrary) {
  for (const auto& [text, plain] : {std::pair("10.0.1.0/24", "10.0.1.0/24"),
                                    {"10.0.1.7", "10.0.1.7/32"},
                                    {"0.0.0.0/0", "0.0.0.0/0"},
                                    {"FD00:0001:0::/64", "fd00:1::/64"},
                                    {"fe80::1", "fe80::1/128"},
                                    {"::/0", "::/0"}})
    EXPECT_EQ(parse_ip_prefix(text).text(), plain);
  EXPECT_EQ(parse_ip_prefix("10.0.1.7").address_text(), "10.0.1.7");
  EXPECT_EQ(parse_ip_prefix("FD00::7/128").address_text(), "fd00::7");
}

TEST(IpPrefix, IPv4IsMappedIntoIPv6) {
  const IpPrefix prefix = parse_ip_prefix("10.0.1.0/24");
  EXPECT_EQ(prefix.bits, 96U + 24U);
  EXPECT_TRUE(prefix.is_ipv4());
  EXPECT_EQ(prefix.address,
            (std::array<uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 1, 0}));
  EXPECT_FALSE(parse_ip_prefix("::/0").is_ipv4());
}

TEST(IpPrefix, SameIsWhatTheKernelTakesForTheSame) {
  EXPECT_TRUE(parse_ip_prefix("10.0.1.7") == parse_ip_prefix("10.0.1.7/32"));
  EXPECT_TRUE(parse_ip_prefix("FD00:0::/64") == parse_ip_prefix("fd00::/64"));
  EXPECT_FALSE(parse_ip_prefix("10.0.0.0/24") == parse_ip_prefix("10.0.0.0/25"));
  EXPECT_FALSE(parse_ip_prefix("10.0.0.0/24") == parse_ip_prefix("10.0.1.0/24"));
}

TEST(IpPrefix, ContainsItsAddressesAndNoOthers) {
  for (const char* inside : {"10.0.1.0", "10.0.1.255", "10.0.1.128/25", "10.0.1.0/24"})
    EXPECT_TRUE(parse_ip_prefix("10.0.1.0/24").contains(parse_ip_prefix(inside))) << inside;
  for (const char* outside : {"10.0.0.255", "10.0.2.0", "10.0.0.0/23", "fd00::1"})
    EXPECT_FALSE(parse_ip_prefix("10.0.1.0/24").contains(parse_ip_prefix(outside))) << outside;
  EXPECT_TRUE(parse_ip_prefix("fd00:1::/63").contains(parse_ip_prefix("fd00:1:0:1::9")));
  EXPECT_FALSE(parse_ip_prefix("fd00:1::/63").contains(parse_ip_prefix("fd00:1:0:2::9")));
  EXPECT_TRUE(parse_ip_prefix("0.0.0.0/0").contains(parse_ip_prefix("10.0.1.7")));
  EXPECT_FALSE(parse_ip_prefix("0.0.0.0/0").contains(parse_ip_prefix("::1")));
  EXPECT_TRUE(parse_ip_prefix("::/0").contains(parse_ip_prefix("fd00::1")));
  EXPECT_FALSE(parse_ip_prefix("::/0").contains(parse_ip_prefix("10.0.1.7")));
}

TEST(IpPrefix, SaysWhatIsWrong) {
  for (const char* text :
       {"", "/", "/8", "10.0.1", "10.0.1.0.0/24", "fd00:::/64", "host/24", " 10.0.1.0/24",
        "fe80::1%eth1", "::ffff:10.0.1.0/120", "::ffff:10.0.1.7"})
    EXPECT_EQ(refusal(text),
              "\"" + std::string(text) + "\": is no prefix such as 10.0.1.0/24 or fd00:1::/64");
  for (const char* length : {"", "33", "-1", "24x", "24 ", "4294967296", "255.255.255.0", "8/8"})
    EXPECT_EQ(refusal("10.0.0.0/" + std::string(length)),
              "\"10.0.0.0/" + std::string(length) + "\": the prefix's length is 0 to 32");
  EXPECT_EQ(refusal("fd00::/129"), "\"fd00::/129\": the prefix's length is 0 to 128");
  EXPECT_EQ(refusal("10.0.2.1/24"), "\"10.0.2.1/24\": has bits behind the prefix's 24");
  EXPECT_EQ(refusal("fd00::1/64"), "\"fd00::1/64\": has bits behind the prefix's 64");
}

}  // namespace
}  // namespace delaycc
