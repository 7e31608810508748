// SPDX-License-Identifier: Apache-2.0
// Every metric that there is, and every key of [measure] that belongs to one.
#ifndef DELAYCC_HARNESS_METRICS_CATALOGUE_H_
#define DELAYCC_HARNESS_METRICS_CATALOGUE_H_

#include <string>
#include <vector>

#include "metrics/family.h"

namespace delaycc {

// In the order of a table's rows.
const std::vector<const MetricFamily*>& metric_families();
const std::vector<MetricInfo>& all_metrics();
const std::vector<Parameter>& all_parameters();

// Of "name" or "set.name"; nullptr for an unknown name.
const MetricInfo* find_metric(const std::string& name);

// Of "name" or "set.name", for the report; the name itself for an unknown one.
std::string metric_label(const std::string& name);
// "lower", "higher" or "neither".
const char* better_name(Better better);

// The tables of docs/research/metrics.md: metrics, and keys of [measure]. Markdown, ends with a
// newline.
std::string metrics_table();
std::string parameters_table();

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_METRICS_CATALOGUE_H_
