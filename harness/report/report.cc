// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "report/report_assets.h"

namespace delaycc {
namespace {

using nlohmann::json;

// ---- validation ----

[[noreturn]] void fail(const std::string& at, const std::string& what) {
  throw ReportError("report data: " + (at.empty() ? "/" : at) + ": " + what);
}

// One step of a JSON pointer (RFC 6901), control characters replaced so that a message stays a
// line.
std::string step(const std::string& at, std::string_view key) {
  std::string out = at + "/";
  for (char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

std::string step(const std::string& at, std::size_t index) {
  return at + "/" + std::to_string(index);
}

std::string found(const json& value) {
  return value.is_number() ? "not a finite number" : std::string("found ") + value.type_name();
}

bool is_finite(const json& value) {
  return value.is_number() && std::isfinite(value.get<double>());
}

void need_object(const json& value, const std::string& at) {
  if (!value.is_object()) fail(at, "expected an object, " + found(value));
}

void need_array(const json& value, const std::string& at) {
  if (!value.is_array()) fail(at, "expected an array, " + found(value));
}

void need_string(const json& value, const std::string& at) {
  if (!value.is_string()) fail(at, "expected a string, " + found(value));
}

void need_number(const json& value, const std::string& at) {
  if (!is_finite(value)) fail(at, "expected a finite number, " + found(value));
}

void need_number_or_null(const json& value, const std::string& at) {
  if (!value.is_null() && !is_finite(value)) {
    fail(at, "expected a finite number or null, " + found(value));
  }
}

void need_bool(const json& value, const std::string& at) {
  if (!value.is_boolean()) fail(at, "expected true or false, " + found(value));
}

void need_integer(const json& value, const std::string& at, int at_least) {
  if (!value.is_number_integer() ||
      (!value.is_number_unsigned() && value.get<json::number_integer_t>() < at_least) ||
      (value.is_number_unsigned() &&
       value.get<json::number_unsigned_t>() < static_cast<unsigned>(at_least))) {
    fail(at, "expected an integer of at least " + std::to_string(at_least));
  }
}

void need_keys(const json& object, const std::string& at,
               std::initializer_list<const char*> allowed,
               std::initializer_list<const char*> required = {}) {
  need_object(object, at);
  for (const auto& [key, value] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      std::string names;
      for (const char* name : allowed) names += (names.empty() ? "" : ", ") + std::string(name);
      fail(step(at, key), "unknown key; allowed: " + names);
    }
  }
  for (const char* key : required) {
    if (!object.contains(key)) fail(step(at, key), "missing");
  }
}

void need_strings(const json& array, const std::string& at) {
  need_array(array, at);
  for (std::size_t i = 0; i < array.size(); ++i) need_string(array[i], step(at, i));
}

void check_difference(const json& difference, const json& algorithms, const std::string& at) {
  const auto keys = {"from", "mean", "ci95", "n"};
  need_keys(difference, at, keys, keys);
  need_string(difference["from"], step(at, "from"));
  if (!algorithms.contains(difference["from"]))
    fail(step(at, "from"), "no such member of algorithms");
  need_number(difference["mean"], step(at, "mean"));
  need_number(difference["ci95"], step(at, "ci95"));
  if (difference["ci95"].get<double>() < 0)
    fail(step(at, "ci95"), "expected a half-width of at least 0");
  need_integer(difference["n"], step(at, "n"), 2);
}

void check_algorithms(const json& algorithms, const std::string& at) {
  need_object(algorithms, at);
  for (const auto& [name, metrics] : algorithms.items()) {
    const std::string at_name = step(at, name);
    need_object(metrics, at_name);
    for (const auto& [key, figure] : metrics.items()) {
      const std::string here = step(at_name, key);
      need_keys(figure, here, {"mean", "ci95", "n", "unit", "min", "max", "missed", "difference"},
                {"mean", "n"});
      need_number(figure["mean"], step(here, "mean"));
      need_integer(figure["n"], step(here, "n"), 1);
      if (figure.contains("unit")) need_string(figure["unit"], step(here, "unit"));
      for (const char* end : {"min", "max"}) {
        if (figure.contains(end)) need_number(figure[end], step(here, end));
      }
      if (figure.contains("missed")) {
        need_integer(figure["missed"], step(here, "missed"), 0);
        if (figure["missed"] > figure["n"]) fail(step(here, "missed"), "more than n");
      }
      if (figure.contains("ci95")) {
        need_number_or_null(figure["ci95"], step(here, "ci95"));
        if (figure["ci95"].is_number() && figure["ci95"].get<double>() < 0) {
          fail(step(here, "ci95"), "expected a half-width of at least 0");
        }
      }
      if (figure.contains("difference")) {
        check_difference(figure["difference"], algorithms, step(here, "difference"));
      }
    }
  }
}

void check_parameters(const json& parameters, const std::string& at) {
  need_object(parameters, at);
  for (const auto& [name, value] : parameters.items()) {
    const std::string here = step(at, name);
    const bool array = value.is_array();
    for (std::size_t i = 0; i < (array ? value.size() : 1); ++i) {
      const json& item = array ? value[i] : value;
      if (!item.is_string() && !item.is_boolean() && !is_finite(item)) {
        fail(array ? step(here, i) : here,
             "expected a string, a finite number, true or false, or an array of these");
      }
    }
  }
}

void check_settings(const json& settings, const std::string& at) {
  need_object(settings, at);
  for (const auto& [algorithm, list] : settings.items()) {
    need_array(list, step(at, algorithm));
    for (std::size_t i = 0; i < list.size(); ++i) {
      const json& setting = list[i];
      const std::string here = step(step(at, algorithm), i);
      need_keys(setting, here, {"name", "source", "hosts", "value"}, {"name", "source", "hosts"});
      need_string(setting["name"], step(here, "name"));
      if (setting.contains("value")) need_string(setting["value"], step(here, "value"));
      need_integer(setting["hosts"], step(here, "hosts"), 1);
      const json& source = setting["source"];
      if (source != "bench" && source != "scenario" && source != "automatic") {
        fail(step(here, "source"), "expected \"bench\", \"scenario\" or \"automatic\"");
      }
    }
  }
}

// Times that never decrease, as many as there are values.
void check_series(const json& object, const std::string& at, const char* values) {
  const json& times = object["t_us"];
  const std::string at_times = step(at, "t_us");
  const std::string at_values = step(at, values);
  need_array(times, at_times);
  need_array(object[values], at_values);
  double last = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < times.size(); ++i) {
    need_number(times[i], step(at_times, i));
    const double now = times[i].get<double>();
    if (now < last) fail(step(at_times, i), "time runs backwards");
    last = now;
  }
  for (std::size_t i = 0; i < object[values].size(); ++i) {
    need_number_or_null(object[values][i], step(at_values, i));
  }
  if (times.size() != object[values].size()) {
    fail(at_values, "has " + std::to_string(object[values].size()) + " values for " +
                        std::to_string(times.size()) + " times");
  }
}

void check_curves(const json& data) {
  need_object(data["curves"], "/curves");
  for (const auto& [name, curve] : data["curves"].items()) {
    const std::string at = step("/curves", name);
    if (!data["algorithms"].contains(name)) fail(at, "no such member of algorithms");
    need_keys(curve, at, {"t_us", "queue_bytes", "rates"});
    if (curve.contains("t_us") != curve.contains("queue_bytes")) {
      fail(at, "t_us and queue_bytes come together or not at all");
    }
    if (curve.contains("t_us")) check_series(curve, at, "queue_bytes");
    if (!curve.contains("rates")) continue;
    const std::string at_rates = step(at, "rates");
    need_array(curve["rates"], at_rates);
    for (std::size_t i = 0; i < curve["rates"].size(); ++i) {
      const json& rate = curve["rates"][i];
      const std::string here = step(at_rates, i);
      need_keys(rate, here, {"label", "t_us", "gbps", "main"}, {"label", "t_us", "gbps"});
      need_string(rate["label"], step(here, "label"));
      if (rate.contains("main")) need_bool(rate["main"], step(here, "main"));
      check_series(rate, here, "gbps");
    }
  }
}

void check_expectations(const json& expectations) {
  need_array(expectations, "/expectations");
  for (std::size_t i = 0; i < expectations.size(); ++i) {
    const json& e = expectations[i];
    const std::string at = step("/expectations", i);
    need_keys(e, at, {"algorithm", "metric", "text", "met", "value", "ci95", "unit", "case"},
              {"algorithm", "metric", "text", "met"});
    if (e.contains("case")) check_parameters(e["case"], step(at, "case"));
    for (const char* key : {"algorithm", "metric", "text"}) need_string(e[key], step(at, key));
    need_bool(e["met"], step(at, "met"));
    if (e.contains("value")) need_number_or_null(e["value"], step(at, "value"));
    if (e.contains("ci95")) need_number(e["ci95"], step(at, "ci95"));
    if (e.contains("unit")) need_string(e["unit"], step(at, "unit"));
  }
}

void check_metrics(const json& metrics) {
  need_array(metrics, "/metrics");
  std::set<std::string> keys;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const json& metric = metrics[i];
    const std::string at = step("/metrics", i);
    need_keys(metric, at, {"key", "label", "better"}, {"key"});
    need_string(metric["key"], step(at, "key"));
    if (!keys.insert(metric["key"]).second) fail(step(at, "key"), "is there twice");
    if (metric.contains("label")) need_string(metric["label"], step(at, "label"));
    if (metric.contains("better") && metric["better"] != "lower" && metric["better"] != "higher" &&
        metric["better"] != "neither") {
      fail(step(at, "better"), "expected \"lower\", \"higher\" or \"neither\"");
    }
  }
}

// Arrays of one length; the first rises.
void check_columns(const json& object, const std::string& at, const char* first,
                   std::initializer_list<const char*> others) {
  double last = -std::numeric_limits<double>::infinity();
  need_array(object[first], step(at, first));
  for (std::size_t i = 0; i < object[first].size(); ++i) {
    const std::string here = step(step(at, first), i);
    need_number(object[first][i], here);
    if (object[first][i].get<double>() < last) fail(here, "is less than the one before");
    last = object[first][i].get<double>();
  }
  for (const char* other : others) {
    const std::string here = step(at, other);
    need_array(object[other], here);
    if (object[other].size() != object[first].size()) {
      fail(here, "has " + std::to_string(object[other].size()) + " values for " +
                     std::to_string(object[first].size()));
    }
    for (std::size_t i = 0; i < object[other].size(); ++i) {
      need_number_or_null(object[other][i], step(here, i));
    }
  }
}

// Of "flows" and of "responses".
void check_flows(const json& data, const char* group) {
  const std::string at = step("", group);
  need_object(data[group], at);
  for (const auto& [name, flows] : data[group].items()) {
    const std::string here = step(at, name);
    if (!data["algorithms"].contains(name)) fail(here, "no such member of algorithms");
    const auto keys = {"complete", "incomplete", "fct", "slowdown"};
    need_keys(flows, here, keys, keys);
    for (const char* key : {"complete", "incomplete"}) {
      need_integer(flows[key], step(here, key), 0);
    }
    need_keys(flows["fct"], step(here, "fct"), {"value", "share"}, {"value", "share"});
    check_columns(flows["fct"], step(here, "fct"), "value", {"share"});
    const auto columns = {"size_bytes", "count", "mean", "p50", "p99"};
    need_keys(flows["slowdown"], step(here, "slowdown"), columns, columns);
    check_columns(flows["slowdown"], step(here, "slowdown"), "size_bytes",
                  {"count", "mean", "p50", "p99"});
  }
}

void check_evaluation(const json& data) {
  const json& evaluation = data["evaluation"];
  const std::string at = "/evaluation";
  need_keys(evaluation, at, {"goal", "margin", "converged", "text", "estimates"},
            {"goal", "margin", "converged", "estimates"});
  need_string(evaluation["goal"], step(at, "goal"));
  need_number(evaluation["margin"], step(at, "margin"));
  if (!(evaluation["margin"].get<double>() > 0)) fail(step(at, "margin"), "expected more than 0");
  need_bool(evaluation["converged"], step(at, "converged"));
  if (evaluation.contains("text")) need_strings(evaluation["text"], step(at, "text"));
  const json& estimates = evaluation["estimates"];
  need_array(estimates, step(at, "estimates"));
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const json& e = estimates[i];
    const std::string here = step(step(at, "estimates"), i);
    const auto keys = {"algorithm", "metric", "unit",      "estimand", "value",       "low",
                       "high",      "trials", "converged", "history",  "distribution"};
    need_keys(e, here, keys, keys);
    for (const char* key : {"algorithm", "metric", "unit", "estimand"}) {
      need_string(e[key], step(here, key));
    }
    if (!data["algorithms"].contains(e["algorithm"])) {
      fail(step(here, "algorithm"), "no such member of algorithms");
    }
    need_number(e["value"], step(here, "value"));
    for (const char* key : {"low", "high"}) need_number_or_null(e[key], step(here, key));
    need_integer(e["trials"], step(here, "trials"), 0);
    need_bool(e["converged"], step(here, "converged"));
    const auto columns = {"value", "low", "high", "forecast", "forecast_low", "forecast_high"};
    const auto history = {"trials",   "value",        "low",          "high",
                          "forecast", "forecast_low", "forecast_high"};
    need_keys(e["history"], step(here, "history"), history, history);
    check_columns(e["history"], step(here, "history"), "trials", columns);
    need_keys(e["distribution"], step(here, "distribution"), {"value", "share"},
              {"value", "share"});
    check_columns(e["distribution"], step(here, "distribution"), "value", {"share"});
  }
}

