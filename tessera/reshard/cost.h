// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// The load on the network, where the routes are known (XY, fabric/mesh.h).
struct FabricCost {
  std::int64_t hops = 0;               ///< Σ over messages of wavelets · distance
  std::int64_t link_hops = 0;          ///< Σ over links of their load: a multicast counts once per
                                       ///< link
  std::int64_t max_link_wavelets = 0;  ///< over one directed link
  std::int64_t max_ramp_wavelets = 0;  ///< into or out of one place; a multicast leaves once
  std::int64_t longest_distance = 0;   ///< steps of the longest message
  std::int64_t depth = 0;   ///< longest chain of dependent steps: 1, or 0 without messages
  std::int64_t cycles = 0;  ///< see below
  friend bool operator==(const FabricCost&, const FabricCost&) = default;
};

/// The cost of a reshard.
///
/// cycles = max(C, max(E/N, M) + L) + (2·T_R + 1)·D, with C the most wavelets through one ramp, E
/// the wavelet-hops, N the links used, M the largest link load, L the longest distance, D the depth
/// (Near-Optimal Wafer-Scale Reduce, HPDC 2024). M is never below E/N, so N is not needed.
struct ReshardCost {
  std::int64_t bytes = 0;        ///< bytes that cross between places; each destination is counted
  std::int64_t local_bytes = 0;  ///< bytes copied inside places
  std::int64_t messages = 0;     ///< ordered pairs of different places
  std::int64_t wavelets = 0;     ///< Σ over messages, each rounded up
  std::optional<FabricCost> fabric;
  friend bool operator==(const ReshardCost&, const ReshardCost&) = default;
};

/// Exact, computed from the product form. The work grows with the number of places along the axes,
/// not with their product; if one dim drives both axes, it grows with the number of links.
/// Law: every field equals what listing the transfers and walking their routes gives.
/// Errors: kTooLarge where the product form does not apply and there are more than 2^23 messages;
/// kOverflow.
Result<ReshardCost> cost_of(const Reshard& reshard);

/// The most elements that are copied inside one place. Errors as for cost_of.
Result<std::int64_t> busiest_local(const Reshard& reshard);

/// The load of each directed link, in wavelets. The link that leaves router (r, c) in a direction
/// is at index r·cols + c. Links that would leave the mesh carry nothing.
struct LinkLoads {
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  std::vector<std::int64_t> east, west, south, north;
};

/// Errors: kNotSupported where the routes are not known; kTooLarge for more than 2^24 routers; and
/// the errors of cost_of.
/// Law: the largest load is max_link_wavelets, and the sum of all loads is link_hops.
Result<LinkLoads> link_loads(const Reshard& reshard);

}  // namespace tessera::reshard
