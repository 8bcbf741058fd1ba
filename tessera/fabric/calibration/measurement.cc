// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/calibration/measurement.h"

#include <cmath>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::fabric {
namespace {

std::string_view side_name(Side side) {
  switch (side) {
    case Side::kOne:
      return "one";
    case Side::kRow:
      return "row";
    case Side::kColumn:
      return "column";
    case Side::kAll:
      return "all";
  }
  return "";
}

Error contradiction(std::string message, std::string help) {
  return Error{ErrorCode::kContradiction, std::move(message), std::nullopt, std::move(help)};
}

Error out_of_range(std::string message, std::string help) {
  return Error{ErrorCode::kOutOfRange, std::move(message), std::nullopt, std::move(help)};
}

}  // namespace

std::string pattern_name(const Pattern& pattern) {
  return cat(side_name(pattern.masters), pattern.reads ? "_from_" : "_to_",
             side_name(pattern.subordinates));
}

const std::vector<Pattern>& all_patterns() {
  static const std::vector<Pattern> all = [] {
    std::vector<Pattern> list;
    for (const bool reads : {false, true}) {
      for (const Side side : {Side::kOne, Side::kRow, Side::kColumn, Side::kAll}) {
        list.push_back({Side::kOne, side, reads});
        if (side != Side::kOne) list.push_back({side, side, reads});
      }
    }
    return list;
  }();
  return all;
}

std::string_view method_name(Method method) {
  switch (method) {
    case Method::kUnicast:
      return "unicast";
    case Method::kMulticast:
      return "multicast";
    case Method::kMulticastLinked:
      return "multicast_linked";
  }
  return "";
}

std::vector<FarMemoryName> far_memory_names(const Machine& machine) {
  using Spread = FarMemory::Spread;
  std::vector<FarMemoryName> names;
  for (std::size_t i = 0; i < machine.memory.size(); ++i) {
    const target::MemorySpace& space = machine.memory[i];
    const auto memory = static_cast<std::int32_t>(i);
    if (space.owner == target::MemorySpace::Owner::kPlace) {
      names.push_back({space.name, {memory, Spread::kPlaces}});
    }
    if (space.owner != target::MemorySpace::Owner::kBank || space.at.empty()) continue;
    names.push_back({space.name, {memory, Spread::kBanks}});
    names.push_back({space.name + "_sharded", {memory, Spread::kSharded}});
    names.push_back({space.name + "_interleaved", {memory, Spread::kInterleaved}});
  }
  return names;
}

std::string_view mechanism_name(const Measurement& measurement) {
  if (measurement.method != Method::kUnicast) return method_name(measurement.method);
  if (measurement.pattern.reads) return measurement.stateful ? "read_stateful" : "read";
  return measurement.stateful ? "write_stateful" : "write";
}

std::optional<std::string> bank_mechanism_name(const Machine& machine,
                                               const Measurement& measurement) {
  if (measurement.far.spread == FarMemory::Spread::kPlaces) return std::nullopt;
  const auto memory = static_cast<std::size_t>(measurement.far.memory);
  return cat(mechanism_name(measurement), "_", machine.memory[memory].name);
}

Status check(const Measurement& m) {
  if (m.method != Method::kUnicast) {
    const std::string_view method = method_name(m.method);
    if (m.pattern.reads) {
      return contradiction(cat("a ", method, " cannot read: ", pattern_name(m.pattern)),
                           "a multicast writes: use a pattern with _to_, or unicast");
    }
    if (m.stateful) return contradiction(cat("a ", method, " is stateful"), "set stateful to 0");
    if (m.far.spread != FarMemory::Spread::kPlaces) {
      return contradiction(cat("a ", method, " to banks"), "banks are written by unicast");
    }
  }
  if (m.transactions < 1 || m.bytes < 1 || m.subordinates < 0) {
    return out_of_range(cat("found ", m.transactions, " transactions of ", m.bytes, " bytes to ",
                            m.subordinates, " subordinates"),
                        "transactions and bytes are at least 1, subordinates at least 0");
  }
  const Checked total = Checked(m.transactions) * m.bytes;
  if (total.overflowed() || total.raw() > kMaxMeasuredBytes) {
    return out_of_range(
        cat(m.transactions, " transactions of ", m.bytes, " bytes: more than 2^53 bytes in all"),
        "use smaller numbers");
  }
  if (!std::isfinite(m.cycles) || m.cycles <= 0 || m.cycles > kMaxMeasuredCycles) {
    return out_of_range("cycles are not a number above 0 and at most 1e15",
                        "use what was measured");
  }
  return ok_status();
}

}  // namespace tessera::fabric
