// SPDX-License-Identifier: Apache-2.0
#include <linux/types.h>

#include "bpf/loader.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/magic.h>
#include <linux/net_tstamp.h>
#include <linux/nsfs.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "base/ip_prefix.h"
#include "base/posix.h"
#include "base/suggest.h"
#include "dcc_cc.h"
#include "dcc_tcp.h"
#include "stamps/nic.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;

constexpr char kSockets[] = "dcc_sockets_map";
constexpr char kStampsProgram[] = "dcc_stamps";
constexpr uint32_t kKey = 0;
constexpr size_t kLogLines = 12;

// The last lines that libbpf said: the verifier's refusal.
std::deque<std::string>& said() {
  static std::deque<std::string> lines;
  return lines;
}

int keep_lines(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  char text[65536];
  vsnprintf(text, sizeof(text), format, arguments);
  std::string line;
  for (const char* at = text; *at; at++) {
    if (*at != '\n') {
      line += *at;
      continue;
    }
    if (!line.empty()) said().push_back(line);
    line.clear();
  }
  if (!line.empty()) said().push_back(line);
  while (said().size() > kLogLines) said().pop_front();
  return 0;
}

void listen_to_libbpf() {
  said().clear();
  libbpf_set_print(keep_lines);
}

std::string last_lines() { return fmt::format("{}", fmt::join(said(), "\n  ")); }

[[noreturn]] void refuse(const std::string& what, int error) {
  if (error == EPERM || error == EACCES)
    throw BpfUnsupported(what +
                         ": not permitted: run it as root (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN)");
  if (error == ENOSYS || error == EOPNOTSUPP)
    throw BpfUnsupported(what +
                         ": this kernel cannot do it (needs 6.1 or later with CONFIG_BPF_JIT)");
  throw Error(what + ": " + strerror(error));
}

struct FreeBtf {
  void operator()(btf* types) const { btf__free(types); }
};
using Btf = std::unique_ptr<btf, FreeBtf>;
struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using Object = std::unique_ptr<bpf_object, CloseObject>;

Btf kernel_types() {
  Btf types(btf__load_vmlinux_btf());
  if (!types)
    throw BpfUnsupported(
        "this kernel has no type information (/sys/kernel/btf/vmlinux): it has to be built with "
        "CONFIG_DEBUG_INFO_BTF");
  return types;
}

const btf_type* without_modifiers(const btf* types, uint32_t id) {
  const btf_type* type = btf__type_by_id(types, id);
  while (btf_is_mod(type) || btf_is_typedef(type)) type = btf__type_by_id(types, type->type);
  return type;
}

// A member's offset in bytes; nothing if there is none.
std::optional<uint32_t> member_offset(const btf* types, const btf_type* type, const char* name) {
  for (uint16_t i = 0; i < btf_vlen(type); i++)
    if (!strcmp(btf__name_by_offset(types, btf_members(type)[i].name_off), name))
      return btf_member_bit_offset(type, i) / 8;
  return std::nullopt;
}

const btf_type* tcp_ops_type(const btf* types) {
  const int id = btf__find_by_name_kind(types, "tcp_congestion_ops", BTF_KIND_STRUCT);
  if (id < 0)
    throw BpfUnsupported("this kernel's type information has no tcp_congestion_ops: no TCP in it?");
  return btf__type_by_id(types, static_cast<uint32_t>(id));
}

// From 6.10 on cong_control has the ACK's sequence number and flags before the sample.
bool cong_control_is_long(const btf* types) {
  const btf_type* ops = tcp_ops_type(types);
  for (uint16_t i = 0; i < btf_vlen(ops); i++) {
    const btf_member& member = btf_members(ops)[i];
    if (strcmp(btf__name_by_offset(types, member.name_off), "cong_control") != 0) continue;
    const int arguments =
        btf_vlen(btf__type_by_id(types, without_modifiers(types, member.type)->type));
    if (arguments == 2 || arguments == 4) return arguments == 4;
    throw BpfUnsupported(
        fmt::format("this kernel's cong_control has {} arguments; known are 2 (up to "
                    "6.9) and 4",
                    arguments));
  }
  throw BpfUnsupported("this kernel's tcp_congestion_ops has no cong_control");
}

// Where a variable is in its section of global variables.
struct Variable {
  uint32_t offset = 0, size = 0;
};
std::map<std::string, Variable> variables(const btf* types, const char* section) {
  std::map<std::string, Variable> found;
  const int id = btf__find_by_name_kind(types, section, BTF_KIND_DATASEC);
  if (id < 0) return found;
  const btf_type* type = btf__type_by_id(types, static_cast<uint32_t>(id));
  for (uint16_t i = 0; i < btf_vlen(type); i++) {
    const btf_var_secinfo& info = btf_var_secinfos(type)[i];
    const btf_type* var = btf__type_by_id(types, info.type);
    found[btf__name_by_offset(types, var->name_off)] = {info.offset, info.size};
  }
  return found;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string text_of(const std::vector<char>& data, const Variable& at) {
  const char* begin = data.data() + at.offset;
  return {begin, strnlen(begin, at.size)};
}

std::vector<BpfParameter> parameters_of(const std::vector<char>& rodata, const Variable& table) {
  std::vector<BpfParameter> found;
  for (uint32_t i = 0; i < table.size / sizeof(dcc_param_info); i++) {
    dcc_param_info info;
    memcpy(&info, rodata.data() + table.offset + i * sizeof(info), sizeof(info));
    if (!info.name[0]) break;
    found.push_back({{info.name, strnlen(info.name, sizeof(info.name))},
                     info.offset,
                     info.min,
                     info.max,
                     info.zero_ok != 0});
  }
  return found;
}

// What an object says of itself, in its .rodata.
struct Constants {
  std::string name, kernel, version;
  std::vector<BpfParameter> parameters;
};

// Nothing: it is no algorithm of delaycc, or of another version.
std::optional<Constants> read_constants(const btf* types, const std::vector<char>& bytes) {
  const auto places = variables(types, ".rodata");
  for (const char* name : {"dcc_param_table", "dcc_name", "dcc_algorithm", "dcc_version"})
    if (!places.count(name)) return std::nullopt;
  return Constants{text_of(bytes, places.at("dcc_algorithm")),
                   text_of(bytes, places.at("dcc_name")), text_of(bytes, places.at("dcc_version")),
                   parameters_of(bytes, places.at("dcc_param_table"))};
}

const BpfParameter& parameter_named(const std::string& algorithm,
                                    const std::vector<BpfParameter>& parameters,
                                    const std::string& name) {
  std::vector<std::string> names;
  for (const BpfParameter& p : parameters) {
    if (p.name == name) return p;
    names.push_back(p.name);
  }
  throw BpfInputError(fmt::format("{}: \"{}\" is no parameter, there are {}{}", algorithm, name,
                                  fmt::join(names, ", "), nearest_text(name, names)));
}

void check(const std::string& algorithm, const std::vector<BpfParameter>& parameters,
           const std::vector<BpfSetting>& settings) {
  for (const auto& [key, value] : settings) {
    const BpfParameter& p = parameter_named(algorithm, parameters, key);
    if ((value >= p.min && value <= p.max) || (value == 0 && p.zero_ok)) continue;
    throw BpfInputError(fmt::format("{}: {} is {}, allowed is {} to {}{}", algorithm, key, value,
                                    p.min, p.max, p.zero_ok && p.min > 0 ? ", or 0" : ""));
  }
}

// ---- maps of the kernel --------------------------------------------------

bpf_map_info map_info(int fd) {
  bpf_map_info info = {};
  uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0) refuse("a BPF map's description", errno);
  return info;
}

