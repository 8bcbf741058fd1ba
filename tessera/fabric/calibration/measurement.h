// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/target/machine.h"

/// fabric/calibration/: measured transfers and a machine description come in; the machine with
/// fitted figures, and how far its predictions are from the measurements, go out (calibrate.h).
/// Contention is never fitted: it follows from routes, ports and banks (flows.h). No files, no
/// texts.
namespace tessera::fabric {

/// The places on one side of a pattern.
enum class Side : std::uint8_t { kOne, kRow, kColumn, kAll };

/// Who moves data to whom. Masters issue the transactions: they write to the subordinates, or read
/// from them.
struct Pattern {
  Side masters = Side::kOne;
  Side subordinates = Side::kOne;  ///< the same as masters, unless there is one master
  bool reads = false;
  friend bool operator==(const Pattern&, const Pattern&) = default;
};

/// "one_to_all" writes, "one_from_all" reads.
std::string pattern_name(const Pattern& pattern);
/// All patterns: one to one, one to each other side, and each other side to itself; to and from.
const std::vector<Pattern>& all_patterns();

/// How transactions are sent.
enum class Method : std::uint8_t {
  kUnicast,          ///< to one place at a time
  kMulticast,        ///< to all subordinates at once; each transaction reserves its route
  kMulticastLinked,  ///< the same, but one reservation serves all transactions
};
/// "unicast", "multicast", "multicast_linked".
std::string_view method_name(Method method);
inline constexpr Method kMethods[] = {Method::kUnicast, Method::kMulticast,
                                      Method::kMulticastLinked};

/// The memory on the far side of a transfer.
struct FarMemory {
  enum class Spread : std::uint8_t {
    kPlaces,       ///< a memory per place: that of the subordinates
    kBanks,        ///< one bank for each master; all of them if the pattern says `all`
    kSharded,      ///< one bank for each master: master i uses bank i mod banks
    kInterleaved,  ///< each master goes through all banks in turn, from its own on
  };
  std::int32_t memory = 0;  ///< index in Machine::memory
  Spread spread = Spread::kPlaces;
  friend bool operator==(const FarMemory&, const FarMemory&) = default;
};

/// A memory as tables name it.
struct FarMemoryName {
  std::string name;
  FarMemory memory;
};
/// Every memory per place by its name, and every memory per bank of which the machine says where it
/// is reached: `dram`, `dram_sharded`, `dram_interleaved`.
std::vector<FarMemoryName> far_memory_names(const Machine& machine);

/// One row of a table of measurements: each master issues `transactions` of `bytes` each.
struct Measurement {
  Method method = Method::kUnicast;
  Pattern pattern;
  FarMemory far;
  std::int64_t transactions = 1;  ///< of each master, to all its subordinates together
  /// Places that each master moves data to or from. 0: one, or the whole row, column or mesh.
  std::int64_t subordinates = 0;
  bool same_axis = false;  ///< one to one: the next place of the same column; else the diagonal one
  bool stateful = false;   ///< unicast: address and size are set up once for each subordinate
  bool loopback = false;   ///< the master is among the subordinates
  std::int64_t bytes = 1;  ///< of each transaction
  double cycles = 1;       ///< measured
  std::optional<Span> span = std::nullopt;  ///< in the text of the table, for errors
};

/// The name of the mechanism (target::Mechanism) that a measurement uses: "read", "write",
/// "read_stateful", "write_stateful", "multicast" or "multicast_linked".
std::string_view mechanism_name(const Measurement& measurement);
/// The same for its far memory alone, if that has banks: "read_dram". A machine may have it where
/// the way to the banks takes longer than that to a place.
std::optional<std::string> bank_mechanism_name(const Machine& machine,
                                               const Measurement& measurement);

/// kContradiction for a combination that no machine carries out: a multicast that reads, is
/// stateful or goes to banks; kOutOfRange for numbers below 1 (subordinates: below 0), cycles that
/// are not a positive finite number, and more than kMaxMeasuredBytes in all.
Status check(const Measurement& measurement);

inline constexpr std::int64_t kMaxMeasuredBytes = std::int64_t{1} << 53;  ///< of one master
inline constexpr double kMaxMeasuredCycles = 1e15;

}  // namespace tessera::fabric
