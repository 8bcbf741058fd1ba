// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>

#include "tessera/testing/notation/sayable.h"

/// Searches in the notations of one memory.
namespace tessera::test {
namespace {

bool is_prime(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

std::int64_t last_slot(const Positions& positions) {
  std::int64_t last = 0;
  for (const RulePosition& position : positions.positions) last = std::max(last, position.slot);
  return last;
}

/// The slot of the element x along one dim, and 0 along the others.
std::int64_t slot_along(const Positions& positions, std::size_t dim, std::int64_t x) {
  Numbers index(positions.shape.size(), 0);
  index[dim] = x;
  return positions.at(index).slot;
}

/// Whether a mode of nested numbers has these slots: some first number n with a stride, above
/// another mode.
bool is_mode(const Numbers& slots) {
  const auto n = static_cast<std::int64_t>(slots.size());
  if (n == 1) return true;
  const std::int64_t stride = slots[1];
  if (stride < 0) return false;
  for (std::int64_t first = 2; first <= n; ++first) {
    if (n % first != 0) continue;
    Numbers outer;
    bool fits = true;
    for (std::int64_t x = 0; x < n && fits; ++x) {
      const std::int64_t begin = slots[static_cast<std::size_t>(x - x % first)];
      fits = slots[static_cast<std::size_t>(x)] == begin + x % first * stride;
      if (x % first == 0) outer.push_back(begin);
    }
    if (fits && is_mode(outer)) return true;
  }
  return false;
}

/// A layout whose fastest digits are removed one by one: the remaining slots and indices.
struct Peeled {
  Numbers slots;
  std::vector<Numbers> indices;
  std::int64_t room = 1;  ///< remaining slots

  bool done() const {
    const auto zero = [](std::int64_t n) { return n == 0; };
    return room == 1 && std::all_of(slots.begin(), slots.end(), zero) &&
           std::all_of(indices.begin(), indices.end(), [&](const Numbers& index) {
             return std::all_of(index.begin(), index.end(), zero);
           });
  }
  std::int64_t extent(std::size_t dim) const {
    std::int64_t last = 0;
    for (const Numbers& index : indices) last = std::max(last, index[dim]);
    return last + 1;
  }
};

constexpr std::size_t kNoDim = SIZE_MAX;

std::int64_t odd_even(std::int64_t x, std::int64_t size) { return x % 2 * (size / 2) + x / 2; }

/// The layout without its fastest digit, which counts `size` steps of `dim`; nothing when it does
/// not.
std::optional<Peeled> peel(const Peeled& whole, std::size_t dim, std::int64_t size,
                           bool deals = false) {
  for (std::size_t i = 0; i < whole.slots.size(); ++i) {
    std::int64_t digit = dim == kNoDim ? 0 : whole.indices[i][dim] % size;
    if (deals) digit = odd_even(digit, size);
    if (whole.slots[i] % size != digit) return std::nullopt;
  }
  Peeled left = whole;
  for (std::size_t i = 0; i < left.slots.size(); ++i) {
    left.slots[i] /= size;
    if (dim != kNoDim) left.indices[i][dim] /= size;
  }
  left.room /= size;
  return left;
}

Peeled unpeeled(const Positions& positions) {
  Peeled whole{{}, positions.indices, positions.slots};
  for (const RulePosition& position : positions.positions) whole.slots.push_back(position.slot);
  return whole;
}

/// A digit of any size equals several of prime size: only primes are tried.
bool peels(const Peeled& whole, bool synthetic, int& tries) {
  if (whole.done()) return true;
  if (--tries < 0) return false;
  const std::size_t rank = whole.indices.front().size();
  for (std::int64_t size = 2; size <= whole.room; ++size) {
    if (whole.room % size != 0 || !is_prime(size)) continue;
    for (std::size_t dim = 0; dim < rank + (synthetic ? 1 : 0); ++dim) {
      const auto left = peel(whole, dim == rank ? kNoDim : dim, size);
      if (left && peels(*left, synthetic, tries)) return true;
    }
  }
  return false;
}

bool packs(const Peeled& whole, int& tries) {
  if (whole.done()) return true;
  if (--tries < 0) return false;
  for (std::size_t dim = 0; dim < whole.indices.front().size(); ++dim) {
    const std::int64_t extent = whole.extent(dim);
    for (std::int64_t size = 2; size <= extent; ++size) {
      if (extent % size != 0) continue;
      for (const bool deals : {false, true}) {
        if (deals ? size % 2 != 0 : !is_prime(size)) continue;
        const auto left = peel(whole, dim, size, deals);
        if (left && packs(*left, tries)) return true;
      }
    }
  }
  return false;
}

/// Row-major in some order of the dims, without padding.
bool is_ordered(const Peeled& whole) {
  const std::size_t rank = whole.indices.front().size();
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  do {
    std::int64_t room = 1;
    Numbers stride(rank, 0);
    for (std::size_t i = rank; i-- > 0;) {
      stride[order[i]] = room;
      room *= whole.extent(order[i]);
    }
    bool fits = room == whole.room;
    for (std::size_t i = 0; fits && i < whole.slots.size(); ++i) {
      fits = whole.slots[i] == std::inner_product(stride.begin(), stride.end(),
                                                  whole.indices[i].begin(), std::int64_t{0});
    }
    if (fits) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

bool blocks(const Peeled& whole, int& tries) {
  if (is_ordered(whole)) return true;
  if (--tries < 0) return false;
  for (std::int64_t size = 2; size <= whole.room; ++size) {
    if (whole.room % size != 0 || !is_prime(size)) continue;
    for (std::size_t dim = 0; dim < whole.indices.front().size(); ++dim) {
      const auto left = peel(whole, dim, size);
      if (left && blocks(*left, tries)) return true;
    }
  }
  return false;
}

constexpr int kMostTries = 3000;

}  // namespace

bool finds_strides(const Positions& positions) {
  const std::size_t rank = positions.shape.size();
  const std::int64_t base = positions.positions.front().slot;
  Numbers steps(rank, 0);
  for (std::size_t dim = 0; dim < rank; ++dim) {
    if (positions.shape[dim] > 1) steps[dim] = slot_along(positions, dim, 1) - base;
  }
  for (std::size_t i = 0; i < positions.positions.size(); ++i) {
    const std::int64_t slot =
        std::inner_product(steps.begin(), steps.end(), positions.indices[i].begin(), base);
    if (slot != positions.positions[i].slot) return false;
  }
  return positions.slots == last_slot(positions) + 1;
}

bool finds_modes(const Positions& positions) {
  if (positions.positions.front().slot != 0 || positions.slots != last_slot(positions) + 1)
    return false;
  std::vector<Numbers> along(positions.shape.size());
  for (std::size_t dim = 0; dim < along.size(); ++dim) {
    for (std::int64_t x = 0; x < positions.shape[dim]; ++x) {
      along[dim].push_back(slot_along(positions, dim, x));
    }
    if (!is_mode(along[dim])) return false;
  }
  for (std::size_t i = 0; i < positions.positions.size(); ++i) {
    std::int64_t slot = 0;
    for (std::size_t dim = 0; dim < along.size(); ++dim) {
      slot += along[dim][static_cast<std::size_t>(positions.indices[i][dim])];
    }
    if (slot != positions.positions[i].slot) return false;
  }
  return true;
}

bool finds_packs(const Positions& positions) {
  int tries = kMostTries;
  return positions.slots == product(positions.shape) && packs(unpeeled(positions), tries);
}

bool finds_blocks(const Positions& positions) {
  int tries = kMostTries;
  return !positions.shape.empty() && blocks(unpeeled(positions), tries);
}

bool finds_dim_map(const Positions& positions, std::int64_t per_stick) {
  if (per_stick == 0 || positions.slots % per_stick != 0) return false;
  const Peeled whole = unpeeled(positions);
  for (std::size_t dim = 0; dim <= positions.shape.size(); ++dim) {
    const auto left = peel(whole, dim == positions.shape.size() ? kNoDim : dim, per_stick);
    int tries = kMostTries;
    if (left && peels(*left, true, tries)) return true;
  }
  return false;
}

bool finds_tiling(const Positions& positions) {
  const std::size_t rank = positions.shape.size();
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  const auto fits = [&](std::int64_t rows, std::int64_t cols) {
    // Physical dims slowest first, then those of the tile.
    Numbers extents;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t tile = i + 1 == rank ? cols : i + 2 == rank ? rows : 1;
      extents.push_back(ceil_divide(positions.shape[order[i]], tile));
    }
    if (product(extents) * rows * cols > positions.slots) return false;
    for (std::size_t e = 0; e < positions.positions.size(); ++e) {
      std::int64_t slot = 0;
      std::int64_t row = 0;
      std::int64_t col = 0;
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t tile = i + 1 == rank ? cols : i + 2 == rank ? rows : 1;
        const std::int64_t x = positions.indices[e][order[i]];
        slot = slot * extents[i] + x / tile;
        if (i + 1 == rank) col = x % tile;
        if (i + 2 == rank) row = x % tile;
      }
      if (positions.positions[e].slot != (slot * rows + row) * cols + col) return false;
    }
    return true;
  };
  do {
    const std::int64_t most_rows = rank < 2 ? 1 : positions.shape[order[rank - 2]];
    const std::int64_t most_cols = rank < 1 ? 1 : positions.shape[order[rank - 1]];
    for (std::int64_t rows = 1; rows <= most_rows + 1; ++rows) {
      for (std::int64_t cols = 1; cols <= most_cols + 1; ++cols) {
        if (rows > 1 && rank < 2) continue;
        if (fits(rows, cols)) return true;
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

}  // namespace tessera::test