bpf_prog_info program_info(int fd, std::vector<uint32_t>* map_ids) {
  bpf_prog_info info = {};
  uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0) refuse("a BPF program's description", errno);
  if (map_ids == nullptr) return info;
  map_ids->resize(info.nr_map_ids);
  bpf_prog_info again = {};
  again.nr_map_ids = info.nr_map_ids;
  again.map_ids = reinterpret_cast<uintptr_t>(map_ids->data());
  size = sizeof(again);
  if (bpf_obj_get_info_by_fd(fd, &again, &size) < 0) refuse("a BPF program's maps", errno);
  return again;
}

Fd open_map(uint32_t id) {
  const int fd = bpf_map_get_fd_by_id(id);
  if (fd < 0) refuse("opening a BPF map", errno);
  return Fd(fd);
}

std::vector<char> first_value(int fd) {
  std::vector<char> value((size_t{map_info(fd).value_size} + 7) / 8 * 8);
  if (bpf_map_lookup_elem(fd, &kKey, value.data()) < 0) refuse("reading a BPF map", errno);
  return value;
}

Fd map_of(const BpfAlgorithm& algorithm, const char* name) {
  const auto found = algorithm.maps.find(name);
  if (found == algorithm.maps.end())
    throw Error(fmt::format("{} has no map {}: it was loaded from another version of delaycc",
                            algorithm.kernel, name));
  return open_map(found->second);
}

// The members of a loaded tcp_congestion_ops that are needed here.
struct OpsLayout {
  uint32_t type_id = 0;  // of struct bpf_struct_ops_tcp_congestion_ops
  uint32_t data = 0;     // where the ops begin in it
  uint32_t name = 0;
  std::vector<uint32_t> programs;
};

OpsLayout ops_layout(const btf* types) {
  OpsLayout layout;
  const int id =
      btf__find_by_name_kind(types, "bpf_struct_ops_tcp_congestion_ops", BTF_KIND_STRUCT);
  if (id < 0)
    throw BpfUnsupported(
        "this kernel cannot take TCP's congestion control from BPF: it has to be built with "
        "CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF");
  layout.type_id = static_cast<uint32_t>(id);
  layout.data = member_offset(types, btf__type_by_id(types, layout.type_id), "data").value_or(0);
  const btf_type* ops = tcp_ops_type(types);
  layout.name = member_offset(types, ops, "name").value_or(0);
  for (const char* member : {"init", "release", "cong_control", "min_tso_segs", "set_state",
                             "cwnd_event", "ssthresh", "undo_cwnd"})
    if (const auto at = member_offset(types, ops, member)) layout.programs.push_back(*at);
  return layout;
}

constexpr uint32_t kStateInUse = 1;  // enum bpf_struct_ops_state

// A program's counters, all u64, by their names without "dcc_".
std::map<std::string, uint64_t> counters_of(int bss, const btf* types) {
  std::map<std::string, uint64_t> counters;
  const std::vector<char> values = first_value(bss);
  for (const auto& [name, at] : variables(types, ".bss")) {
    if (at.size != sizeof(uint64_t)) continue;
    uint64_t& count = counters[name.rfind("dcc_", 0) == 0 ? name.substr(4) : name];
    memcpy(&count, values.data() + at.offset, sizeof(count));
  }
  return counters;
}

// What the struct_ops map is about, if it is ours and registered.
std::optional<BpfAlgorithm> describe(uint32_t id, int fd, const OpsLayout& layout) {
  const std::vector<char> value = first_value(fd);
  uint32_t refcnt = 0, state = 0;
  memcpy(&refcnt, value.data(), sizeof(refcnt));
  memcpy(&state, value.data() + sizeof(refcnt), sizeof(state));
  if (state != kStateInUse) return std::nullopt;
  BpfAlgorithm found;
  found.ops_id = id;
  const char* name = value.data() + layout.data + layout.name;
  found.kernel.assign(name, strnlen(name, 16));
  // The map itself is one of them.
  found.users = refcnt > 0 ? refcnt - 1 : 0;
  std::set<uint32_t> map_ids;
  for (const uint32_t at : layout.programs) {
    uint64_t program = 0;
    memcpy(&program, value.data() + layout.data + at, sizeof(program));
    if (program == 0) continue;
    const Fd opened(bpf_prog_get_fd_by_id(static_cast<uint32_t>(program)));
    if (!opened) refuse("opening a BPF program", errno);
    std::vector<uint32_t> used;
    const bpf_prog_info info = program_info(opened.get(), &used);
    found.programs++;
    found.instructions += info.verified_insns;
    map_ids.insert(used.begin(), used.end());
  }
  uint32_t rodata_id = 0, bss_id = 0;
  for (const uint32_t map_id : map_ids) {
    const Fd map = open_map(map_id);
    const std::string map_name = map_info(map.get()).name;
    if (ends_with(map_name, ".rodata")) rodata_id = map_id;
    if (ends_with(map_name, ".bss")) bss_id = map_id;
    found.maps[map_name] = map_id;
  }
  if (!rodata_id || !found.maps.count(DELAYCC_BPF_SETTINGS)) return std::nullopt;
  const Fd rodata = open_map(rodata_id);
  const Btf types(btf__load_from_kernel_by_id(map_info(rodata.get()).btf_id));
  if (!types) return std::nullopt;
  const auto constants = read_constants(types.get(), first_value(rodata.get()));
  if (!constants) return std::nullopt;
  found.name = constants->name;
  found.version = constants->version;
  found.parameters = constants->parameters;
  const std::vector<char> settings = first_value(map_of(found, DELAYCC_BPF_SETTINGS).get());
  for (const BpfParameter& p : found.parameters) {
    uint32_t set = 0;
    memcpy(&set, settings.data() + p.offset, sizeof(set));
    found.values.push_back(set);
  }
  if (bss_id) found.counters = counters_of(open_map(bss_id).get(), types.get());
  return found;
}

