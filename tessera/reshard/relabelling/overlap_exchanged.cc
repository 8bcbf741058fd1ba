// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "tessera/reshard/relabelling/overlap.h"

namespace tessera::reshard {

std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> kept_where_exchanged(
    const ProductOverlap& product, const AxisSeats& own) {
  using Pair = std::pair<std::int64_t, std::int64_t>;
  std::unordered_map<std::int64_t, std::int64_t> role_at;  // of axis 1, by its coordinate
  for (std::size_t v = 0; v < own.coords[1].size(); ++v) {
    role_at[own.coords[1][v]] = static_cast<std::int64_t>(v);
  }
  std::map<Pair, std::int64_t> held;  // along axis 1: (role, seat)
  for (const AxisEntry& entry : product.axes[1].held) held[{entry.role, entry.seat}] = entry.count;
  std::map<Pair, std::int64_t> kept;
  for (const AxisEntry& entry : product.axes[0].held) {
    const auto role = role_at.find(entry.seat);
    if (role == role_at.end()) continue;
    const std::int64_t seat = own.coords[0][static_cast<std::size_t>(entry.role)];
    const auto other = held.find({role->second, seat});
    if (other == held.end()) continue;
    kept[{entry.role, role->second}] += product.rest * entry.count * other->second;
  }
  return kept;
}

}  // namespace tessera::reshard
