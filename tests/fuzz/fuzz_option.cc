// SPDX-License-Identifier: Apache-2.0
//
// The option's parser under arbitrary option areas, against a reference that takes one byte at a
// time: every byte is a kind, a length or an option's content, and a state says which.  And
// whatever fits is read back as it was written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dcc_option.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

struct Seen {
  bool malformed = false;
  bool ended = false;
  bool is_signed = false;
  int ours = 0;
  u32 flows = 0;
};

Seen ByteByByte(const std::vector<u8>& area) {
  enum { kKind, kLength, kContent } state = kKind;
  Seen seen;
  std::vector<u8> option;
  std::size_t wanted = 0;

  if (area.size() > 40) {
    seen.malformed = true;
    return seen;
  }
  for (const u8 byte : area) {
    switch (state) {
      case kKind:
        if (byte == 0) {
          seen.ended = true;
          return seen;
        }
        if (byte != 1) {
          option = {byte};
          state = kLength;
        }
        break;
      case kLength:
        if (byte < 2) {
          seen.malformed = true;
          return seen;
        }
        wanted = byte;
        option.push_back(byte);
        state = kContent;
        break;
      case kContent:
        option.push_back(byte);
        break;
    }
    if (state == kContent && option.size() == wanted) {
      if (option[0] == 19 || option[0] == 29) seen.is_signed = true;
      if (option[0] == 254 && wanted >= 4 && option[2] == 0xdc && option[3] == 0xc0) {
        seen.ours++;
        if (wanted == 8 && option[4] == 0)
          seen.flows = (option[5] * 256u + option[6]) * 256u + option[7];
      }
      state = kKind;
    }
  }
  seen.malformed = state != kKind;
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Longer inputs are many areas, so that each run sees more of them; some areas are too long.
  while (size > 0) {
    std::size_t n = data[0] % 48;
    data++;
    size--;
    if (n > size) n = size;
    // An allocation of its own: a read behind it is seen.
    const std::vector<u8> area(data, data + n);
    data += n;
    size -= n;

    const Seen seen = ByteByByte(area);
    const u32 length = static_cast<u32>(n);
    const u32 told = dcc_option_flows(area.data(), length);
    Require(told == (seen.malformed || seen.ours > 1 ? 0 : seen.flows));
    Require(told <= DCC_OPTION_FLOWS_MAX);

    const bool fits = dcc_option_fits(area.data(), length);
    Require(fits == (n <= 32 && !seen.malformed && !seen.ended && !seen.is_signed && !seen.ours));
    if (fits) {
      std::vector<u8> more(area);
      more.resize(n + DCC_OPTION_BYTES);
      const u32 flows = n ? area[0] * 65536u + static_cast<u32>(size) : ~0U;
      dcc_option_write(more.data() + n, flows);
      Require(dcc_option_flows(more.data(), static_cast<u32>(more.size())) ==
              (flows < DCC_OPTION_FLOWS_MAX ? flows : DCC_OPTION_FLOWS_MAX));
      Require(!dcc_option_fits(more.data(), static_cast<u32>(more.size())));
    }
  }
  return 0;
}
