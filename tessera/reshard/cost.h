// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// What the network has to carry, where its routes are known (XY, fabric/mesh.h).
struct FabricCost {
  std::int64_t hops = 0;               ///< Σ over messages of wavelets · distance
  std::int64_t link_hops = 0;          ///< Σ over links of their load: multicasts count once a link
  std::int64_t max_link_wavelets = 0;  ///< over one directed link
  std::int64_t max_ramp_wavelets = 0;  ///< into or out of one place; a multicast leaves once
  std::int64_t longest_distance = 0;   ///< steps of the longest message
  std::int64_t depth = 0;   ///< longest chain of dependent steps: 1, or 0 without messages
  std::int64_t cycles = 0;  ///< see below
  friend bool operator==(const FabricCost&, const FabricCost&) = default;
};

/// What a reshard costs.
///
/// cycles = max(C, max(E/N, M) + L) + (2·T_R + 1)·D, with C the most wavelets through one ramp, E
/// the wavelet-hops, N the links used, M the largest link load, L the longest distance, D the depth
/// (Near-Optimal Wafer-Scale Reduce, HPDC 2024). M is never below E/N, so N is not needed.
struct ReshardCost {
  std::int64_t bytes = 0;        ///< crossing places; each destination counted
  std::int64_t local_bytes = 0;  ///< copied inside places
  std::int64_t messages = 0;     ///< ordered pairs of different places
  std::int64_t wavelets = 0;     ///< Σ over messages, each rounded up
  std::optional<FabricCost> fabric;
  friend bool operator==(const ReshardCost&, const ReshardCost&) = default;
};

/// Exact, from the product form: work grows with the places along the axes, not with their product,
/// unless one dim drives both axes, when it grows with the number of links.
/// Law: every field equals what listing the transfers and walking their routes gives.
/// Error kTooLarge where the product form does not apply and there are more than 2^23 messages;
/// kOverflow.
Result<ReshardCost> cost_of(const Reshard& reshard);

/// The load of each directed link, in wavelets: of the one that leaves router (r, c) in a
/// direction, at r·cols + c. Links that would leave the mesh carry nothing.
struct LinkLoads {
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  std::vector<std::int64_t> east, west, south, north;
};

/// kNotSupported where routes are not known; kTooLarge for more than 2^24 routers; else as cost_of.
/// Law: the largest of them is max_link_wavelets and their sum link_hops.
Result<LinkLoads> link_loads(const Reshard& reshard);

}  // namespace tessera::reshard
