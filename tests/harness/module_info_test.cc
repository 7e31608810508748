// SPDX-License-Identifier: Apache-2.0
#include "base/module_info.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/posix.h"
#include "base/temporary_directory.h"

namespace delaycc {
namespace {

using namespace std::string_literals;

// As in a module: among other bytes, each string ended by a zero.
std::string image(const std::string& strings) { return "\x7f" + "ELF\0"s + strings + "\0rest"s; }

TEST(ModuleInfo, ReadsEveryValueOfAKeyAndNothingElse) {
  const std::string module = image("alias=tcp_one\0depends=a,b\0alias=tcp_two\0noalias=three\0"s);
  EXPECT_EQ(module_info(module, "alias"), (std::vector<std::string>{"tcp_one", "tcp_two"}));
  EXPECT_EQ(module_info(module, "depends"), (std::vector<std::string>{"a,b"}));
  EXPECT_TRUE(module_info(module, "license").empty());
  EXPECT_TRUE(module_info("", "alias").empty());
}

TEST(ModuleInfo, FindsAModuleByItsNameOrByAnAlias) {
  const TemporaryDirectory directory;
  write_file(directory.path() + "/tcp_one.ko", image("alias=tcp_other\0"s));
  write_file(directory.path() + "/tcp_two.ko", image("alias=tcp_three\0alias=tcp_four\0"s));
  write_file(directory.path() + "/tcp_five.txt", image("alias=tcp_six\0"s));
  EXPECT_EQ(find_module(directory.path(), "tcp_one"), "tcp_one");
  EXPECT_EQ(find_module(directory.path(), "tcp_four"), "tcp_two");
  EXPECT_EQ(find_module(directory.path(), "tcp_other"), "tcp_one");
  EXPECT_EQ(find_module(directory.path(), "tcp_six"), "");
  EXPECT_EQ(find_module(directory.path() + "/none", "tcp_one"), "");
}

}  // namespace
}  // namespace delaycc