// ---- objects ---------------------------------------------------------------

Object open_object(const std::string& file) {
  listen_to_libbpf();
  Object object(bpf_object__open_file(file.c_str(), nullptr));
  if (!object) {
    const int error = errno;
    throw Error(fmt::format("{}: cannot be opened as a BPF object: {}", file, strerror(error)));
  }
  return object;
}

bpf_map* map_ending(bpf_object* object, const std::string& end) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    if (ends_with(bpf_map__name(map), end)) return map;
  }
  throw Error("the BPF object has no map " + end + ": it is of another version of delaycc");
}

Constants constants_of(bpf_object* object, const std::string& file) {
  size_t size = 0;
  const auto* bytes =
      static_cast<const char*>(bpf_map__initial_value(map_ending(object, ".rodata"), &size));
  auto found = read_constants(bpf_object__btf(object), {bytes, bytes + size});
  if (!found)
    throw Error(file +
                ": is no algorithm of delaycc: it lacks dcc_param_table or another of its "
                "constants");
  return std::move(*found);
}

// Sets a variable of .rodata, before the object is loaded.
template <typename Value>
void set_constant(bpf_object* object, const std::string& file, const char* name, Value value) {
  const auto places = variables(bpf_object__btf(object), ".rodata");
  const auto place = places.find(name);
  if (place == places.end() || place->second.size != sizeof(value))
    throw Error(file + ": lacks " + name);
  bpf_map* map = map_ending(object, ".rodata");
  size_t size = 0;
  const auto* initial = static_cast<const char*>(bpf_map__initial_value(map, &size));
  std::vector<char> bytes(initial, initial + size);
  memcpy(bytes.data() + place->second.offset, &value, sizeof(value));
  if (bpf_map__set_initial_value(map, bytes.data(), bytes.size()) < 0)
    refuse("preparing " + file, errno);
}

void load_object(bpf_object* object, const std::string& what) {
  const int error = -bpf_object__load(object);
  if (error == 0) return;
  if (error == EPERM || error == EACCES || error == ENOSYS || error == EOPNOTSUPP) {
    // The verifier says EACCES, too, but it says why.
    if (error != EACCES || said().empty()) refuse("loading " + what, error);
  }
  throw Error(fmt::format("the kernel refuses {} ({}); its last lines:\n  {}", what,
                          strerror(error), last_lines()));
}

// The map of this name that the kernel has already, if the object has one: an algorithm and the
// program that writes for it share it, whichever is loaded first.
void share_map(bpf_object* object, const char* name) {
  bpf_map* map = bpf_object__find_map_by_name(object, name);
  if (map == nullptr) return;
  for (uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) {
    const Fd fd(bpf_map_get_fd_by_id(id));
    if (!fd) continue;  // gone since
    const bpf_map_info info = map_info(fd.get());
    if (info.type != BPF_MAP_TYPE_SK_STORAGE || info.value_size != bpf_map__value_size(map) ||
        strcmp(info.name, name) != 0)
      continue;
    if (bpf_map__reuse_fd(map, fd.get()) == 0) return;
  }
}

void put(int settings, const std::vector<std::pair<size_t, uint32_t>>& at_offsets) {
  std::vector<char> value = first_value(settings);
  for (const auto& [offset, number] : at_offsets)
    memcpy(value.data() + offset, &number, sizeof(number));
  uint32_t generation = 0;
  memcpy(&generation, value.data() + offsetof(dcc_settings_head, generation), sizeof(generation));
  generation++;
  memcpy(value.data() + offsetof(dcc_settings_head, generation), &generation, sizeof(generation));
  if (bpf_map_update_elem(settings, &kKey, value.data(), BPF_EXIST) < 0)
    refuse("writing the settings", errno);
}

void put(int settings, const std::vector<BpfParameter>& parameters, const std::string& algorithm,
         const std::vector<BpfSetting>& wanted) {
  std::vector<std::pair<size_t, uint32_t>> at_offsets;
  for (const auto& [key, number] : wanted)
    at_offsets.emplace_back(parameter_named(algorithm, parameters, key).offset, number);
  put(settings, at_offsets);
}

// The loaded programs that read stamps, of all network namespaces, by their ids.
std::set<uint32_t> stamps_programs() {
  std::set<uint32_t> found;
  for (uint32_t id = 0; bpf_prog_get_next_id(id, &id) == 0;) {
    const Fd program(bpf_prog_get_fd_by_id(id));
    if (program && !strcmp(program_info(program.get(), nullptr).name, kStampsProgram))
      found.insert(id);
  }
  return found;
}

// Whether sockets look for the arrivals of their ACKs, by their devices' stamps.
void put_arrivals(int settings, bool wanted) {
  put(settings, {{offsetof(dcc_settings_head, arrivals), wanted ? 1U : 0U}});
}

// Mounts a BPF file system where there is none, as bpftool does.
void mount_pins() {
  struct statfs found;
  if (statfs(kBpfFileSystem, &found) == 0 && found.f_type == BPF_FS_MAGIC) return;
  if (mount("bpf", kBpfFileSystem, "bpf", 0, "mode=0700") < 0) {
    const int error = errno;
    throw Error(
        fmt::format("--pin: no BPF file system is at {}, and none may be mounted here: {}; have "
                    "\"mount -t bpf bpf {}\" done where it may be, or load without --pin",
                    kBpfFileSystem, strerror(error), kBpfFileSystem));
  }
}

void pin_maps(bpf_object* object, const std::string& folder) {
  mount_pins();
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    const std::string name = bpf_map__name(map);
    if (name.rfind("dcc_", 0) != 0) continue;
    const std::string path = folder + "/" + name;
    fs::remove(path, ignored);
    if (bpf_obj_pin(bpf_map__fd(map), path.c_str()) < 0) {
      const int error = errno;
      throw Error(fmt::format("{}: cannot be pinned: {}", path, strerror(error)));
    }
  }
}

}  // namespace