// ---- what the page shows ----

struct Point {
  double t_us;
  double value;  // NaN: no value
};
using Points = std::vector<Point>;

Points points_of(const json& times, const json& values) {
  Points points;
  points.reserve(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    points.push_back({times[i].get<double>(), values[i].is_null()
                                                  ? std::numeric_limits<double>::quiet_NaN()
                                                  : values[i].get<double>()});
  }
  return points;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Drops the inner points of level stretches: the line through the rest is the same line.
Points without_level_points(const Points& in) {
  Points out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool inner = i > 0 && i + 1 < in.size() && same(in[i - 1].value, in[i].value) &&
                       same(in[i].value, in[i + 1].value);
    if (!inner) out.push_back(in[i]);
  }
  return out;
}

// Two times the curves are looked at between, closely.
struct Window {
  double start_us;
  double end_us;
};

// At most about `budget` points with the same envelope: time is cut into buckets, and of each
// bucket the first, last, least and greatest point stay. The buckets inside the window get half of
// the budget (all points when there are fewer), the others share the rest.
Points thinned(const Points& in, std::size_t budget, const Window& window) {
  if (in.size() <= budget) return in;
  const auto inside = [&](const Point& p) {
    return p.t_us >= window.start_us && p.t_us <= window.end_us;
  };
  const auto count_inside = static_cast<std::size_t>(std::count_if(in.begin(), in.end(), inside));
  const bool keep_inside = count_inside <= budget / 2;
  const std::size_t for_inside = keep_inside ? count_inside : budget / 2;
  const double span_us = in.back().t_us - in.front().t_us;
  const double window_us = count_inside == 0 ? 0
                                             : std::min(window.end_us, in.back().t_us) -
                                                   std::max(window.start_us, in.front().t_us);
  const auto bucket_us = [](double span, std::size_t points) {
    return std::max(span, 1e-3) / static_cast<double>(std::max<std::size_t>(points / 4, 1));
  };
  const double inside_us = bucket_us(window_us, for_inside);
  const double outside_us = bucket_us(span_us - window_us, budget - for_inside);

  Points out;
  std::size_t first = 0;
  // in[first, end) is one bucket without a gap.
  const auto flush = [&](std::size_t end) {
    if (first == end) return;
    std::size_t low = first;
    std::size_t high = first;
    for (std::size_t i = first; i < end; ++i) {
      if (in[i].value < in[low].value) low = i;
      if (in[i].value > in[high].value) high = i;
    }
    std::size_t last = end;
    for (std::size_t i : {first, std::min(low, high), std::max(low, high), end - 1}) {
      if (i != last) out.push_back(in[i]);
      last = i;
    }
    first = end;
  };
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (std::isnan(in[i].value)) {
      flush(i);
      if (out.empty() || !std::isnan(out.back().value)) out.push_back(in[i]);
      first = i + 1;
      continue;
    }
    if (i == first) continue;
    const bool here = inside(in[i]);
    const bool new_bucket =
        here != inside(in[first]) || (here && keep_inside) ||
        std::floor((in[i].t_us - in.front().t_us) / (here ? inside_us : outside_us)) !=
            std::floor((in[first].t_us - in.front().t_us) / (here ? inside_us : outside_us));
    if (new_bucket) flush(i);
  }
  flush(in.size());
  return out;
}

