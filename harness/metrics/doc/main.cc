// SPDX-License-Identifier: Apache-2.0
// delaycc-metrics-doc [--check] FILE: writes the catalogue's tables into FILE
// (docs/research/metrics.md), each between the lines "<!-- NAME: from harness/metrics -->" and
// "<!-- end -->". With --check it leaves FILE alone, and its exit status is 1 when a table is
// stale.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/posix.h"
#include "metrics/catalogue.h"

namespace {

using delaycc::Error;

std::string with_tables(std::string text, const std::string& path) {
  const std::pair<const char*, std::string> tables[] = {
      {"metrics", delaycc::metrics_table()}, {"parameters", delaycc::parameters_table()}};
  for (const auto& [name, table] : tables) {
    const std::string first = fmt::format("<!-- {}: from harness/metrics -->\n", name);
    const size_t begin = text.find(first);
    const size_t end = begin == std::string::npos ? begin : text.find("\n<!-- end -->", begin);
    if (end == std::string::npos)
      throw Error(fmt::format("{}: no line \"{}\", or no \"<!-- end -->\" behind it", path,
                              first.substr(0, first.size() - 1)));
    const size_t from = begin + first.size();
    text.replace(from, end - from, "\n" + table);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string(argv[1]) == "--check";
  if (argc != 2 && !check) {
    fmt::print(stderr, "usage: delaycc-metrics-doc [--check] FILE\n");
    return 2;
  }
  const std::string path = argv[argc - 1];
  try {
    const std::string text = delaycc::read_file(path);
    const std::string wanted = with_tables(text, path);
    if (wanted == text) return 0;
    if (check) {
      fmt::print(stderr, "{}: its tables are stale: run \"delaycc-metrics-doc {}\"\n", path, path);
      return 1;
    }
    delaycc::write_file_atomically(path, wanted);
  } catch (const Error& e) {
    fmt::print(stderr, "delaycc-metrics-doc: {}\n", e.what());
    return 1;
  }
  return 0;
}
