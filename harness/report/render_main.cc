// SPDX-License-Identifier: Apache-2.0
// delaycc-report-render DATA.json OUT.html: the report page from a file of report data (report.h).
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "report/report.h"

namespace {

int run(const std::string& in_path, const std::string& out_path) {
  std::ifstream in(in_path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "%s: cannot be read\n", in_path.c_str());
    return 1;
  }
  nlohmann::json data;
  try {
    data = nlohmann::json::parse(in);
  } catch (const nlohmann::json::exception& e) {
    std::fprintf(stderr, "%s: not JSON: %s\n", in_path.c_str(), e.what());
    return 1;
  }
  std::string page;
  try {
    page = delaycc::render_report(data);
  } catch (const delaycc::ReportError& e) {
    std::fprintf(stderr, "%s: %s\n", in_path.c_str(), e.what());
    return 1;
  }
  std::ofstream out(out_path, std::ios::binary);
  out << page;
  out.close();
  if (!out) {
    std::fprintf(stderr, "%s: cannot be written\n", out_path.c_str());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: delaycc-report-render DATA.json OUT.html\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "delaycc-report-render: %s\n", e.what());
    return 1;
  }
}