bool is_registered(const std::string& kernel_name) {
  std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  for (std::string name; file >> name;)
    if (name == kernel_name) return true;
  return false;
}

BpfSetting parse_bpf_setting(const std::string& text) {
  const size_t equals = text.find('=');
  uint32_t value = 0;
  const char* end = text.data() + text.size();
  if (equals != std::string::npos && equals > 0 && equals + 1 < text.size()) {
    const auto [at, error] = std::from_chars(text.data() + equals + 1, end, value);
    if (error == std::errc() && at == end) return {text.substr(0, equals), value};
  }
  throw BpfInputError("\"" + text + "\": allowed is KEY=NUMBER, a whole number below 2^32");
}

uint32_t own_netns() {
  struct stat found;
  if (stat("/proc/self/ns/net", &found) < 0) throw system_error("stat", "/proc/self/ns/net");
  return static_cast<uint32_t>(found.st_ino);
}

std::map<std::string, uint32_t> device_speeds_mbps() {
  std::map<std::string, uint32_t> speeds;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/class/net", error)) {
    // tun says 10 Mbit/s or 10 Gbit/s, by the version of the kernel: it says nothing.
    if (fs::exists(entry.path() / "tun_flags", error)) continue;
    // Devices that are down or have no speed give an error or -1.
    std::ifstream file(entry.path() / "speed");
    int64_t mbps = 0;
    if (file >> mbps && mbps > 0) speeds[entry.path().filename()] = static_cast<uint32_t>(mbps);
  }
  return speeds;
}

const uint32_t kUnsaidSpeedMbps = DCC_TCP_UNSAID_MBPS;

BpfAlgorithm load_bpf(const std::string& file, const BpfLoadOptions& options) {
  const Object object = open_object(file);
  const Constants constants = constants_of(object.get(), file);
  check(constants.kernel, constants.parameters, options.settings);
  const Btf types = kernel_types();
  const bool is_long = cong_control_is_long(types.get());
  if (is_registered(constants.kernel))
    throw BpfInputError(fmt::format("{} is registered already: delaycc unload {} takes it away",
                                    constants.kernel, constants.name));

  set_constant(object.get(), file, "dcc_cong_control_is_long", is_long);
  bpf_program__set_autoload(bpf_object__find_program_by_name(object.get(), "dcc_flows"), false);
  share_map(object.get(), DELAYCC_BPF_REPORTS);
  share_map(object.get(), DELAYCC_BPF_ARRIVALS);
  listen_to_libbpf();
  load_object(object.get(), constants.kernel);

  bpf_test_run_opts defaults = {};
  defaults.sz = sizeof(defaults);
  const bpf_program* program = bpf_object__find_program_by_name(object.get(), "dcc_defaults");
  if (bpf_prog_test_run_opts(bpf_program__fd(program), &defaults) < 0 || defaults.retval != 0)
    refuse("setting the defaults", errno);
  put(bpf_map__fd(map_ending(object.get(), DELAYCC_BPF_SETTINGS)), constants.parameters,
      constants.kernel, options.settings);
  put_arrivals(bpf_map__fd(map_ending(object.get(), DELAYCC_BPF_SETTINGS)),
               !stamps_programs().empty());
  const uint32_t netns = own_netns();
  for (const auto& [device, mbps] : options.speeds_mbps) {
    const dcc_link_key key = {netns, if_nametoindex(device.c_str())};
    if (key.ifindex && bpf_map_update_elem(bpf_map__fd(map_ending(object.get(), DELAYCC_BPF_LINKS)),
                                           &key, &mbps, BPF_ANY) < 0)
      refuse("writing a device's speed", errno);
  }
  const std::string pins = std::string(kBpfPins) + "/" + constants.name;
  std::error_code ignored;
  try {
    if (options.pin) pin_maps(object.get(), pins);
    bpf_link* link = bpf_map__attach_struct_ops(map_ending(object.get(), DELAYCC_BPF_OPS));
    if (link == nullptr) {
      const int error = errno;
      if (error == EEXIST) throw BpfInputError(constants.kernel + " is registered already");
      refuse("registering " + constants.kernel, error);
    }
    // Registered it stays.
    bpf_link__disconnect(link);
    bpf_link__destroy(link);
  } catch (...) {
    if (options.pin) fs::remove_all(pins, ignored);
    throw;
  }
  return find_bpf(constants.name);
}

std::vector<BpfAlgorithm> loaded_bpf() {
  listen_to_libbpf();
  const Btf types = kernel_types();
  const OpsLayout layout = ops_layout(types.get());
  std::vector<BpfAlgorithm> found;
  for (uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) {
    const Fd fd(bpf_map_get_fd_by_id(id));
    if (!fd) {
      if (errno == ENOENT) continue;  // gone since
      refuse("looking for BPF maps", errno);
    }
    const bpf_map_info info = map_info(fd.get());
    if (info.type != BPF_MAP_TYPE_STRUCT_OPS || info.btf_vmlinux_value_type_id != layout.type_id ||
        strcmp(info.name, DELAYCC_BPF_OPS) != 0)
      continue;
    if (auto algorithm = describe(id, fd.get(), layout)) found.push_back(std::move(*algorithm));
  }
  if (errno != ENOENT) refuse("looking for BPF maps", errno);
  std::sort(found.begin(), found.end(),
            [](const BpfAlgorithm& a, const BpfAlgorithm& b) { return a.name < b.name; });
  return found;
}

BpfAlgorithm find_bpf(const std::string& name) {
  std::vector<std::string> names;
  for (BpfAlgorithm& algorithm : loaded_bpf()) {
    if (algorithm.name == name || algorithm.kernel == name) return std::move(algorithm);
    names.push_back(algorithm.name);
  }
  throw BpfInputError(fmt::format(
      "{}: is not loaded, {}", name,
      names.empty() ? "nothing is" : fmt::format("loaded are {}", fmt::join(names, ", "))));
}

void set_bpf(const BpfAlgorithm& algorithm, const std::vector<BpfSetting>& settings) {
  check(algorithm.kernel, algorithm.parameters, settings);
  put(map_of(algorithm, DELAYCC_BPF_SETTINGS).get(), algorithm.parameters, algorithm.kernel,
      settings);
}

