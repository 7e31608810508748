// SPDX-License-Identifier: Apache-2.0
#include "trace/records.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/temporary_directory.h"

namespace delaycc {
namespace {

Records example() {
  Records records;
  records.kernel = "6.1";
  FlowRecord flow;
  flow.cc = "cubic";
  flow.start_ns = 5;
  flow.received_bytes = 1'000'000'000'000;
  records.flows = {flow};
  for (uint16_t i = 0; i < 3; i++) {
    PacketRecord packet = {};
    packet.arrival_ns = 1'000'000'000'000 + i;
    packet.depart_ns = i == 2 ? kNotDeparted : packet.arrival_ns + 100;
    packet.seq = 4'000'000'000;
    packet.port_id = i;
    packet.flags = kPacketMarked;
    records.packets.push_back(packet);
  }
  records.decisions = {{7, 12'000, -0.25, 10'001}};
  records.nic_rtts = {{1'000'000'000'000, 12'126, 14'000, 10'001}};
  return records;
}

TEST(Records, OfAKeptTrialAreReadBackToTheLastBit) {
  const TemporaryDirectory directory;
  const Records written = example();
  write_records(directory.path(), written);
  const Records read = read_records(directory.path());
  EXPECT_EQ(read.kernel, "6.1");
  ASSERT_EQ(read.flows.size(), 1u);
  EXPECT_EQ(read.flows[0].cc, "cubic");
  EXPECT_EQ(read.flows[0].stop_ns, -1);
  EXPECT_EQ(read.flows[0].received_bytes, 1'000'000'000'000);
  ASSERT_EQ(read.packets.size(), 3u);
  EXPECT_EQ(memcmp(read.packets.data(), written.packets.data(), 3 * sizeof(PacketRecord)), 0);
  ASSERT_EQ(read.decisions.size(), 1u);
  EXPECT_EQ(memcmp(read.decisions.data(), written.decisions.data(), sizeof(Decision)), 0);
  ASSERT_EQ(read.nic_rtts.size(), 1u);
  EXPECT_EQ(memcmp(read.nic_rtts.data(), written.nic_rtts.data(), sizeof(NicRtt)), 0);
}

TEST(Records, WithoutStampsOfNicsHaveNoFileOfTheirRtts) {
  const TemporaryDirectory directory;
  Records records = example();
  records.nic_rtts.clear();
  write_records(directory.path(), records);
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/nic_rtts.bin"));
  EXPECT_TRUE(read_records(directory.path()).nic_rtts.empty());
}

TEST(Records, WithoutATraceHaveNoFileOfDecisions) {
  const TemporaryDirectory directory;
  Records records = example();
  records.decisions.clear();
  write_records(directory.path(), records);
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/decisions.bin"));
  EXPECT_TRUE(read_records(directory.path()).decisions.empty());
}

// What reading says once `change` was made to packets.bin, without the file's name in front.
std::string refusal(const std::function<void(std::string*)>& change) {
  const TemporaryDirectory directory;
  write_records(directory.path(), example());
  const std::string path = directory.path() + "/packets.bin";
  std::string bytes = read_file(path);
  change(&bytes);
  write_file(path, bytes);
  try {
    read_records(directory.path());
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.rfind(path + ": ", 0), 0u) << text;
    return text.substr(path.size() + 2);
  }
  return "read";
}

template <typename Value>
std::function<void(std::string*)> put(size_t offset, Value value) {
  return [=](std::string* bytes) { memcpy(bytes->data() + offset, &value, sizeof(value)); };
}

TEST(Records, ThatAreCutOrOfAnotherFormatAreRefusedWithTheFileAndTheFault) {
  const auto cut = [](size_t by) {
    return [=](std::string* bytes) { bytes->resize(bytes->size() - by); };
  };
  EXPECT_EQ(refusal(cut(1)), "holds 143 bytes of records, its header says 3 records of 48 bytes");
  EXPECT_EQ(refusal(cut(48)), "holds 96 bytes of records, its header says 3 records of 48 bytes");
  EXPECT_EQ(refusal(cut(150)), "26 bytes are no record file: its header has 32");
  EXPECT_EQ(refusal([](std::string* bytes) { *bytes += "more"; }),
            "holds 148 bytes of records, its header says 3 records of 48 bytes");
  EXPECT_EQ(refusal(put(0, 'x')), "is no record file of delaycc");
  EXPECT_EQ(refusal(put(offsetof(RecordFileHeader, byte_order), uint32_t{0x04030201})),
            "was written on a machine of another byte order");
  EXPECT_EQ(refusal(put(offsetof(RecordFileHeader, version), kRecordsVersion + 1)),
            "the version of its records is 2, this delaycc reads 1");
  EXPECT_EQ(refusal(put(offsetof(RecordFileHeader, kind), uint32_t{2})),
            "the kind of its records is 2, this delaycc reads 1");
  EXPECT_EQ(refusal(put(offsetof(RecordFileHeader, record_bytes), uint32_t{40})),
            "the size of a record is 40, this delaycc reads 48");
  // More than memory could hold.
  EXPECT_EQ(refusal(put(offsetof(RecordFileHeader, records), uint64_t{1} << 60)),
            "holds 144 bytes of records, its header says 1152921504606846976 records of 48 bytes");
}

TEST(Records, FlowsOfAnotherVersionAreRefused) {
  const TemporaryDirectory directory;
  write_records(directory.path(), example());
  const std::string path = directory.path() + "/flows.json";
  std::string text = read_file(path);
  const size_t at = text.find("\"version\": 1");
  ASSERT_NE(at, std::string::npos);
  write_file(path, text.replace(at, 12, "\"version\": 9"));
  try {
    read_records(directory.path());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), path + ": the version of its records is 9, this delaycc reads 1");
  }
}

}  // namespace
}  // namespace delaycc
