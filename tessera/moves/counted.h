// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/result.h"
#include "tessera/moves/dealt_side.h"
#include "tessera/moves/pair_sums.h"
#include "tessera/moves/stored.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// The largest number of pieces that are counted one by one.
inline constexpr std::int64_t kMostTransfers = std::int64_t{1} << 22;

/// Both sides in short form. kShapeMismatch where A and B are not of one tensor.
struct BothSides {
  DealtSide a;
  DealtSide b;
};
Result<BothSides> both_sides(const Machine& machine, const Stored& a, const Stored& b);

/// Elements between two reduced places; or two steps, and how many elements take them.
struct Cell {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t elements = 0;
};

/// Two tensors of one layout each, and what is common to all ways of counting.
struct Counted {
  const DealtSide& a;
  const DealtSide& b;
  std::vector<std::int64_t> copies_a;
  std::vector<std::int64_t> copies_b;
  std::vector<Cell> cells;  ///< none for an empty tensor
  std::int64_t run = 1;     ///< elements that follow each other on both sides
};

/// Counts dim by dim, whatever the number of pages. `bytes` is that of the elements.
/// Errors: kTooLarge for more than kMostTransfers pairs of parts; kOverflow.
Result<Counted> counted(const DealtSide& a, const DealtSide& b,
                        const reshard::Reshard::Rate& bytes);

/// The form with only the first of the copies that it keeps of each element.
Form first_copies(Form form);

/// The copy of A that a destination reads: itself, or the one with the fewest steps(copy,
/// destination), on a tie the first.
template <typename Steps>
std::int64_t nearest_copy(const DealtSide& a, std::int64_t first,
                          const std::vector<std::int64_t>& copies, std::int64_t destination,
                          const Steps& steps) {
  const std::int64_t own = a.endpoint(first);
  if (copies.size() == 1) return own;
  std::int64_t best = own;
  std::int64_t fewest = INT64_MAX;
  for (const std::int64_t copy : copies) {
    const std::int64_t endpoint = a.endpoint(a.sum(first, copy));
    if (endpoint == destination) return endpoint;
    const std::int64_t way = steps(endpoint, destination);
    if (way >= fewest) continue;
    best = endpoint;
    fewest = way;
  }
  return best;
}

/// The elements between endpoints.
template <typename Steps>
PairSums pairs_of(const Counted& all, std::int64_t endpoints, const Steps& steps) {
  PairSums pairs(endpoints, std::ssize(all.cells) * std::ssize(all.copies_b));
  for (const Cell& cell : all.cells) {
    const std::int64_t runs = ceil_div(cell.elements, all.run);
    for (const std::int64_t copy : all.copies_b) {
      const std::int64_t to = all.b.endpoint(all.b.sum(cell.b, copy));
      pairs.add(nearest_copy(all.a, cell.a, all.copies_a, to, steps), to, cell.elements, runs);
    }
  }
  return pairs;
}

}  // namespace tessera::moves