// `value` to 1/scale: what is shown needs no more, and the page stays small.
json rounded(double value, double scale) {
  if (std::isnan(value)) return nullptr;
  const double r = std::round(value * scale) / scale;
  if (r == std::floor(r) && std::fabs(r) < 9e15) return static_cast<std::int64_t>(r);
  return r;
}

void put_series(json& object, const Points& points, const char* values, double scale) {
  json times = json::array();
  json numbers = json::array();
  for (const Point& p : points) {
    times.push_back(rounded(p.t_us, 1000));
    numbers.push_back(rounded(p.value, scale));
  }
  object["t_us"] = std::move(times);
  object[values] = std::move(numbers);
}

// The window that gets half of the points: focus_us, or from a tenth of the curves' span before the
// event to three tenths after. Without either it is empty.
Window close_view(const json& data) {
  if (data.contains("focus_us")) {
    return {data["focus_us"][0].get<double>(), data["focus_us"][1].get<double>()};
  }
  if (!data.contains("event_us") || !data.contains("curves")) return {0, -1};
  double first = std::numeric_limits<double>::infinity();
  double last = -first;
  const auto widen = [&](const json& series) {
    if (!series.contains("t_us") || series["t_us"].empty()) return;
    first = std::min(first, series["t_us"].front().get<double>());
    last = std::max(last, series["t_us"].back().get<double>());
  };
  for (const auto& [name, curve] : data["curves"].items()) {
    widen(curve);
    if (curve.contains("rates")) std::for_each(curve["rates"].begin(), curve["rates"].end(), widen);
  }
  if (!(first < last)) return {0, -1};
  const double event = data["event_us"].get<double>();
  return {event - 0.1 * (last - first), event + 0.3 * (last - first)};
}

