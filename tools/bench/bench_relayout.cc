// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_relayout.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "tessera/base/text.h"
#include "tools/bench/bench_report.h"

namespace tessera::tools {
namespace {

std::string size_name(std::int64_t bytes) {
  for (const auto& [unit, name] : {std::pair{30, "GiB"}, {20, "MiB"}, {10, "KiB"}}) {
    if (bytes % (std::int64_t{1} << unit) == 0) return cat(bytes >> unit, name);
  }
  return cat(bytes, "B");
}

template <typename... Parts>
std::string formatted(const char* format, Parts... parts) {
  std::array<char, 160> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, parts...);
  return buffer.data();
}

std::string percent(double share) { return formatted("%.0f %%", 100 * share); }

std::string line(const std::array<std::string, 10>& cells) {
  std::string text = formatted(
      "%-46s %-4s %1s %7s %10s %8s %7s %-7s", cells[0].c_str(), cells[1].c_str(), cells[2].c_str(),
      cells[3].c_str(), cells[4].c_str(), cells[5].c_str(), cells[6].c_str(), cells[7].c_str());
  text += formatted(" %-12s %s", cells[8].c_str(), cells[9].c_str());
  text.resize(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace

std::optional<bool> RelayoutRow::met() const {
  return goal ? std::optional(share() >= *goal) : std::nullopt;
}

const std::pair<std::string, double>* RelayoutRow::best_peer() const {
  const auto best = std::min_element(
      peers.begin(), peers.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == peers.end() ? nullptr : &*best;
}

std::optional<bool> RelayoutRow::keeps_up() const {
  const auto* best = best_peer();
  return best == nullptr ? std::nullopt : std::optional(seconds <= 1.05 * best->second);
}

Result<RelayoutReport> bench_relayout(const RelayoutOptions& options,
                                      const std::function<void(const RelayoutRow& row)>& measured) {
  struct Sized {
    std::int64_t size = 0;
    std::vector<RelayoutCase> cases;
  };
  std::vector<Sized> all;
  std::int64_t largest = 0;
  std::size_t count = 0;
  for (const std::int64_t size : options.sizes) {
    TESSERA_TRY(std::vector<RelayoutCase> cases, relayout_cases(size));
    std::erase_if(cases, [&](const RelayoutCase& c) {
      return cat(c.name, "/", dtype_name(c.dtype)).find(options.only) == std::string::npos;
    });
    for (const RelayoutCase& c : cases) {
      largest = std::max({largest, c.from.allocated_bytes(), c.to.allocated_bytes()});
    }
    count += cases.size();
    all.push_back({size, std::move(cases)});
  }
  if (count == 0) {
    return Error{ErrorCode::kUsage, cat("no case name contains '", printable(options.only), "'"),
                 std::nullopt, "a case name is for example transpose/8192x8192/f32"};
  }
  std::vector<BenchBuffer> buffers;
  for (int i = 0; i < 3; ++i) {
    TESSERA_TRY(BenchBuffer buffer, BenchBuffer::make(largest));
    buffers.push_back(std::move(buffer));
  }
  fill_with_numbers(buffers[0].first(largest));
  const Peers peers = options.peers ? load_peers() : Peers{};
  RelayoutReport report;
  report.peers_missing = peers.missing;
  for (const Sized& sized : all) {
    for (const RelayoutCase& c : sized.cases) {
      TESSERA_CHECK_OK(run_relayout_case(c, options, peers, buffers, [&](RelayoutRow row) {
        row.size = size_name(sized.size);
        measured(row);
        report.rows.push_back(std::move(row));
      }));
    }
  }
  return report;
}

std::vector<std::pair<std::string, double>> share_means(const std::vector<RelayoutRow>& rows) {
  // In the order in which keys first appear.
  std::vector<std::pair<std::string, std::vector<double>>> groups;
  const auto add = [&](const std::string& key, double share) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& known) { return known.first == key; });
    if (group == groups.end()) group = groups.insert(groups.end(), {key, {}});
    group->second.push_back(share);
  };
  for (const RelayoutRow& row : rows) {
    const std::string where = cat(row.size, "/", row.threads, "/");
    add(cat(where, row.group), row.share());
    add(cat(where, "all"), row.share());
    for (const auto& [name, seconds] : row.peers) {
      add(cat(where, name), row.memcpy_seconds / seconds);
      add(cat(where, "all_with_", name), row.share());
    }
  }
  std::vector<std::pair<std::string, double>> means;
  for (const auto& [key, shares] : groups) means.emplace_back(key, geometric_mean(shares));
  return means;
}

Json relayout_json(const RelayoutReport& report) {
  Json json;
  json["suite"] = "relayout";
  json["cases"] = Json::array();
  for (const RelayoutRow& row : report.rows) {
    Json item;
    item["name"] = row.name;
    item["group"] = row.group;
    item["dtype"] = row.dtype;
    item["threads"] = row.threads;
    item["size"] = row.size;
    item["bytes"] = row.bytes;
    item["seconds"] = row.seconds;
    item["memcpy_seconds"] = row.memcpy_seconds;
    item["share_of_memcpy"] = row.share();
    item["peers"] = Json::object();
    for (const auto& [name, seconds] : row.peers) item["peers"][name] = seconds;
    if (row.goal) {
      item["goal"] = *row.goal;
      item["met"] = *row.met();
    }
    if (row.keeps_up()) item["keeps_up_with_peers"] = *row.keeps_up();
    item["program_seconds"] = row.program_seconds;
    item["plan_seconds"] = row.plan_seconds;
    item["jobs"] = row.jobs;
    item["plan"] = row.plan;
    json["cases"].push_back(std::move(item));
  }
  json["geometric_means"] = Json::object();
  for (const auto& [name, share] : share_means(report.rows)) json["geometric_means"][name] = share;
  if (!report.peers_missing.empty()) json["peers_missing"] = report.peers_missing;
  return json;
}

std::string relayout_head() {
  return line({"case", "type", "t", "MiB", "time", "memcpy", "share", "goal", "", "peers"});
}

std::string relayout_line(const RelayoutRow& row) {
  std::string peers;
  for (const auto& [name, seconds] : row.peers) {
    peers += cat(peers.empty() ? "" : ", ", name, " ", percent(row.memcpy_seconds / seconds));
  }
  const double mebibytes = static_cast<double>(row.bytes) / (1 << 20);
  return line({row.name, row.dtype, cat(row.threads), formatted("%.1f", mebibytes),
               formatted("%.3f ms", row.seconds * 1e3), formatted("%.3f", row.memcpy_seconds * 1e3),
               percent(row.share()), row.goal ? percent(*row.goal) : "",
               cat(row.met().value_or(true) ? "" : "missed ",
                   row.keeps_up().value_or(true) ? "" : "behind"),
               peers});
}

std::string relayout_tail(const RelayoutReport& report) {
  std::string out;
  if (!report.peers_missing.empty()) out += cat("no peers: ", report.peers_missing, "\n");
  for (const auto& [name, share] : share_means(report.rows)) {
    out += cat("geometric mean ", name, ": ", percent(share), "\n");
  }
  const auto count = [&](auto question) {
    return std::count_if(report.rows.begin(), report.rows.end(), question);
  };
  out += cat(report.rows.size(), report.rows.size() == 1 ? " row; " : " rows; ",
             count([](const RelayoutRow& row) { return row.met() == std::optional(true); }), " of ",
             count([](const RelayoutRow& row) { return row.goal.has_value(); }),
             " goals met; not behind the best peer in ",
             count([](const RelayoutRow& row) { return row.keeps_up() == std::optional(true); }),
             " of ", count([](const RelayoutRow& row) { return !row.peers.empty(); }), "\n");
  return out;
}

}  // namespace tessera::tools
