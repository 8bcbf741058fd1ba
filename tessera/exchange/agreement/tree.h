// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::exchange {

/// The binomial tree of ranks 0 .. ranks - 1 with root 0, along which ranks decide. The parent of a
/// rank is the rank without its lowest set bit. So the depth is at most the number of bits of the
/// largest rank, and every rank has a lower number than all ranks below it.
/// Example, 6 ranks: 0 has 1, 2 and 4; 2 has 3; 4 has 5.
inline int tree_parent(int rank) { return rank & (rank - 1); }

/// The children of `rank`, the one with the smallest subtree first.
inline std::vector<int> tree_children(int rank, int ranks) {
  std::vector<int> children;
  for (std::int64_t bit = 1; rank + bit < ranks && (rank & bit) == 0; bit *= 2) {
    children.push_back(static_cast<int>(rank + bit));
  }
  return children;
}

}  // namespace tessera::exchange