void unload_bpf(const BpfAlgorithm& algorithm) {
  std::ifstream file("/proc/sys/net/ipv4/tcp_congestion_control");
  std::string used;
  if (file >> used && used == algorithm.kernel)
    throw BpfInputError(
        fmt::format("{} is the default of this namespace: set another first, sysctl -w "
                    "net.ipv4.tcp_congestion_control=cubic",
                    algorithm.kernel));
  const Fd map = open_map(algorithm.ops_id);
  if (bpf_map_delete_elem(map.get(), &kKey) < 0) refuse("taking away " + algorithm.kernel, errno);
  std::error_code ignored;
  fs::remove_all(std::string(kBpfPins) + "/" + algorithm.name, ignored);
}

// ---- paths -------------------------------------------------------------------

namespace {

dcc_path_key path_key(const std::string& text) {
  try {
    const IpPrefix prefix = parse_ip_prefix(text);
    dcc_path_key key = {};
    key.bits = DELAYCC_BPF_PATH_FAMILY_BITS + prefix.bits;
    key.family = prefix.is_ipv4() ? 4 : 6;
    std::copy(prefix.address.begin(), prefix.address.end(), key.address);
    return key;
  } catch (const PrefixError& e) {
    throw BpfInputError(e.what());
  }
}

IpPrefix prefix_of(const uint8_t (&address)[16], uint32_t bits) {
  IpPrefix prefix;
  std::copy(std::begin(address), std::end(address), prefix.address.begin());
  prefix.bits = bits;
  return prefix;
}

}  // namespace

BpfPath parse_bpf_path(const std::string& text) {
  // The last sign, as a prefix has none.
  const size_t equals = text.rfind('=');
  BpfPath path = {text.substr(0, equals)};
  bool right = equals != std::string::npos && equals > 0;
  if (right) {
    const char* end = text.data() + text.size();
    std::from_chars_result read = std::from_chars(text.data() + equals + 1, end, path.base_rtt_ns);
    right = read.ec == std::errc();
    if (right && read.ptr != end && *read.ptr == ',') {
      read = std::from_chars(read.ptr + 1, end, path.noise_ns);
      right = read.ec == std::errc() && path.noise_ns > 0;
    }
    right = right && read.ptr == end;
  }
  if (!right)
    throw BpfInputError("\"" + text + "\": allowed is PREFIX=NANOSECONDS[,NOISE_NANOSECONDS]");
  if (path.base_rtt_ns == 0 && path.noise_ns == 0)
    throw BpfInputError(fmt::format("{}: 0 ns, allowed is {} to {}; --delete takes a prefix away",
                                    text, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS));
  return path;
}

std::string bpf_path_text(const BpfPath& path) {
  return fmt::format("{}={}{}", path.prefix, path.base_rtt_ns,
                     path.noise_ns > 0 ? fmt::format(",{}", path.noise_ns) : "");
}

std::vector<BpfPath> bpf_paths(const BpfAlgorithm& algorithm) {
  const Fd map = map_of(algorithm, DELAYCC_BPF_PATHS);
  std::vector<std::pair<dcc_path_key, dcc_path_values>> found;
  dcc_path_key key = {}, next = {};
  for (const void* before = nullptr; bpf_map_get_next_key(map.get(), before, &next) == 0;
       before = &key) {
    key = next;
    dcc_path_values values = {};
    if (bpf_map_lookup_elem(map.get(), &key, &values) == 0) found.emplace_back(key, values);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    const int order = memcmp(a.first.address, b.first.address, sizeof(a.first.address));
    return order != 0 ? order < 0 : a.first.bits < b.first.bits;
  });
  std::vector<BpfPath> paths;
  paths.reserve(found.size());
  for (const auto& [each, values] : found)
    paths.push_back({prefix_of(each.address, each.bits - DELAYCC_BPF_PATH_FAMILY_BITS).text(),
                     values.base_rtt_ns, values.noise_ns});
  return paths;
}

void set_bpf_paths(const BpfAlgorithm& algorithm, const std::vector<BpfPath>& paths) {
  std::vector<dcc_path_key> keys;
  for (const BpfPath& path : paths) {
    keys.push_back(path_key(path.prefix));
    if (path.base_rtt_ns != 0 &&
        (path.base_rtt_ns < DCC_PATH_RTT_MIN_NS || path.base_rtt_ns > DCC_PATH_RTT_MAX_NS))
      throw BpfInputError(fmt::format("{}: {} ns, allowed is {} to {}", path.prefix,
                                      path.base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS));
    if (path.noise_ns > DCC_PATH_RTT_MAX_NS)
      throw BpfInputError(fmt::format("{}: {} ns of noise, allowed is 1 to {}", path.prefix,
                                      path.noise_ns, DCC_PATH_RTT_MAX_NS));
  }
  const Fd map = map_of(algorithm, DELAYCC_BPF_PATHS);
  for (size_t i = 0; i < keys.size(); i++) {
    const dcc_path_values values = {paths[i].base_rtt_ns, paths[i].noise_ns};
    if (values.base_rtt_ns == 0 && values.noise_ns == 0) {
      if (bpf_map_delete_elem(map.get(), &keys[i]) < 0 && errno != ENOENT)
        refuse("writing the paths", errno);
    } else if (bpf_map_update_elem(map.get(), &keys[i], &values, BPF_ANY) < 0) {
      if (errno == ENOSPC)
        throw BpfInputError(fmt::format("there is room for {} prefixes", DELAYCC_BPF_PATHS_MAX));
      refuse("writing the paths", errno);
    }
  }
  // Open sockets look again.
  set_bpf(algorithm, {});
}

// ---- the path memory --------------------------------------------------------------

std::vector<BpfMemory> bpf_memory(const BpfAlgorithm& algorithm) {
  const Fd map = map_of(algorithm, DELAYCC_BPF_MEMORY);
  const auto now_ns = static_cast<uint64_t>(monotonic_ns());
  std::vector<BpfMemory> found;
  dcc_memory_key key = {}, next = {};
  // The programs go on: an entry that goes is left out, and one that moves the end of the walk.
  for (const void* before = nullptr;
       found.size() < DELAYCC_BPF_MEMORY_MAX && bpf_map_get_next_key(map.get(), before, &next) == 0;
       before = &key) {
    key = next;
    dcc_cache_entry entry = {};
    if (bpf_map_lookup_elem(map.get(), &key, &entry) < 0) continue;
    found.push_back({key.netns, prefix_of(key.address, 128).address_text(),
                     entry.metrics.rtt_min_ns, entry.metrics.noise_ns, key.wire_bytes,
                     dcc_cache_age_ns(&entry, now_ns) / DCC_NS_PER_S});
  }
  std::sort(found.begin(), found.end(), [](const BpfMemory& a, const BpfMemory& b) {
    return std::tie(a.age_s, a.netns, a.address, a.wire_bytes) <
           std::tie(b.age_s, b.netns, b.address, b.wire_bytes);
  });
  return found;
}