json page_curves(const json& data, const Window& window) {
  std::size_t count = 0;
  for (const auto& [name, curve] : data["curves"].items()) {
    count += curve.contains("t_us") + (curve.contains("rates") ? curve["rates"].size() : 0);
  }
  const std::size_t budget =
      std::clamp(kAllCurvePoints / std::max<std::size_t>(count, 1), std::size_t{200}, kCurvePoints);
  json out = json::object();
  for (const auto& [name, curve] : data["curves"].items()) {
    json& to = out[name] = json::object();
    if (curve.contains("t_us") && !curve["t_us"].empty()) {
      const Points points = without_level_points(points_of(curve["t_us"], curve["queue_bytes"]));
      put_series(to, thinned(points, budget, window), "queue_bytes", 1);
    }
    to["rates"] = json::array();
    for (const json& rate : curve.value("rates", json::array())) {
      if (rate["t_us"].empty()) continue;
      json series = {{"label", rate["label"]}, {"main", rate.value("main", false)}};
      const Points points = without_level_points(points_of(rate["t_us"], rate["gbps"]));
      put_series(series, thinned(points, budget, window), "gbps", 1000);
      to["rates"].push_back(std::move(series));
    }
  }
  return out;
}

// Every metric that appears, with label and direction: those of "metrics", then the others by name.
json page_metrics(const json& data) {
  std::set<std::string> seen;
  const auto collect = [&](const json& algorithms) {
    for (const auto& [name, metrics] : algorithms.items()) {
      for (const auto& [key, figure] : metrics.items()) seen.insert(key);
    }
  };
  collect(data["algorithms"]);
  for (const json& c : data.value("cases", json::array())) collect(c["algorithms"]);
  for (const json& e : data.value("expectations", json::array())) seen.insert(e["metric"]);

  json out = json::array();
  const auto add = [&](const json& metric) {
    const std::string& key = metric["key"].get_ref<const std::string&>();
    json whole = {{"key", key}, {"label", key}, {"better", "neither"}};
    whole.update(metric);
    out.push_back(std::move(whole));
  };
  for (const json& metric : data.value("metrics", json::array()))
    if (seen.erase(metric["key"]) != 0) add(metric);
  for (const std::string& key : seen) add({{"key", key}});
  return out;
}

