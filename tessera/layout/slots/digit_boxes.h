// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/layout/form.h"

namespace tessera {

/// Half-open range of digit values.
struct DigitRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t count() const { return to > from ? to - from : 0; }
  friend bool operator==(const DigitRange&, const DigitRange&) = default;
};

/// The allocated settings (combinations of values) of a fold's digits, classified by meaning.
///
/// The digits d_1 .. d_n of cuts w_1 .. w_n represent the point p = Σ d·w if and only if, at every
/// cut, the sum of d·w over the later cuts is less than its width, and p < E. From the innermost
/// cut outwards, the first of these tests that fails determines the cause of the padding.
///
/// Each digit may be confined to a range (a mesh digit to the value of one place), which keeps
/// closed forms possible: counting takes one pass over the cuts, and the settings between two
/// bounds are a few boxes.
class DigitBoxes {
 public:
  /// Unplaced digits of which the data needs only one value are confined to 0.
  DigitBoxes(const Fold& fold, const Shape& shape);

  std::size_t cuts() const { return fold_->cuts.size(); }
  const Fold& fold() const { return *fold_; }
  std::int64_t extent() const { return extent_; }
  const DigitRange& range(std::size_t cut) const { return ranges_[cut]; }
  void confine(std::size_t cut, DigitRange range) { ranges_[cut] = range; }

  /// The number of settings of all digits, valid or not.
  std::int64_t settings() const;
  /// The number of settings that represent a point below `limit` (and pass every inner test).
  std::int64_t points_below(std::int64_t limit) const { return below(0, limit); }
  /// The number of settings whose innermost failed test is the one that `cut` overshoots.
  std::int64_t failures(std::size_t cut) const;

  using Visit = std::function<bool(const std::vector<DigitRange>&)>;
  /// Visits disjoint boxes of settings that represent the points in [from, to). False if `visit`
  /// stopped.
  bool points(std::int64_t from, std::int64_t to, const Visit& visit) const;
  /// Visits disjoint boxes of settings whose innermost failed test is the one that `cut`
  /// overshoots.
  bool overshoots(std::size_t cut, const Visit& visit) const;

 private:
  std::int64_t limit(std::size_t cut) const {
    return cut == 0 ? extent_ : fold_->cuts[cut - 1].width;
  }
  std::int64_t below(std::size_t cut, std::int64_t limit) const;
  bool between(std::size_t cut, std::int64_t from, std::int64_t to, std::vector<DigitRange>& box,
               const Visit& visit) const;

  const Fold* fold_;
  std::int64_t extent_;
  std::vector<DigitRange> ranges_;
};

/// Which points of a fold's line are indices: p = start + Σ coef·x.
class LinePoints {
 public:
  LinePoints(const Fold& fold, const Shape& shape);

  /// The number of points below the line's extent that are indices. Empty if counting would take
  /// too long because the coefficients neither nest nor tile.
  std::optional<std::int64_t> count() const;
  /// Whether every point from 0 to the extent is an index.
  bool ungapped() const;
  /// Whether each point has at most one index, found greedily by decreasing coefficients.
  bool nested() const { return nested_; }

  /// Visits maximal runs [from, to) of points that are indices, in increasing order. False if
  /// `visit` stopped, or if the runs cannot be enumerated within 2^20 steps (then `too_large` is
  /// set).
  bool runs(const std::function<bool(std::int64_t, std::int64_t)>& visit, bool& too_large) const;

  struct Weight {
    int dim;
    std::int64_t extent;
    std::int64_t coef;  ///< absolute
    bool flipped;
    std::int64_t below;  ///< the largest sum of the later terms
  };
  const std::vector<Weight>& weights() const { return weights_; }
  std::int64_t first() const { return first_; }
  std::int64_t extent() const { return extent_; }

 private:
  std::vector<Weight> weights_;  // by decreasing coefficient
  std::int64_t first_ = 0;
  std::int64_t extent_ = 0;
  bool nested_ = true;
};

}  // namespace tessera
