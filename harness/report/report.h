// SPDX-License-Identifier: Apache-2.0
// The report page: one self-contained HTML file out of the results of one scenario.
//
// Input is a JSON object. `summary.json` (docs/develop/architecture.md, "Results") is a valid input
// as it stands; every other key adds to the page. "number" is a finite JSON number, "number?" may
// also be null (no value there; a curve has a gap). Keys not listed here are an error, so that a
// misspelt one cannot go unnoticed. Required: "scenario", "algorithms".
//
// clang-format off
//   "scenario"     string, not empty: the scenario's name, "oscar-fig07"
//   "algorithms"   object, at least one member: the main case
//                    {"oscar": {"recover_us": {"mean": number, "ci95": number?, "n": integer >= 1,
//                                              "unit": string, "min": number, "max": number,
//                                              "missed": integer 0..n,
//                                              "difference": {"from": string, "mean": number,
//                                                             "ci95": number, "n": integer >= 2}}}}
//                  ci95: half-width of the 95 % confidence interval, in the mean's unit, >= 0;
//                  absent or null when n = 1. A metric that does not apply is absent. "unit" is
//                  absent or "" for a pure number. min and max over the trials and "missed" are
//                  optional: in so many trials what was waited for did not happen, their value
//                  is a lower bound, and so is the mean; such a mean is marked and never best.
//                  "difference": over n pairs of trials that met the same flows, this algorithm's
//                  value less that of "from", the one with the best mean. Who is ahead is decided by
//                  it, and without it by the two intervals.
//   "title"        string: the page's title; absent: the scenario's name
//   "claim"        string: one sentence, what the experiment is to show
//   "subject"      string: the algorithm the claim speaks of, a member of "algorithms"; drawn
//                  first and strongest
//   "main_metric"  string: the metric of the headline and the interval chart; absent: the first
//                  that an expectation names, else the first of "metrics" that an algorithm has
//   "order"        array of strings: algorithm names in the page's order; names left out follow
//   "algorithm_notes"
//                  object name -> string: what the reader must know of an algorithm,
//                    {"dctcp": "ECN marking at 800 KB"}
//   "metrics"      array of {"key": string, "label": string, "better": "lower" | "higher" | "neither"},
//                  "key" required, each once: metrics in the page's order; those left out follow by
//                  name. The page calls a metric by its label (absent: the key), and marks its best
//                  value by "better" (absent: "neither", which marks none)
//   "kernel", "build"
//                  string
//   "repeat"       string: the command that gives these figures again
//   "seed"         integer >= 0
//   "parameters"   object name -> string, number, boolean, or array of these
//   "set"          object key -> string: what --set said
//   "settings"     object algorithm -> array of {"name": string, "source": "bench" | "scenario" |
//                  "automatic", "hosts": integer >= 1, "value": string}: settings of our modules that
//                  were in force in the first trial, on so many hosts that send flows of theirs, and
//                  who set them; "value" is absent where nobody did and the module finds it out
//   "cases"        array of {"parameters": {...}, "algorithms": {...}, "settings": {...}}, all as
//                  above, the last optional: every case of a sweep
//   "expectations" array of {"algorithm": string, "metric": string, "text": string,
//                            "met": boolean, "value": number?, "ci95": number, "unit": string,
//                            "case": parameters}
//                  "text" reads on after the metric's name ("<= 25 us"); "value" is null or absent
//                  when the metric was not measured. "case" is there for an expectation of every case
//                  of a sweep: the worst one, whose value is shown; "text" names it, too. "ci95" is
//                  there where the value's interval decided; "unit" is the value's, absent: the
//                  metric's
//   "untested"     array of strings: expectations of the whole sweep, of which only a part ran
//   "event_us"     number: time of the scenario's event on the curves' time axis
//   "event_label"  string: what happens then, "burst of 9 flows"
//   "focus_us"     [number, number]: the first view of the curves' time axis, start < end; absent:
//                  all of it
//   "references"   array of {"chart": "queue" | "rate", "label": string, "value": number}: a level
//                  line in bytes or Gbit/s ("ECN threshold", "line rate")
//   "curves"       object algorithm -> curve; each part optional:
//                    {"t_us": [number], "queue_bytes": [number?],
//                     "rates": [{"label": string, "t_us": [number], "gbps": [number?],
//                                "main": boolean}]}
//                  t_us never decreases and is as long as its values; samples that share a time
//                  make a step. "main" (absent: false) marks the flow the claim is about (the long
//                  flow), drawn strong.
//   "curves_of"    string: what the curves are of, "trial 0 of 12"; a chart says it in its caption
//   "flows"        object algorithm -> the measured flows of a workload, of all trials of the main case
//                    {"complete": integer >= 0, "incomplete": integer >= 0,
//                     "fct": {"value": [number, rising, us], "share": [number]},
//                     "slowdown": {"size_bytes": [number, rising], "count": [number],
//                                  "mean": [number?], "p50": [number?], "p99": [number?]}}
//                  "fct": completion times with the share of all flows, incomplete ones too, that
//                  took no longer. "slowdown": of so many flows of about that size; null where they
//                  are too few
//   "responses"    likewise, the responses of the workload's incasts, which are not in "flows"
//   "evaluation"   object: how far the trials of `delaycc eval` have come
//                    {"goal": string, "margin": number above 0 (of the estimate, 0.01), "converged":
//                     boolean, "text": array of strings (verdicts and remarks), "estimates": array of
//                     {"algorithm": string, "metric": string, "unit": string, "estimand": string,
//                      "value": number, "low": number?, "high": number?, "trials": integer >= 0,
//                      "converged": boolean,
//                      "history": {"trials": [integer, rising], "value", "low", "high", "forecast",
//                                  "forecast_low", "forecast_high": [number?]},
//                      "distribution": {"value": [number, not falling], "share": [number]}}}
//                  "history": the estimate after so many trials and the trials it was then thought
//                  to take in all; "distribution": values of trials with the share of all that are
//                  not above
//   "notes"        array of strings: remarks shown under the results (limits of the experiment)
// clang-format on
//
// Curves may have any length: what the page embeds is thinned to kCurvePoints points per curve by a
// minimum-maximum envelope, with half of the points spent on focus_us, so no spike is lost.
#ifndef DELAYCC_HARNESS_REPORT_REPORT_H_
#define DELAYCC_HARNESS_REPORT_REPORT_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace delaycc {

// The data does not follow the schema; what() is "report data: /json/pointer: what is wrong, what
// is allowed".
class ReportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Points of one curve in the page. A 1440 px chart cannot show more.
inline constexpr std::size_t kCurvePoints = 3000;
// Points of all curves together: above, each gets a smaller, equal share (at least 200). Keeps the
// page below 5 MB.
inline constexpr std::size_t kAllCurvePoints = 240000;

// Throws ReportError for the first thing in `data` that does not follow the schema.
void validate_report(const nlohmann::json& data);

// The page, UTF-8. Works from file:// and requests nothing; the same data gives the same bytes.
// Strings of the data are shown as text, whatever they hold; invalid UTF-8 becomes U+FFFD. Throws
// ReportError as validate_report() does.
std::string render_report(const nlohmann::json& data);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_REPORT_REPORT_H_
