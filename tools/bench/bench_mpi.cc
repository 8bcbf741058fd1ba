// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_mpi.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "tessera/base/text.h"
#include "tools/bench/bench_report.h"

namespace tessera::tools {
namespace {

template <typename... Parts>
std::string formatted(const char* format, Parts... parts) {
  std::array<char, 200> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, parts...);
  return buffer.data();
}

std::string milliseconds(double seconds) { return formatted("%.1f", seconds * 1e3); }
std::string times(double ratio) { return formatted("%.2f", ratio); }

std::string line(const std::array<std::string, 12>& cells) {
  std::string text = formatted(
      "%-24s %-4s %1s %7s %7s %7s %7s %7s", cells[0].c_str(), cells[1].c_str(), cells[2].c_str(),
      cells[3].c_str(), cells[4].c_str(), cells[5].c_str(), cells[6].c_str(), cells[7].c_str());
  text += formatted(" %7s %7s %8s  %s", cells[8].c_str(), cells[9].c_str(), cells[10].c_str(),
                    cells[11].c_str());
  text.resize(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

/// Geometric means over all rows of the ratios that have goals.
std::vector<std::pair<std::string, double>> mpi_means(const std::vector<MpiRow>& rows) {
  const auto mean = [&](auto ratio) {
    std::vector<double> ratios;
    for (const MpiRow& row : rows) ratios.push_back(ratio(row));
    return geometric_mean(ratios);
  };
  std::vector<std::pair<std::string, double>> means = {
      {"over_floor", mean([](const MpiRow& row) { return row.over_floor(); })},
      {"shared_over_floor", mean([](const MpiRow& row) { return row.shared_over_floor(); })},
      {"floor_over_memcpy", mean([](const MpiRow& row) { return row.floor_over_memcpy(); })}};
  const bool all_have_peers =
      std::all_of(rows.begin(), rows.end(), [](const MpiRow& row) { return !row.peers.empty(); });
  if (all_have_peers && !rows.empty()) {
    means.emplace_back(cat(rows.front().peers.front().first, "_over_ours"),
                       mean([](const MpiRow& row) { return row.peers[0].second / row.seconds; }));
  }
  return means;
}

std::int64_t goals_met(const std::vector<MpiRow>& rows) {
  return std::count_if(rows.begin(), rows.end(), [](const MpiRow& row) { return row.met(); });
}

constexpr std::string_view kNoScalapack =
    "built without ScaLAPACK: install libscalapack-openmpi-dev and build the target `peers`";

}  // namespace

bool MpiRow::met() const {
  return over_floor() <= kMostOverFloor &&
         std::all_of(peers.begin(), peers.end(),
                     [&](const auto& peer) { return peer.second >= kLeastOverPeers * seconds; });
}

Result<MpiReport> bench_mpi(const MpiBenchOptions& options, Crew& crew,
                            const std::function<void(const MpiRow& row)>& measured) {
  if (crew.ranks() < 2) {
    return Error{ErrorCode::kUsage, "with 1 rank nothing moves between ranks", std::nullopt,
                 "run it as mpirun -n 4 tessera bench mpi"};
  }
  std::vector<MpiCase> cases = mpi_cases(options.extent, crew.ranks());
  std::erase_if(cases, [&](const MpiCase& c) {
    return cat(c.name, "/", dtype_name(c.dtype)).find(options.only) == std::string::npos;
  });
  if (cases.empty()) {
    return Error{ErrorCode::kUsage, cat("no case name contains '", printable(options.only), "'"),
                 std::nullopt, "a case name is for example 32x32-to-128x128/f64"};
  }
  MpiReport report;
  report.ranks = crew.ranks();
  report.extent = options.extent;
  report.without_scalapack = options.peers && crew.peers().matrices == nullptr;
  for (const MpiCase& bench_case : cases) {
    TESSERA_CHECK_OK(run_mpi_case(bench_case, options, crew, [&](const MpiRow& row) {
      measured(row);
      report.rows.push_back(row);
    }));
  }
  return report;
}

Result<const MpiPeers*> load_mpi_peers() {
  std::error_code error;
  const std::filesystem::path command = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path module = command.parent_path() / "tessera_bench_mpi.so";
  // Never unloaded: MPI may keep pointers to its functions.
  void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto list = handle == nullptr
                        ? nullptr
                        : reinterpret_cast<MpiPeersFunction>(dlsym(handle, "tessera_bench_mpi"));
  if (list == nullptr || list()->version != kMpiPeersVersion) {
    const char* why = handle == nullptr ? dlerror() : "it is of another version";
    return Error{ErrorCode::kIo,
                 cat("tessera_bench_mpi.so cannot be used: ", why == nullptr ? "unknown" : why),
                 std::nullopt, "install libopenmpi-dev and build the target `peers`"};
  }
  return list();
}

Json mpi_json(const MpiReport& report) {
  Json json;
  json["suite"] = "mpi";
  json["ranks"] = report.ranks;
  json["extent"] = report.extent;
  json["cases"] = Json::array();
  for (const MpiRow& row : report.rows) {
    Json item;
    item["name"] = row.name;
    item["dtype"] = row.dtype;
    item["ranks"] = row.ranks;
    item["threads"] = row.threads;
    item["bytes"] = row.bytes;
    item["crossing_bytes"] = row.crossing_bytes;
    item["staged_bytes"] = row.staged_bytes;
    item["seconds"] = row.seconds;
    item["shared_seconds"] = row.shared_seconds;
    item["floor_seconds"] = row.floor_seconds;
    item["memcpy_seconds"] = row.memcpy_seconds;
    item["plan_seconds"] = row.plan_seconds;
    item["peers"] = Json::object();
    for (const auto& [name, seconds] : row.peers) item["peers"][name] = seconds;
    item["share_of_memcpy"] = row.memcpy_seconds / row.seconds;
    item["over_floor"] = row.over_floor();
    item["shared_over_floor"] = row.shared_over_floor();
    item["floor_over_memcpy"] = row.floor_over_memcpy();
    for (const auto& [name, seconds] : row.peers) {
      item[cat(name, "_over_ours")] = seconds / row.seconds;
    }
    item["goal"] = "at most 1.5 times the floor, at least 3 times as fast as peers";
    item["met"] = row.met();
    json["cases"].push_back(std::move(item));
  }
  json["geometric_means"] = Json::object();
  for (const auto& [name, ratio] : mpi_means(report.rows)) json["geometric_means"][name] = ratio;
  if (report.without_scalapack) json["peers_missing"] = kNoScalapack;
  return json;
}

std::string mpi_head() {
  return "ms of the slowest rank, and their ratios\n" +
         line({"case", "type", "t", "plan", "ours", "shared", "floor", "memcpy", "/floor", "shared",
               "peer", "peer / ours"});
}

std::string mpi_line(const MpiRow& row) {
  std::string peer_time;
  std::string peer_ratio;
  for (const auto& [name, seconds] : row.peers) {
    peer_time += milliseconds(seconds);
    peer_ratio += cat(name, " ", times(seconds / row.seconds));
  }
  return line({row.name, row.dtype, cat(row.threads), milliseconds(row.plan_seconds),
               milliseconds(row.seconds), milliseconds(row.shared_seconds),
               milliseconds(row.floor_seconds), milliseconds(row.memcpy_seconds),
               times(row.over_floor()), times(row.shared_over_floor()), peer_time,
               cat(peer_ratio, row.met() ? "" : " missed")});
}

std::string mpi_tail(const MpiReport& report) {
  std::string out;
  if (report.without_scalapack) out += cat("no peer: ", kNoScalapack, "\n");
  for (const auto& [name, ratio] : mpi_means(report.rows)) {
    out += cat("geometric mean of ", name, ": ", times(ratio), "\n");
  }
  out += cat(report.ranks, " ranks, ", report.extent, "x", report.extent, "; ",
             goals_met(report.rows), " of ", report.rows.size(),
             " goals met: at most 1.5 times the floor, at least 3 times as fast as peers\n");
  return out;
}

}  // namespace tessera::tools
