// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/fabric/networks/grid.h"
#include "tessera/fabric/networks/listed_loads.h"
#include "tessera/fabric/topology.h"

namespace tessera::fabric {

/// Where to add up the bytes of messages inside a device by (line, from, to): one entry for every
/// pair of routers of every line along either axis of a mesh or torus, or of a ring. Each device
/// has entries of its own, one after the other.
///
/// A route of two axes goes along one line of each. Which entry that is of an axis is the sum of a
/// number that the source decides and one that the destination decides. Example: rows x columns,
/// columns first: in the row of the source from its column (source) to that of the destination; in
/// the column of the destination from the row of the source to its own.
struct PairTable {
  /// Steps there, and there and back, of a pair; sums of two do not mix.
  using PackedSteps = std::uint64_t;
  static std::int64_t there(PackedSteps steps) { return static_cast<std::uint32_t>(steps); }
  static std::int64_t there_and_back(PackedSteps steps) {
    return static_cast<std::int64_t>(steps >> 32);
  }

  /// The parts of entries that one end decides.
  struct Parts {
    std::uint32_t along_from = 0;  ///< of the last axis
    std::uint32_t across_from = 0;
    std::uint32_t along_to = 0;
    std::uint32_t across_to = 0;
    std::uint32_t first = 0;  ///< the first entry of its device
  };

  std::vector<Parts> ends;  ///< of the endpoints with one router, from 0 on
  /// Of each entry of a device: those of the last axis, then the others.
  std::vector<PackedSteps> steps;
  std::uint32_t devices = 1;
  std::size_t along_entries = 0;  ///< of the last axis
  std::uint32_t cols = 1;
  std::uint32_t rows = 1;

  bool present() const { return !steps.empty(); }
  /// Where an endpoint is.
  struct End {
    std::int64_t device = 0;
    std::int64_t router = 0;
  };
  /// False if the lines are too long for tables, or the devices too many.
  static bool fits(const Grid& grid, std::int64_t devices);
  /// Not present where it does not fit.
  static PairTable of(const Grid& grid, std::int64_t devices, const std::vector<End>& ends);

  /// What an entry of a device stands for.
  struct Pair {
    bool along = false;  ///< on a line of the last axis
    std::int64_t line = 0;
    std::int64_t from = 0;
    std::int64_t to = 0;
  };
  Pair pair(std::uint32_t entry) const {
    const bool along = entry < along_entries;
    const std::uint32_t extent = along ? cols : rows;
    const std::uint32_t rest = along ? entry : entry - static_cast<std::uint32_t>(along_entries);
    return {along, rest / (extent * extent), rest / extent % extent, rest % extent};
  }
};

/// The sums of messages of moderate size between endpoints of the table that are on one device, one
/// of them a place.
class PlainMessages {
 public:
  /// Endpoints below `places` are places.
  PlainMessages(const PairTable& table, const LinkFacts& link, std::int64_t places);

  /// Forgets what was added.
  void clear();

  /// Adds messages up to the first that is not plain, at most kMost, and returns how many. `reads`:
  /// receivers issue what goes from place to place.
  std::size_t add(std::span<const Message> messages, bool reads);

  /// No sum of one call exceeds this, nor do bytes times distance.
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;

  struct End {
    std::int64_t sent = 0;
    std::int64_t sent_packets = 0;
    std::int64_t received = 0;
    std::int64_t received_packets = 0;
    std::int64_t issued = 0;
    std::int64_t issued_bytes = 0;
    bool listed = false;
  };
  /// Of the last call.
  struct Sums {
    std::int64_t wire = 0;
    std::int64_t hops = 0;  ///< Σ bytes · distance
    std::int64_t messages = 0;
    std::int64_t transactions = 0;
    std::int64_t bytes = 0;
  };
  const Sums& last() const { return last_; }
  // Of all calls.
  /// Steps of routes; meaningless before the first message.
  struct Range {
    std::int64_t shortest = INT64_MAX;
    std::int64_t longest = 0;
  };
  const Range& there() const { return there_; }
  const Range& there_and_back() const { return there_and_back_; }
  const ListedLoads<End>& ends() const { return ends_; }
  /// Calls visit(device, entry of the device, bytes) for each entry with bytes, headers included.
  template <typename Visit>
  void for_each_entry(const Visit& visit) const {
    const auto of_device = static_cast<std::uint32_t>(table_.steps.size());
    for (const std::uint32_t entry : entries_) {
      const std::uint32_t device = table_.devices == 1 ? 0 : entry / of_device;
      visit(device, entry - device * of_device, bytes_[entry]);
    }
  }

 private:
  const PairTable& table_;
  const LinkFacts& link_;
  const std::int64_t packet_bytes_;
  Sums last_;
  Range there_;
  Range there_and_back_;
  const std::uint32_t places_;
  ListedLoads<End> ends_;
  std::vector<std::int64_t> bytes_;     ///< of each entry
  std::vector<std::uint32_t> entries_;  ///< those with bytes
};

}  // namespace tessera::fabric
