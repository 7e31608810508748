// SPDX-License-Identifier: Apache-2.0
#include "runner/host/ptp.h"

#include <fcntl.h>
#include <linux/ptp_clock.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <sstream>
#include <vector>

#include "base/child.h"
#include "base/posix.h"
#include "base/temporary_directory.h"
#include "runner/host/clock.h"
#include "stamps/nic.h"

namespace delaycc {
namespace {

constexpr int kAnswerMs = 5'000;
constexpr int kAnswerCpuS = 5;
constexpr int kAttempts = 5;  // pmc waits for a tenth of a second; a busy host takes longer
constexpr size_t kClockLooks = 5;
constexpr int64_t kSecondNs = 1'000'000'000;

// What ptp4l says of one thing: "portState SLAVE" and so on.
struct Answer {
  std::string what;  // PORT_PROPERTIES_NP
  std::map<std::string, std::string> values;
};

std::vector<Answer> parse_answers(const std::string& text) {
  static const std::string kAnswers = " RESPONSE MANAGEMENT ";
  std::vector<Answer> answers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(kAnswers);
    std::istringstream words(at == std::string::npos ? line : line.substr(at + kAnswers.size()));
    std::string name, value;
    words >> name >> value;
    if (at != std::string::npos)
      answers.push_back({name, {}});
    else if (name == "sending:")
      continue;
    else if (!answers.empty())
      answers.back().values[name] = value;
  }
  return answers;
}

const Answer* find_answer(const std::vector<Answer>& answers, const std::string& what) {
  const auto found = std::find_if(answers.begin(), answers.end(),
                                  [&](const Answer& answer) { return answer.what == what; });
  return found == answers.end() ? nullptr : &*found;
}

std::string value_of(const Answer& answer, const std::string& name) {
  const auto found = answer.values.find(name);
  if (found == answer.values.end()) throw Error("ptp4l says no " + name + " in " + answer.what);
  return found->second;
}

// An ssh login that is no login shell may lack the folders of system programs.
std::string pmc_path() {
  const char* path = getenv("PATH");
  std::istringstream folders(std::string(path ? path : "") + ":/usr/local/sbin:/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && access((folder + "/pmc").c_str(), X_OK) == 0) return folder + "/pmc";
  throw Error("pmc is not installed, which asks ptp4l: apt-get install linuxptp");
}

std::vector<Answer> ask(const std::string& socket) {
  if (access(socket.c_str(), F_OK) < 0)
    throw Error((errno == EACCES ? "this user may not ask ptp4l: " : "no ptp4l is there: ") +
                std::string(system_error("socket", socket).what()));
  const std::string pmc = pmc_path();
  const TemporaryDirectory folder;
  const std::string output = folder.path() + "/pmc.txt";
  for (int i = 0; i < kAttempts; i++) {
    Child child({pmc, "-u", "-b", "0", "-s", socket, "GET PARENT_DATA_SET", "GET CURRENT_DATA_SET",
                 "GET PORT_PROPERTIES_NP"},
                {}, output, kAnswerCpuS);
    if (!child.wait_for(kAnswerMs)) continue;
    std::vector<Answer> answers = parse_answers(read_file(output));
    if (find_answer(answers, "PARENT_DATA_SET") && find_answer(answers, "CURRENT_DATA_SET") &&
        find_answer(answers, "PORT_PROPERTIES_NP"))
      return answers;
  }
  throw Error("the ptp4l at " + socket + " does not answer");
}

// The port that follows a master, or one of a grandmaster.
const Answer& steady_port(const std::vector<Answer>& answers, bool grandmaster) {
  const char* const wanted = grandmaster ? "MASTER" : "SLAVE";
  std::string others;
  for (const Answer& answer : answers) {
    if (answer.what != "PORT_PROPERTIES_NP") continue;
    const std::string state = value_of(answer, "portState");
    if (state == wanted) return answer;
    others += (others.empty() ? "" : ", ") + value_of(answer, "interface") + " is " + state;
  }
  throw Error("no port of ptp4l is " + std::string(wanted) + ": " + others);
}

// How far the system's clock is from that of the device, whole seconds left out (a NIC's clock may
// be TAI), and by how much that may be wrong.
int64_t device_clock_error_ns(const std::string& device) {
  const int index = read_stamp_claims(device).phc_index;
  if (index < 0)
    throw Error("ptp4l says that " + device + " has a clock of its own, and its driver names none");
  const Fd clock = open_file("/dev/ptp" + std::to_string(index), O_RDONLY);
  ptp_sys_offset looks = {};
  looks.n_samples = kClockLooks;
  if (ioctl(clock.get(), PTP_SYS_OFFSET, &looks) < 0)
    throw system_error("PTP_SYS_OFFSET", "/dev/ptp" + std::to_string(index));
  const auto ns = [](const ptp_clock_time& time) { return time.sec * kSecondNs + time.nsec; };
  int64_t least_ns = INT64_MAX, apart_ns = 0;
  for (size_t i = 0; i < kClockLooks; i++) {
    const int64_t before = ns(looks.ts[2 * i]), there = ns(looks.ts[2 * i + 1]),
                  after = ns(looks.ts[2 * i + 2]);
    if (after - before >= least_ns) continue;
    least_ns = after - before;
    apart_ns = there - before - least_ns / 2;
  }
  const int64_t rest = ((apart_ns % kSecondNs) + kSecondNs) % kSecondNs;
  return std::min(rest, kSecondNs - rest) + least_ns / 2 + 1;
}

}  // namespace

PtpState find_ptp(const PtpOrder& order) {
  PtpState state;
  state.real_ns = realtime_offset_ns();
  try {
    const std::vector<Answer> answers = ask(order.socket);
    const Answer& current = *find_answer(answers, "CURRENT_DATA_SET");
    state.grandmaster = value_of(*find_answer(answers, "PARENT_DATA_SET"), "grandmasterIdentity");
    const bool is_grandmaster = value_of(current, "stepsRemoved") == "0";
    const Answer& port = steady_port(answers, is_grandmaster);
    const double offset_ns = strtod(value_of(current, "offsetFromMaster").c_str(), nullptr);
    state.error_ns = static_cast<int64_t>(std::abs(offset_ns)) + 1;
    // With the software's stamps ptp4l steers the system's clock itself.
    if (value_of(port, "timestamping") != "SOFTWARE")
      state.error_ns += device_clock_error_ns(value_of(port, "interface"));
  } catch (const Error& e) {
    state.trouble = e.what();
  }
  return state;
}

}  // namespace delaycc
