// SPDX-License-Identifier: Apache-2.0
// What the subcommands have in common: lists of names, finding scenarios, the command that repeats
// a result, and output that may fail.
#ifndef DELAYCC_USER_COMMAND_LINE_H_
#define DELAYCC_USER_COMMAND_LINE_H_

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace delaycc {

// Exit codes; the manual page says what they mean.
inline constexpr int kFailed = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kNotConverged = 3;
inline constexpr int kInterrupted = 130;

// What SIGINT and SIGTERM do from now on.
void on_signals(void (*handler)(int));
// From now on SIGINT and SIGTERM set this.
extern std::atomic<bool> stop_requested;
void stop_at_signals();

// Is there a program of this name in the folders that a root shell searches?  A lab has these in
// its PATH.
bool in_path(const std::string& program);

// Takes lists apart at their commas, each as CLI11 leaves it. Throws ScenarioError for an empty
// name: "--cc oscar,,cubic".
std::vector<std::string> split_names(const std::string& option,
                                     const std::vector<std::string>& lists);

// The scenarios that come with delaycc. all_scenarios() throws Error where the folder cannot be
// read.
std::filesystem::path scenario_folder();
// The Python package for Mininet, and its examples.
std::filesystem::path mininet_folder();
// BPF objects, NAME.bpf.o; the environment's DELAYCC_BPF, if set.
std::filesystem::path bpf_folder();
std::vector<std::filesystem::path> all_scenarios();
// The file of a scenario: `name` is a path, or the name of a file in scenario_folder(). Throws
// ScenarioError for what is no readable file.
std::string find_scenario(const std::string& name);

// A word as a POSIX shell reads it back.
std::string shell_quoted(const std::string& word);

// Begins the command that gives the same figures: "build/delaycc run oscar-fig07" for a scenario
// that comes with delaycc (to be typed at the top of the source tree), and absolute paths for a
// file of the user's own (to be typed anywhere). `path` is the scenario's file.
std::string repeat_begin(const std::string& subcommand, const std::string& path);
// The same for eval.json, whose bytes do not depend on where the user's file lies: its name alone,
// to be typed in its folder.
std::string repeat_begin_anywhere(const std::string& subcommand, const std::string& path);
// " --set key=value" for each.
std::string repeat_overrides(const std::vector<std::string>& overrides);

// Like fmt::print(stderr, ...), but goes on where stderr cannot be written: that must not end a
// run.
template <typename... T>
void print_error(fmt::format_string<T...> format, T&&... arguments) {
  const std::string text = fmt::format(format, std::forward<T>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// Keeps files that are opened later from getting the numbers of standard streams that are closed:
// what is printed there would go into a result.
void open_standard_streams();

// What is wrong with all that was written to standard output so far; empty if nothing is.
std::string output_trouble();

}  // namespace delaycc

#endif  // DELAYCC_USER_COMMAND_LINE_H_
