// SPDX-License-Identifier: Apache-2.0
#include "base/ip_prefix.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace delaycc {
namespace {

constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr uint32_t kMappedBits = 8 * kMapped.size();
constexpr uint32_t kBits = 128;

bool bit_of(const IpPrefix& prefix, uint32_t bit) {
  return (prefix.address[bit / 8] & (0x80U >> bit % 8)) != 0;
}

}  // namespace

bool IpPrefix::is_ipv4() const {
  return bits >= kMappedBits && std::equal(kMapped.begin(), kMapped.end(), address.begin());
}

bool IpPrefix::contains(const IpPrefix& other) const {
  // "::/0" has no IPv4 in it.
  if (other.bits < bits || other.is_ipv4() != is_ipv4()) return false;
  for (uint32_t bit = 0; bit < bits; bit++)
    if (bit_of(*this, bit) != bit_of(other, bit)) return false;
  return true;
}

std::string IpPrefix::address_text() const {
  char text[INET6_ADDRSTRLEN];
  return is_ipv4() ? inet_ntop(AF_INET, address.data() + kMapped.size(), text, sizeof(text))
                   : inet_ntop(AF_INET6, address.data(), text, sizeof(text));
}

std::string IpPrefix::text() const {
  return address_text() + "/" + std::to_string(is_ipv4() ? bits - kMappedBits : bits);
}

bool operator==(const IpPrefix& a, const IpPrefix& b) {
  return a.bits == b.bits && a.address == b.address;
}

IpPrefix parse_ip_prefix(const std::string& text) {
  const std::string quoted = "\"" + text + "\": ";
  const size_t slash = std::min(text.find('/'), text.size());
  const std::string address = text.substr(0, slash);
  IpPrefix prefix;
  prefix.bits = kBits;
  uint32_t shift = 0;
  if (inet_pton(AF_INET, address.c_str(), prefix.address.data() + kMapped.size()) == 1) {
    std::copy(kMapped.begin(), kMapped.end(), prefix.address.begin());
    shift = kMappedBits;
  } else if (inet_pton(AF_INET6, address.c_str(), prefix.address.data()) != 1 || prefix.is_ipv4()) {
    throw PrefixError(quoted + "is no prefix such as 10.0.1.0/24 or fd00:1::/64");
  }
  if (slash < text.size()) {
    const char* end = text.data() + text.size();
    uint32_t bits = 0;
    const auto [at, error] = std::from_chars(text.data() + slash + 1, end, bits);
    if (error != std::errc() || at != end || bits > kBits - shift)
      throw PrefixError(quoted + "the prefix's length is 0 to " + std::to_string(kBits - shift));
    prefix.bits = bits + shift;
  }
  for (uint32_t bit = prefix.bits; bit < kBits; bit++)
    if (bit_of(prefix, bit))
      throw PrefixError(quoted + "has bits behind the prefix's " +
                        std::to_string(prefix.bits - shift));
  return prefix;
}

}  // namespace delaycc