void forget_bpf_memory(const BpfAlgorithm& algorithm) {
  const Fd map = map_of(algorithm, DELAYCC_BPF_MEMORY);
  // As fast as the programs may note new ones.
  constexpr size_t kMost = size_t{2} * DELAYCC_BPF_MEMORY_MAX;
  dcc_memory_key key = {};
  for (size_t n = 0; n < kMost && bpf_map_get_next_key(map.get(), nullptr, &key) == 0; n++)
    if (bpf_map_delete_elem(map.get(), &key) < 0 && errno != ENOENT)
      refuse("forgetting the path memory", errno);
}

// ---- flows ---------------------------------------------------------------------

namespace {

// The network namespaces that a process is in, or that have a name, but for this thread's own.
std::vector<Fd> other_namespaces() {
  std::vector<Fd> found;
  std::set<ino_t> known = {own_netns()};
  const auto take = [&](const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) < 0 || known.count(status.st_ino)) return;
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd || ioctl(fd.get(), NS_GET_NSTYPE) != CLONE_NEWNET) return;
    known.insert(status.st_ino);
    found.push_back(std::move(fd));
  };
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored))
    take((entry.path() / "ns" / "net").string());
  for (const auto& entry : fs::directory_iterator("/run/netns", ignored))
    take(entry.path().string());
  return found;
}

// Brings the thread back to its network namespace.
class Return {
 public:
  ~Return() { setns(own_.get(), CLONE_NEWNET); }

 private:
  Fd own_ = open_file("/proc/thread-self/ns/net", O_RDONLY);
};

// Those of the namespace that this thread is in, as dcc_flows writes them.
void append_flows(const bpf_link* link, std::string* bytes) {
  const Fd iterator(bpf_iter_create(bpf_link__fd(link)));
  if (!iterator) refuse("listing the flows", errno);
  char buffer[64 * sizeof(dcc_flow)];
  for (ssize_t n; (n = read(iterator.get(), buffer, sizeof(buffer))) != 0;) {
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) refuse("listing the flows", errno);
    bytes->append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

std::vector<dcc_flow> bpf_flows(const BpfAlgorithm& algorithm, const std::string& file) {
  const Object object = open_object(file);
  const Constants constants = constants_of(object.get(), file);
  const Fd sockets = map_of(algorithm, kSockets);
  bpf_map* map = map_ending(object.get(), kSockets);
  const std::string other =
      fmt::format("{}: is another build than {} in the kernel ({}): unload it and load it again",
                  file, algorithm.kernel, algorithm.version);
  if (constants.version != algorithm.version ||
      bpf_map__value_size(map) != map_info(sockets.get()).value_size)
    throw Error(other);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get())
      bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), "dcc_flows"));
  bpf_map* each = nullptr;
  bpf_object__for_each_map(each, object.get()) {
    const std::string name = bpf_map__name(each);
    if (each != map && name.rfind("dcc_", 0) == 0) bpf_map__set_autocreate(each, false);
  }
  if (bpf_map__reuse_fd(map, sockets.get()) < 0) throw Error(other);
  load_object(object.get(), algorithm.kernel + "'s list of flows");

  program = bpf_object__find_program_by_name(object.get(), "dcc_flows");
  const std::unique_ptr<bpf_link, int (*)(bpf_link*)> link(
      bpf_program__attach_iter(program, nullptr), bpf_link__destroy);
  if (!link) refuse("listing the flows", errno);
  std::string bytes;
  append_flows(link.get(), &bytes);
  const Return back;
  // One that this process may not enter is left out.
  for (const Fd& other : other_namespaces())
    if (setns(other.get(), CLONE_NEWNET) == 0) append_flows(link.get(), &bytes);
  std::vector<dcc_flow> flows(bytes.size() / sizeof(dcc_flow));
  memcpy(flows.data(), bytes.data(), flows.size() * sizeof(dcc_flow));
  return flows;
}

// ---- cgroups -------------------------------------------------------------------

namespace {

// Calls take(map's descriptor, its types) for the map of a program whose name ends so.
template <class Take>
void with_map(const Fd& program, const char* end, const Take& take) {
  std::vector<uint32_t> maps;
  program_info(program.get(), &maps);
  for (const uint32_t id : maps) {
    const Fd map = open_map(id);
    const bpf_map_info info = map_info(map.get());
    if (!ends_with(info.name, end)) continue;
    if (const Btf types{btf__load_from_kernel_by_id(info.btf_id)}) take(map.get(), types.get());
  }
}

std::map<std::string, uint64_t> program_counters(const Fd& program) {
  std::map<std::string, uint64_t> counters;
  with_map(program, ".bss", [&](int map, const btf* types) { counters = counters_of(map, types); });
  return counters;
}

constexpr char kCgroupMap[] = "dcc_cgroup";
struct Attachment {
  const char* program;
  bpf_attach_type type;
};
constexpr Attachment kAttachments[] = {{"dcc_sock_create", BPF_CGROUP_INET_SOCK_CREATE},
                                       {"dcc_sock_ops", BPF_CGROUP_SOCK_OPS}};
constexpr Attachment kCount = {"dcc_count", BPF_CGROUP_SOCK_OPS};
constexpr uint32_t kActiveMinUs = 100, kActiveMaxUs = 10'000'000;  // as the module's sysctl

Fd open_cgroup(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    throw BpfInputError(fmt::format(
        "{}: {}: a folder of the cgroup file system (version 2) is needed", path, strerror(errno)));
  return Fd(fd);
}

// Ours among the programs of this kind that are attached to the cgroup.
std::vector<Fd> attached(int cgroup, const Attachment& kind) {
  std::vector<Fd> found;
  uint32_t ids[64], n = std::size(ids), flags = 0;
  if (bpf_prog_query(cgroup, kind.type, 0, &flags, ids, &n) < 0) {
    if (errno == EPERM) refuse("looking for a cgroup's programs", errno);
    return found;  // no cgroup of version 2
  }
  for (uint32_t i = 0; i < n; i++) {
    Fd program(bpf_prog_get_fd_by_id(ids[i]));
    if (program && !strcmp(program_info(program.get(), nullptr).name, kind.program))
      found.push_back(std::move(program));
  }
  return found;
}

bool detach(int cgroup, const Attachment& kind) {
  bool any = false;
  for (const Fd& program : attached(cgroup, kind)) {
    if (bpf_prog_detach2(program.get(), cgroup, kind.type) < 0)
      refuse("taking a program from a cgroup", errno);
    any = true;
  }
  return any;
}

bool detach_all(int cgroup) {
  bool any = false;
  for (const Attachment& kind : kAttachments) any = detach(cgroup, kind) || any;
  return any;
}

// Throws what attach_bpf_cgroup() throws.
void attach(const bpf_object* object, const Attachment& kind, int folder,
            const std::string& cgroup) {
  const bpf_program* program = bpf_object__find_program_by_name(object, kind.program);
  if (bpf_prog_attach(bpf_program__fd(program), folder, kind.type, BPF_F_ALLOW_MULTI) == 0) return;
  const int error = errno;
  if (error == EBADF || error == EINVAL)
    throw BpfInputError(cgroup + ": is no folder of the cgroup file system of version 2");
  refuse("attaching to " + cgroup, error);
}

// What the programs of a count have done: "counts flows: 10 ACKs written, 20 read".
std::string count_text(const Fd& program) {
  std::map<std::string, uint64_t> counts = program_counters(program);
  return fmt::format("counts flows: {} ACKs written, {} read", counts["written"], counts["read"]);
}

}  // namespace