// The subject, then the names of "order", then the rest by name.
json page_order(const json& data) {
  json order = json::array();
  const auto add = [&](const std::string& name) {
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  };
  if (data.contains("subject")) add(data["subject"]);
  for (const json& name : data.value("order", json::array())) add(name);
  for (const auto& [name, metrics] : data["algorithms"].items()) add(name);
  return order;
}

std::string main_metric(const json& data, const json& metrics) {
  if (data.contains("main_metric")) return data["main_metric"];
  const auto measured = [&](const std::string& key) {
    return std::any_of(data["algorithms"].begin(), data["algorithms"].end(),
                       [&](const json& m) { return m.contains(key); });
  };
  for (const json& e : data.value("expectations", json::array())) {
    if (measured(e["metric"])) return e["metric"];
  }
  for (const json& metric : metrics) {
    if (measured(metric["key"])) return metric["key"];
  }
  return "";
}

std::string escaped_html(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// JSON that may stand in a <script> element: nothing in it can end the element or open a comment.
// These characters occur inside strings only, where the escape means the same.
std::string script_json(const json& value) {
  std::string out;
  for (char c : value.dump(-1, ' ', false, json::error_handler_t::replace)) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// The string as JSON's dump repairs it: invalid UTF-8 becomes U+FFFD.
std::string valid_utf8(const std::string& text) {
  const std::string dumped = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  return json::parse(dumped).get<std::string>();
}

}  // namespace

void validate_report(const json& data) {
  need_keys(data, "",
            {"scenario", "algorithms",      "title",     "claim",        "subject",  "main_metric",
             "order",    "algorithm_notes", "metrics",   "kernel",       "build",    "repeat",
             "seed",     "parameters",      "cases",     "expectations", "event_us", "event_label",
             "focus_us", "references",      "curves",    "evaluation",   "flows",    "notes",
             "set",      "settings",        "responses", "curves_of",    "untested"},
            {"scenario", "algorithms"});
  for (const char* key : {"scenario", "title", "claim", "subject", "main_metric", "kernel", "build",
                          "repeat", "event_label", "curves_of"}) {
    if (data.contains(key)) need_string(data[key], step("", key));
  }
  if (data["scenario"].get_ref<const std::string&>().empty()) fail("/scenario", "is empty");
  check_algorithms(data["algorithms"], "/algorithms");
  if (data["algorithms"].empty()) fail("/algorithms", "is empty");
  if (data.contains("seed")) need_integer(data["seed"], "/seed", 0);
  if (data.contains("subject") && !data["algorithms"].contains(data["subject"])) {
    fail("/subject", "no such member of algorithms");
  }
  if (data.contains("order")) {
    need_strings(data["order"], "/order");
    for (std::size_t i = 0; i < data["order"].size(); ++i) {
      if (!data["algorithms"].contains(data["order"][i])) {
        fail(step("/order", i), "no such member of algorithms");
      }
    }
  }
  if (data.contains("algorithm_notes")) {
    need_object(data["algorithm_notes"], "/algorithm_notes");
    for (const auto& [name, note] : data["algorithm_notes"].items()) {
      need_string(note, step("/algorithm_notes", name));
    }
  }
  if (data.contains("metrics")) check_metrics(data["metrics"]);
  if (data.contains("parameters")) check_parameters(data["parameters"], "/parameters");
  if (data.contains("set")) {
    need_object(data["set"], "/set");
    for (const auto& [key, value] : data["set"].items()) need_string(value, step("/set", key));
  }
  if (data.contains("settings")) check_settings(data["settings"], "/settings");
  if (data.contains("cases")) {
    need_array(data["cases"], "/cases");
    for (std::size_t i = 0; i < data["cases"].size(); ++i) {
      const json& c = data["cases"][i];
      const std::string at = step("/cases", i);
      need_keys(c, at, {"parameters", "algorithms", "settings"}, {"parameters", "algorithms"});
      if (c.contains("settings")) check_settings(c["settings"], step(at, "settings"));
      check_parameters(c["parameters"], step(at, "parameters"));
      check_algorithms(c["algorithms"], step(at, "algorithms"));
    }
  }
  if (data.contains("expectations")) check_expectations(data["expectations"]);
  if (data.contains("untested")) need_strings(data["untested"], "/untested");
  if (data.contains("event_us")) need_number(data["event_us"], "/event_us");
  if (data.contains("focus_us")) {
    const json& focus = data["focus_us"];
    if (!focus.is_array() || focus.size() != 2 || !is_finite(focus[0]) || !is_finite(focus[1]) ||
        !(focus[0].get<double>() < focus[1].get<double>())) {
      fail("/focus_us", "expected [start, end] with start < end, in us");
    }
  }
  if (data.contains("references")) {
    need_array(data["references"], "/references");
    for (std::size_t i = 0; i < data["references"].size(); ++i) {
      const json& r = data["references"][i];
      const std::string at = step("/references", i);
      need_keys(r, at, {"chart", "label", "value"}, {"chart", "label", "value"});
      if (r["chart"] != "queue" && r["chart"] != "rate") {
        fail(step(at, "chart"), "expected \"queue\" or \"rate\"");
      }
      need_string(r["label"], step(at, "label"));
      need_number(r["value"], step(at, "value"));
    }
  }
  if (data.contains("curves")) check_curves(data);
  if (data.contains("evaluation")) check_evaluation(data);
  for (const char* group : {"flows", "responses"})
    if (data.contains(group)) check_flows(data, group);
  if (data.contains("notes")) need_strings(data["notes"], "/notes");
}

std::string render_report(const json& data) {
  validate_report(data);

  json page = data;
  page["metrics"] = page_metrics(data);
  page["order"] = page_order(data);
  page["main_metric"] = main_metric(data, page["metrics"]);
  const Window window = close_view(data);
  if (data.contains("curves")) page["curves"] = page_curves(data, window);
  if (window.start_us < window.end_us) {
    page["close_view_us"] = {rounded(window.start_us, 1000), rounded(window.end_us, 1000)};
  }
  if (!page.contains("title") || page["title"].get_ref<const std::string&>().empty())
    page["title"] = page["scenario"];
  // A JavaScript number holds 53 bits.
  if (page.contains("seed")) page["seed"] = page["seed"].dump();

  // The template's marks, each on its own; filled in one pass, so that no mark inside the data or
  // the library is taken for one of ours.
  const std::pair<std::string_view, std::string> marks[] = {
      {"{{title}}", escaped_html(valid_utf8(page["title"]))},
      {"{{style}}", std::string(report_assets::kStyle)},
      {"{{data}}", script_json(page)},
      {"{{library}}", std::string(report_assets::kLibrary)},
      {"{{script}}", std::string(report_assets::kScript)},
  };
  std::string out;
  std::string_view rest = report_assets::kTemplate;
  while (!rest.empty()) {
    std::size_t at = rest.size();
    const std::pair<std::string_view, std::string>* next = nullptr;
    for (const auto& mark : marks) {
      const std::size_t here = rest.find(mark.first);
      if (here < at) {
        at = here;
        next = &mark;
      }
    }
    out.append(rest.substr(0, at));
    if (next == nullptr) break;
    out.append(next->second);
    rest.remove_prefix(at + next->first.size());
  }
  return out;
}

}  // namespace delaycc
