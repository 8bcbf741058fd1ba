// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/ops/supply.h"

namespace tessera::test {

/// The elements of a tensor, by row-major number, that each place has. Places without any may be
/// missing.
using Held = std::map<Place, std::set<std::int64_t>>;
Held held_by_place(const Layout& layout);

/// The same after the halos have been exchanged: by enumeration, what halo_exchange.h says that
/// each place then has. Places behind the last block, or before the first, get what lies
/// beside the end of the dim.
Held with_halos(const Layout& layout, const std::vector<ops::Halo>& halos);

/// By enumeration, the smallest halos that bring every place what it needs along each dim that has
/// one, up to the first and the last element.
std::vector<ops::Halo> smallest_halos(const Layout& layout, const std::vector<ops::Halo>& halos,
                                      const Held& needed);

/// Whether the exchange of these halos brings every place that has a block, or needs something,
/// exactly its block and the halos, each element to a slot of its own, and nothing to places beyond
/// those; or is refused as not supported. Returns what is wrong, or "".
std::string exchange_mistake(const Layout& operand, const std::vector<ops::Halo>& halos,
                             const std::vector<std::int64_t>& readers, const Held& needed);

/// The share of a number that coordinate `k` of `count` has, if it is the reduction of them all.
/// Numbers that are no floats are whole on one coordinate.
long double share_of(Reduction reduction, long double number, std::int64_t k, std::int64_t count,
                     std::int64_t salt, bool is_float);

/// Of a place that has an element in shares: the number of its share, and of how many.
struct ShareNumber {
  std::int64_t k = 0;
  std::int64_t count = 1;
};
ShareNumber share_at(const Layout& layout, const Index& element, const Place& place);

}  // namespace tessera::test
