// SPDX-License-Identifier: Apache-2.0
// Algorithms as BPF programs: from an object file into the kernel, what runs there, and its
// settings.
//
// What is in the kernel stays there without this program and without a pin: a registered struct_ops
// map holds its programs, and they hold the maps of bpf/delaycc_bpf.h. All of it is found again by
// the kernel's ids, so that no file has to be kept in step.
#ifndef DELAYCC_USER_BPF_LOADER_H_
#define DELAYCC_USER_BPF_LOADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/posix.h"
#include "delaycc_bpf.h"

namespace delaycc {

// A mistake of who asks: a name, a key, a value. Other trouble is Error.
class BpfInputError : public Error {
 public:
  using Error::Error;
};

// This machine cannot do it: no BTF, an old kernel, no permission. what() has the remedy.
class BpfUnsupported : public Error {
 public:
  using Error::Error;
};

// What can be set of an algorithm, as its object says.
struct BpfParameter {
  std::string name;
  uint32_t offset = 0;  // in the settings
  uint32_t min = 0, max = 0;
  bool zero_ok = false;
};

// "line_rate_mbps=10000" taken apart.
using BpfSetting = std::pair<std::string, uint32_t>;

// Throws BpfInputError for what is no KEY=NUMBER.
BpfSetting parse_bpf_setting(const std::string& text);

// An algorithm that the kernel has.
struct BpfAlgorithm {
  std::string name;     // "oscar"
  std::string kernel;   // "bpf_oscar", for TCP_CONGESTION, sysctls and routes
  std::string version;  // of the object that it was loaded from
  uint32_t ops_id = 0;  // of the struct_ops map
  // Of its maps, by their names in delaycc_bpf.h, and "dcc_sockets_map".
  std::map<std::string, uint32_t> maps;
  uint64_t users = 0;                        // sockets and namespaces' defaults
  std::map<std::string, uint64_t> counters;  // "sockets", "acks" ..., since it was loaded
  std::vector<BpfParameter> parameters;
  std::vector<uint32_t> values;  // of the parameters, in their order
  uint64_t instructions = 0;     // that the verifier looked at; 0: the kernel is too old
  uint32_t programs = 0;
};

// Inode number of this network namespace, by which programs know it.
uint32_t own_netns();

// Speeds of this namespace's devices that tell one, in Mbit/s, by name.
std::map<std::string, uint32_t> device_speeds_mbps();

// What programs take for the speed of a device that is none of these, but for the loopback.
extern const uint32_t kUnsaidSpeedMbps;

struct BpfLoadOptions {
  std::vector<BpfSetting> settings;
  std::map<std::string, uint32_t> speeds_mbps;  // of devices: device_speeds_mbps()
  bool pin = false;                             // maps below kBpfPins/NAME
};

inline constexpr char kBpfFileSystem[] = "/sys/fs/bpf";
inline constexpr char kBpfPins[] = "/sys/fs/bpf/delaycc";

// Loads and registers the object `file` under the name that it has. Settings are checked before
// anything is loaded. Throws BpfInputError, BpfUnsupported, or Error with the verifier's last
// lines.
BpfAlgorithm load_bpf(const std::string& file, const BpfLoadOptions& options);

// What the kernel has, by name. Throws BpfUnsupported without the permission to look.
std::vector<BpfAlgorithm> loaded_bpf();
// One of them; throws BpfInputError if it is not loaded.
BpfAlgorithm find_bpf(const std::string& name);

// All or nothing: values that open sockets follow from their next ACK on. Throws BpfInputError.
void set_bpf(const BpfAlgorithm& algorithm, const std::vector<BpfSetting>& settings);

// Whether the kernel has an algorithm of this name, from whatever source.
bool is_registered(const std::string& kernel_name);

// Takes it off the kernel's list, and its pins; sockets keep it until they close. Throws
// BpfInputError while it is the default of this namespace.
void unload_bpf(const BpfAlgorithm& algorithm);

// What is configured of the paths to a destination prefix, "10.0.0.0/8" or "fd00::/64".
struct BpfPath {
  std::string prefix;
  uint32_t base_rtt_ns = 0;  // 0: base_rtt_ns of all, or measured
  uint32_t noise_ns = 0;     // 0: noise_ns of all, or estimated
};
// "10.0.1.0/24=8000" or "10.0.1.0/24=8000,1500"; a base RTT of 0 only beside a noise. Throws
// BpfInputError.
BpfPath parse_bpf_path(const std::string& text);
// As parse_bpf_path() takes it.
std::string bpf_path_text(const BpfPath& path);
std::vector<BpfPath> bpf_paths(const BpfAlgorithm& algorithm);
// Throws BpfInputError for what is no prefix, has bits behind it, or a time that is out of range.
// Two zeroes take the prefix away. All are checked before the first is changed.
void set_bpf_paths(const BpfAlgorithm& algorithm, const std::vector<BpfPath>& paths);

// What its connections have learnt of a destination.
struct BpfMemory {
  uint32_t netns;  // inode number of the namespace
  std::string address;
  uint32_t base_rtt_ns;
  uint32_t noise_ns;
  uint32_t wire_bytes;  // of a full packet
  uint64_t age_s;       // since a connection last knew as short a RTT
};
// The newest first.
std::vector<BpfMemory> bpf_memory(const BpfAlgorithm& algorithm);
void forget_bpf_memory(const BpfAlgorithm& algorithm);

// Its open sockets. `file` is the object that it was loaded from. Throws Error if that is another
// build than what runs.
std::vector<dcc_flow> bpf_flows(const BpfAlgorithm& algorithm, const std::string& file);

// For all of a cgroup's (version 2) new sockets, connecting and accepting: the algorithm, if its
// name is not empty, and the priority (SO_PRIORITY), if it is not negative. `file` is cgroup.bpf.o.
// What an earlier call attached to this cgroup is replaced.
void attach_bpf_cgroup(const std::string& file, const std::string& cgroup,
                       const std::string& kernel_name, int priority);
// Takes that away again; false: there was nothing.
bool detach_bpf_cgroup(const std::string& cgroup);
// For the sockets of a cgroup (version 2) that are opened from now on: the receiver's count of
// flows, written into ACKs and read from them, for algorithms that want it (SQCC). A flow counts
// while its newest data is not older than active_us, 100 to 10,000,000. `file` is count.bpf.o. What
// an earlier call attached to this cgroup is replaced.
void attach_bpf_count(const std::string& file, const std::string& cgroup, uint32_t active_us);
// Takes that away again; false: there was nothing.
bool detach_bpf_count(const std::string& cgroup);

// Cgroups with such programs, and what they do: "bpf_prioplus, priority 5".
std::map<std::string, std::string> bpf_cgroups();

// Has a device of this namespace stamp what it receives, and sockets of all loaded algorithms, and
// of those that are loaded later, take an ACK's arrival from its stamp. `file` is stamps.bpf.o. All
// or nothing: throws BpfInputError for a device that is not there or is used so already,
// BpfUnsupported for one that does not stamp all packets.
void attach_bpf_stamps(const std::string& file, const std::string& device);
// Takes that away again, and has the device stamp what it did before; false: there was nothing.
bool detach_bpf_stamps(const std::string& device);
// This namespace's devices whose stamps are used, each with its counters: "stamped" and "unstamped"
// segments of TCP.
std::map<std::string, std::map<std::string, uint64_t>> bpf_stamps();

}  // namespace delaycc

#endif  // DELAYCC_USER_BPF_LOADER_H_
