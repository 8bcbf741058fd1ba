// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tessera/layout/layout.h"

namespace tessera::test {

/// Random choices that can be made simpler: after `budget` rolls every roll is 0, and 0 is always
/// the simplest choice. A failing (seed, budget) pair therefore shrinks by lowering the budget.
class Dice {
 public:
  explicit Dice(std::uint64_t seed, std::int64_t budget = INT64_MAX)
      : engine_(seed), left_(budget) {}

  /// A number in [0, n); 0 for n below 1.
  std::int64_t below(std::int64_t n);
  /// A number in [low, high], low when the budget is spent.
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  /// True `percent` times in a hundred, never when the budget is spent.
  bool chance(int percent) { return below(100) >= 100 - percent; }
  /// A random order of 0 .. n-1.
  std::vector<std::size_t> order(std::size_t n);

 private:
  std::mt19937_64 engine_;
  std::int64_t left_;
};

/// How large random forms grow.
struct Limits {
  std::int64_t max_rank = 3;
  std::int64_t max_extent = 12;
  std::int64_t max_elements = 200;
  std::int64_t max_mesh_rank = 2;
  std::int64_t max_places = 16;
  std::int64_t max_slots = 2000;  ///< of all places together
};

/// A spec that is usually a layout: collapsed, gapped and flipped lines, chains that divide, do not
/// divide or grow, counts above the needed ones, gaps between strides, replicas, partial sums,
/// synthetic digits, dims in two folds, digits placed nowhere, offsets and explicit slots.
LayoutSpec random_spec(Dice& dice, const Limits& limits);

/// A layout made from the first valid spec; nothing when none of `attempts` is valid.
std::optional<Layout> random_layout(Dice& dice, const Limits& limits, int attempts = 20);

/// The same for a given shape and element type, so that tests can draw two layouts of one tensor.
std::optional<Layout> random_layout_of(Dice& dice, const Shape& shape, DType dtype,
                                       const Limits& limits, int attempts = 20);

/// A well-formed form that need not be injective and may omit dims.
Form random_form(Dice& dice, const Limits& limits);

/// The same function written differently: digits split, zero digits inserted, folds reordered or
/// joined into one line, constants moved between offset, fills and synthetic folds.
Form rewrite(Dice& dice, Form form);

/// A neighbour of the form: one number changed. Often another function, always well-formed.
Form perturb(Dice& dice, const Form& form);

}  // namespace tessera::test