void attach_bpf_cgroup(const std::string& file, const std::string& cgroup,
                       const std::string& kernel_name, int priority) {
  const Fd folder = open_cgroup(cgroup);
  if (kernel_name.size() >= sizeof(dcc_cgroup::algorithm))
    throw BpfInputError(kernel_name + ": is too long for an algorithm's name");
  if (!kernel_name.empty() && !is_registered(kernel_name))
    throw BpfInputError(kernel_name + ": this kernel has no such algorithm now");
  const Object object = open_object(file);
  load_object(object.get(), "the cgroup's programs");
  dcc_cgroup wanted = {};
  memcpy(wanted.algorithm, kernel_name.data(), kernel_name.size());
  wanted.has_priority = priority >= 0;
  wanted.priority = priority >= 0 ? static_cast<uint32_t>(priority) : 0;
  if (bpf_map_update_elem(bpf_map__fd(map_ending(object.get(), kCgroupMap)), &kKey, &wanted,
                          BPF_ANY) < 0)
    refuse("writing the cgroup's settings", errno);
  detach_all(folder.get());
  try {
    for (const Attachment& kind : kAttachments) attach(object.get(), kind, folder.get(), cgroup);
  } catch (...) {
    detach_all(folder.get());
    throw;
  }
}

bool detach_bpf_cgroup(const std::string& cgroup) { return detach_all(open_cgroup(cgroup).get()); }

void attach_bpf_count(const std::string& file, const std::string& cgroup, uint32_t active_us) {
  if (active_us < kActiveMinUs || active_us > kActiveMaxUs)
    throw BpfInputError(fmt::format("--active-us is {}, allowed is {} to {}", active_us,
                                    kActiveMinUs, kActiveMaxUs));
  const Fd folder = open_cgroup(cgroup);
  const Object object = open_object(file);
  set_constant(object.get(), file, "dcc_active_us", active_us);
  share_map(object.get(), DELAYCC_BPF_REPORTS);
  load_object(object.get(), "the count of flows");
  detach(folder.get(), kCount);
  attach(object.get(), kCount, folder.get(), cgroup);
}

bool detach_bpf_count(const std::string& cgroup) {
  return detach(open_cgroup(cgroup).get(), kCount);
}

std::map<std::string, std::string> bpf_cgroups() {
  std::map<std::string, std::string> found;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string device, where, kind, rest;
       mounts >> device >> where >> kind && std::getline(mounts, rest);) {
    if (kind != "cgroup2") continue;
    std::vector<fs::path> folders = {where};
    std::error_code ignored;
    for (fs::recursive_directory_iterator
             at(where, fs::directory_options::skip_permission_denied, ignored),
         end;
         at != end; at.increment(ignored))
      if (at->is_directory(ignored)) folders.push_back(at->path());
    for (const fs::path& folder : folders) {
      const Fd opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!opened) continue;
      for (const Fd& program : attached(opened.get(), kAttachments[1])) {
        with_map(program, kCgroupMap, [&](int map, const btf*) {
          const std::vector<char> value = first_value(map);
          dcc_cgroup wanted;
          memcpy(&wanted, value.data(), sizeof(wanted));
          std::string text = wanted.algorithm[0]
                                 ? std::string(wanted.algorithm, strnlen(wanted.algorithm, 16))
                                 : "its own";
          if (wanted.has_priority) text += fmt::format(", priority {}", wanted.priority);
          found[folder] = text;
        });
      }
      for (const Fd& program : attached(opened.get(), kCount)) {
        std::string& text = found[folder];
        text += (text.empty() ? "" : "; ") + count_text(program);
      }
    }
  }
  return found;
}

// ---- stamps of devices -----------------------------------------------------------

namespace {

// Where the program is among a device's: first, as others may end the row.
constexpr uint32_t kStampsHandle = 1, kStampsPriority = 1;

// Our place at the device's ingress.
struct StampsHook {
  bpf_tc_hook hook = {};
  bpf_tc_opts place = {};

