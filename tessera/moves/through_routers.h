// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// A memory with several routers is reached at the nearest, which for a few places is always the
/// same one. A program may instead let data enter and leave at all of them, in turn: what a place
/// gets passes another place, which hands it on as it comes. That is the place at the router; or,
/// where the routers are along a border, the place between that router and the place's column (or
/// row), so that no two routers share a way along the border.
class ThroughRouters {
 public:
  /// Empty unless a shared memory of a machine of one device has several routers with working
  /// places.
  static std::optional<ThroughRouters> of(const Machine& machine, std::size_t memory,
                                          std::int32_t endpoint);

  /// Replaces each message of the memory by one between it and a place, and one between that and
  /// the other end. Others stay.
  /// Law: the memory sends and receives as much as before, and what other ends receive less what
  /// they send is as before.
  /// Example: routers along the first column, [0, 0] to [31, 0]: what goes to place [2, 7] through
  /// router [5, 0] passes place [5, 7].
  void apply(std::vector<fabric::Message>& messages) const;

 private:
  std::int32_t between(std::int32_t router_place, std::int32_t other) const;

  std::int32_t endpoint_ = 0;
  std::int64_t machine_places_ = 0;
  std::vector<std::int32_t> places_;  ///< of the routers
  std::vector<std::int64_t> dead_;    ///< places of the machine
  /// Where the routers are along a border: the places along that axis, and what a step along it
  /// adds to the number of a place. Else 0.
  std::int64_t extent_ = 0;
  std::int64_t stride_ = 0;
};

}  // namespace tessera::moves
