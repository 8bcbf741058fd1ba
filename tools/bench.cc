// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "tessera/base/text.h"
#include "tools/bench_report.h"
#include "tools/command.h"
#include "tools/json.h"

namespace tessera::tools {
namespace {

Json pairs_json(const std::vector<std::pair<std::string, double>>& pairs) {
  Json json = Json::object();
  for (const auto& [name, value] : pairs) json[name] = value;
  return json;
}

Json report_json(const BenchReport& report) {
  Json json;
  json["suite"] = report.suite;
  json["cases"] = Json::array();
  for (const BenchCase& c : report.cases) {
    Json item;
    item["name"] = c.name;
    item["dtype"] = "f32";
    item["threads"] = 1;
    if (c.elements > 0) item["elements"] = c.elements;
    item["seconds"] = c.seconds;
    item["peers"] = pairs_json(c.peers);
    if (c.ratio) item["ratio"] = *c.ratio;
    if (c.peak_bytes) item["peak_bytes"] = *c.peak_bytes;
    if (c.met) {
      item["goal"] = c.goal;
      item["met"] = *c.met;
    }
    json["cases"].push_back(std::move(item));
  }
  json["geometric_means"] = pairs_json(report.geometric_means);
  json["growth"] = pairs_json(report.growth);
  return json;
}

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.3g", value);
  return buffer.data();
}

std::string time_text(double seconds) {
  return seconds < 1e-6   ? cat(number_text(seconds * 1e9), " ns")
         : seconds < 1e-3 ? cat(number_text(seconds * 1e6), " us")
                          : cat(number_text(seconds * 1e3), " ms");
}

/// Columns as wide as their widest cell; the first is left-aligned, the others right-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - row[c].size(), ' ');
      line += c == 0 ? cat(row[c], space) : cat("  ", space, row[c]);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += cat(line, "\n");
  }
  return out;
}

std::string report_text(const BenchReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"case", "time", "an element", "against", "its time", "ratio", "peak bytes", "goal", ""}};
  for (const BenchCase& c : report.cases) {
    const auto elements = static_cast<double>(c.elements);
    rows.push_back(
        {c.name, time_text(c.seconds), c.elements > 0 ? time_text(c.seconds / elements) : "",
         c.peers.empty() ? "" : c.peers[0].first,
         c.peers.empty() ? "" : time_text(c.peers[0].second), c.ratio ? number_text(*c.ratio) : "",
         c.peak_bytes ? std::to_string(*c.peak_bytes) : "", c.goal,
         !c.met   ? ""
         : *c.met ? "met"
                  : "missed"});
    for (std::size_t i = 1; i < c.peers.size(); ++i) {
      rows.push_back({"", "", "", c.peers[i].first, time_text(c.peers[i].second),
                      number_text(c.seconds / c.peers[i].second), "", "", ""});
    }
  }
  std::string out = table(rows);
  for (const auto& [name, value] : report.geometric_means) {
    out += cat("geometric mean of the ratios of ", name, ": ", number_text(value), "\n");
  }
  for (const auto& [name, value] : report.growth) {
    out += cat("growth of ", name, " from the smallest to the largest mesh: ", number_text(value),
               " times\n");
  }
  return out;
}

Result<Verdict> run(const Request& request, Console& console) {
  // The choices of the positional leave only this suite.
  TESSERA_TRY(const BenchReport report, bench_layout({request.has("quick")}));
  console.out << (console.json ? cat(dump(report_json(report)), "\n") : report_text(report));
  return Verdict::kYes;
}

}  // namespace

void set_ratio(BenchCase& bench_case) {
  if (bench_case.peers.empty() || bench_case.peers[0].second <= 0) return;
  bench_case.ratio = bench_case.seconds / bench_case.peers[0].second;
}

double geometric_mean(const std::vector<double>& values) {
  double logs = 0;
  for (const double value : values) logs += std::log(value);
  return values.empty() ? 1 : std::exp(logs / static_cast<double>(values.size()));
}

Result<BenchReport> bench_layout(const BenchOptions& options) {
  BenchReport report;
  report.suite = "layout";
  TESSERA_CHECK_OK(bench_layout_access(options, report));
  TESSERA_CHECK_OK(bench_layout_mesh(options, report));
  return report;
}

Verb bench_verb() {
  Verb verb;
  verb.name = "bench";
  verb.summary = "measure how fast tessera answers";
  verb.description =
      "Runs a suite and prints medians of at least nine rounds, in which the peers take turns in "
      "one process. Suite layout: elements found at random, against divisions written by hand for "
      "the same layout; all elements in bulk, against asking for each; and what questions about a "
      "whole layout cost in time and memory on meshes from 99x75 to 994x750. ratio is the time "
      "over "
      "that of the first peer.";
  verb.positionals = {{"suite", Positional::Kind::kWord, "what to measure", {"layout"}, false}};
  verb.flags = {{"quick", ValueKind::kSwitch, "",
                 "only show that everything runs; the numbers mean nothing"}};
  verb.examples = {"tessera bench layout --json"};
  verb.answers_json = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
