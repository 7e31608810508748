// SPDX-License-Identifier: Apache-2.0
// Sizes of headers, and of the packets that the bench sends.
#ifndef DELAYCC_HARNESS_SPEC_PACKET_H_
#define DELAYCC_HARNESS_SPEC_PACKET_H_

namespace delaycc {

// Ethernet header, and IPv4 and TCP headers with timestamps: what a packet has beside its payload.
inline constexpr int kEthernetBytes = 14;
inline constexpr int kTcpIpBytes = 20 + 20 + 12;

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_SPEC_PACKET_H_