  explicit StampsHook(unsigned ifindex) {
    hook.sz = sizeof(hook);
    hook.ifindex = static_cast<int>(ifindex);
    hook.attach_point = BPF_TC_INGRESS;
    place.sz = sizeof(place);
    place.handle = kStampsHandle;
    place.priority = kStampsPriority;
  }
  // The program that is there, if it is ours.
  Fd program() const {
    bpf_tc_opts found = place;
    if (bpf_tc_query(&hook, &found) < 0) return Fd();
    Fd program(bpf_prog_get_fd_by_id(found.prog_id));
    if (program && strcmp(program_info(program.get(), nullptr).name, kStampsProgram) != 0)
      return Fd();
    return program;
  }
};

unsigned index_of(const std::string& device) {
  const unsigned ifindex = if_nametoindex(device.c_str());
  if (ifindex == 0)
    throw BpfInputError(device + ": there is no such network device in this namespace");
  return ifindex;
}

// Whether a device has filters at one of the places of its qdisc clsact.
bool has_filters(int ifindex, uint32_t place) {
  const std::unique_ptr<mnl_socket, int (*)(mnl_socket*)> socket(
      mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC), &mnl_socket_close);
  if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0)
    throw system_error("socket", "NETLINK_ROUTE");
  std::vector<char> buffer(64 << 10);
  nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = RTM_GETTFILTER;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  auto* info = static_cast<tcmsg*>(mnl_nlmsg_put_extra_header(request, sizeof(tcmsg)));
  info->tcm_ifindex = ifindex;
  info->tcm_parent = TC_H_MAKE(TC_H_CLSACT, place);
  if (mnl_socket_sendto(socket.get(), request, request->nlmsg_len) < 0)
    throw system_error("sendto", "RTM_GETTFILTER");
  bool found = false;
  for (int more = MNL_CB_OK; more > MNL_CB_STOP;) {
    const ssize_t n = mnl_socket_recvfrom(socket.get(), buffer.data(), buffer.size());
    if (n < 0) throw system_error("recvfrom", "RTM_GETTFILTER");
    more = mnl_cb_run(
        buffer.data(), static_cast<size_t>(n), 0, mnl_socket_get_portid(socket.get()),
        [](const nlmsghdr*, void* to) {
          *static_cast<bool*>(to) = true;
          return MNL_CB_OK;
        },
        &found);
    if (more < 0) throw system_error("netlink", "RTM_GETTFILTER");
  }
  return found;
}

// Removes the qdisc clsact that was made for us, unless others have filters there by now.
void remove_clsact(bpf_tc_hook hook) {
  if (has_filters(hook.ifindex, TC_H_MIN_INGRESS) || has_filters(hook.ifindex, TC_H_MIN_EGRESS))
    return;
  hook.attach_point = static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS);
  if (const int failed = -bpf_tc_hook_destroy(&hook); failed != 0 && failed != ENOENT)
    refuse("removing the qdisc clsact", failed);
}

// Sockets of all loaded algorithms look for arrivals, or do not.
void tell_algorithms(bool stamped) {
  for (const BpfAlgorithm& algorithm : loaded_bpf())
    put_arrivals(map_of(algorithm, DELAYCC_BPF_SETTINGS).get(), stamped);
}

}  // namespace

void attach_bpf_stamps(const std::string& file, const std::string& device) {
  listen_to_libbpf();
  StampsHook at(index_of(device));
  const StampsLock lock(device);
  if (at.program()) throw BpfInputError(device + ": its stamps are used already");
  // What a driver does not tell was off.
  const StampConfig before = read_stamp_config(device).value_or(StampConfig{});
  StampConfig wanted = before;
  wanted.rx_filter = HWTSTAMP_FILTER_ALL;
  const int error = write_stamp_config(device, &wanted);
  if (error == EPERM) refuse(device + "'s stamps", error);
  const auto restore = [&] {
    StampConfig config = before;
    write_stamp_config(device, &config);
  };
  if (error != 0 || wanted.rx_filter != HWTSTAMP_FILTER_ALL) {
    if (error == 0) restore();
    throw BpfUnsupported(fmt::format(
        "{}: does not stamp all packets that it receives ({}): RTTs stay by TCP's clock", device,
        error == 0 ? "it chose another filter" : strerror(error)));
  }
  int made_clsact = 0;
  try {
    if (const int failed = -bpf_tc_hook_create(&at.hook); failed == 0)
      made_clsact = 1;
    else if (failed != EEXIST)
      refuse(device + "'s ingress (qdisc clsact)", failed);
    const Object object = open_object(file);
    set_constant(object.get(), file, "dcc_before_tx_type", before.tx_type);
    set_constant(object.get(), file, "dcc_before_rx_filter", before.rx_filter);
    set_constant(object.get(), file, "dcc_made_clsact", made_clsact);
    share_map(object.get(), DELAYCC_BPF_ARRIVALS);
    load_object(object.get(), "the reader of stamps");
    at.place.prog_fd =
        bpf_program__fd(bpf_object__find_program_by_name(object.get(), kStampsProgram));
    if (const int failed = -bpf_tc_attach(&at.hook, &at.place); failed == EEXIST)
      throw BpfInputError(fmt::format(
          "{}: another program has the first place at its ingress (tc filter show dev {} ingress)",
          device, device));
    else if (failed != 0)
      refuse("attaching to " + device, failed);
  } catch (...) {
    restore();
    if (made_clsact) remove_clsact(at.hook);
    throw;
  }
  tell_algorithms(true);
}

bool detach_bpf_stamps(const std::string& device) {
  listen_to_libbpf();
  StampsHook at(index_of(device));
  const StampsLock lock(device);
  const Fd program = at.program();
  if (!program) return false;
  StampConfig before;
  int made_clsact = 0;
  with_map(program, ".rodata", [&](int map, const btf* types) {
    const std::vector<char> values = first_value(map);
    const auto places = variables(types, ".rodata");
    const auto read = [&](const char* name, int* value) {
      if (const auto found = places.find(name); found != places.end())
        memcpy(value, values.data() + found->second.offset, sizeof(*value));
    };
    read("dcc_before_tx_type", &before.tx_type);
    read("dcc_before_rx_filter", &before.rx_filter);
    read("dcc_made_clsact", &made_clsact);
  });
  if (const int failed = -bpf_tc_detach(&at.hook, &at.place); failed != 0)
    refuse("taking the program from " + device, failed);
  std::set<uint32_t> others = stamps_programs();
  others.erase(program_info(program.get(), nullptr).id);
  if (others.empty()) tell_algorithms(false);
  StampConfig now = before;
  const int error = write_stamp_config(device, &now);
  if (error != 0 || !(now == before))
    throw Error(fmt::format("{}: still stamps what it receives: {}", device,
                            error == 0 ? "it chose another setting" : strerror(error)));
  if (made_clsact) remove_clsact(at.hook);
  return true;
}

std::map<std::string, std::map<std::string, uint64_t>> bpf_stamps() {
  std::map<std::string, std::map<std::string, uint64_t>> found;
  listen_to_libbpf();
  const std::unique_ptr<struct if_nameindex, void (*)(struct if_nameindex*)> devices(
      if_nameindex(), if_freenameindex);
  for (const struct if_nameindex* device = devices.get();
       device != nullptr && device->if_index != 0; device++)
    if (const Fd program = StampsHook(device->if_index).program())
      found[device->if_name] = program_counters(program);
  return found;
}

}  // namespace delaycc
