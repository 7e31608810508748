// SPDX-License-Identifier: Apache-2.0
// The files of harness/report and the chart library, built into the program (embed.cmake writes the
// definitions).
#ifndef DELAYCC_HARNESS_REPORT_REPORT_ASSETS_H_
#define DELAYCC_HARNESS_REPORT_REPORT_ASSETS_H_

#include <string_view>

namespace delaycc::report_assets {

extern const std::string_view kTemplate;  // page.html
extern const std::string_view kStyle;     // page.css
extern const std::string_view kScript;    // page/*.js, in one scope
extern const std::string_view kLibrary;   // Chart.js, minified, with its license banner

}  // namespace delaycc::report_assets

#endif  // DELAYCC_HARNESS_REPORT_REPORT_ASSETS_H_
