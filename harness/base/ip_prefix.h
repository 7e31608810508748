// SPDX-License-Identifier: Apache-2.0
// Prefixes of IP addresses, as the modules' sysctl base_rtt_paths reads them.
#ifndef DELAYCC_HARNESS_BASE_IP_PREFIX_H_
#define DELAYCC_HARNESS_BASE_IP_PREFIX_H_

#include <array>
#include <cstdint>
#include <string>

#include "base/posix.h"

namespace delaycc {

// The text is no prefix: what() quotes it and says why.
struct PrefixError : Error {
  using Error::Error;
};

struct IpPrefix {
  std::array<uint8_t, 16> address = {};  // IPv4 is mapped into IPv6
  uint32_t bits = 0;                     // 0 to 128; of IPv4 from 96 on

  bool is_ipv4() const;
  bool contains(const IpPrefix& other) const;  // every address of it
  // "10.0.1.0/24", "fd00:1::/64": the C library's words, always with a length.
  std::string text() const;
  std::string address_text() const;  // without it
};

bool operator==(const IpPrefix& a, const IpPrefix& b);

// "10.0.1.0/24", "fd00:1::/64" or an address alone, which is one host. No mapped address: the
// modules take none. Throws PrefixError.
IpPrefix parse_ip_prefix(const std::string& text);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BASE_IP_PREFIX_H_
