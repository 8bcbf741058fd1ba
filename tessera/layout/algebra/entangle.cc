// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/algebra/entangle.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"

namespace tessera {
namespace {

constexpr int kMaxSteps = 1 << 20;
using Wide = __int128;

Wide floor_wide(Wide a, Wide b) {
  const Wide q = a / b;
  return q - (a % b < 0 ? 1 : 0);
}

/// Depth-first search over the digits from the largest stride down; `rest_*` bound what the
/// remaining digits can cancel.
class Search {
 public:
  Search(const std::vector<BoxDigit>& digits, std::size_t free)
      : digits_(digits), free_(free), delta_(digits.size(), 0) {
    order_.resize(digits.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t i, std::size_t j) {
      const Position& a = digits[i].move;
      const Position& b = digits[j].move;
      return std::abs(a.slot) != std::abs(b.slot) ? std::abs(a.slot) > std::abs(b.slot)
                                                  : std::abs(a.place) > std::abs(b.place);
    });
    rest_.resize(digits.size() + 1);
    for (std::size_t i = digits.size(); i-- > 0;) {
      const BoxDigit& digit = digits[order_[i]];
      rest_[i] = rest_[i + 1];
      if (digit.count < 2) continue;
      rest_[i].slot_reach += Wide(digit.count - 1) * std::abs(digit.move.slot);
      rest_[i].place_reach += Wide(digit.count - 1) * std::abs(digit.move.place);
      rest_[i].slot_gcd = std::gcd(rest_[i].slot_gcd, digit.move.slot);
      rest_[i].place_gcd = std::gcd(rest_[i].place_gcd, digit.move.place);
    }
  }

  Result<std::optional<std::vector<std::int64_t>>> run() {
    if (find_pair()) return std::optional(delta_);
    if (find(0, 0, 0, false, true)) return std::optional(delta_);
    if (Work::is_spent()) return Work::too_large("deciding whether strides collide");
    if (steps_ > kMaxSteps) {
      return Error{ErrorCode::kTooLarge, "strides are too entangled to decide whether they collide",
                   std::nullopt, "use strides that nest: each a multiple of what is below it"};
    }
    return std::optional<std::vector<std::int64_t>>();
  }

 private:
  struct Rest {
    Wide slot_reach = 0;
    Wide place_reach = 0;
    std::int64_t slot_gcd = 0;
    std::int64_t place_gcd = 0;
  };

  static bool reachable(Wide sum, Wide reach, std::int64_t divisor) {
    if (sum < -reach || sum > reach) return false;
    return divisor == 0 ? sum == 0 : sum % divisor == 0;
  }

  static void clip(Wide sum, Wide stride, Wide reach, Wide& low, Wide& high) {
    if (stride == 0) return;
    if (stride < 0) return clip(-sum, -stride, reach, low, high);
    low = std::max(low, -floor_wide(reach + sum, stride));
    high = std::min(high, floor_wide(reach - sum, stride));
  }

  /// How often `unit` goes into `move`, which is a multiple of it.
  static std::int64_t multiple(const Position& move, const Position& unit) {
    return unit.slot != 0 ? move.slot / unit.slot : move.place / unit.place;
  }

  /// The shortest step along the direction of `move`; for parallel moves equal but for its sign.
  static Position unit_of(const Position& move) {
    const std::int64_t divisor = std::gcd(move.slot, move.place);
    Position unit{move.place / divisor, move.slot / divisor};
    if (unit.slot < 0 || (unit.slot == 0 && unit.place < 0)) unit = unit * -1;
    return unit;
  }

  /// Two digits alone, exactly: a·x = b·y has the smallest solution x = b/g, y = a/g, and no other
  /// has smaller numbers. This finds what most overlapping strides have, at any size.
  bool find_pair() {
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      const BoxDigit& one = digits_[i];
      if (one.count < 2) continue;
      if (one.move.is_zero()) {
        if (i >= free_) continue;
        delta_[i] = 1;
        return true;
      }
      const Position unit = unit_of(one.move);
      for (std::size_t j = i + 1; j < digits_.size(); ++j) {
        ++steps_;
        const BoxDigit& two = digits_[j];
        if (two.count < 2 || (i >= free_ && j >= free_) || two.move.is_zero()) continue;
        if (unit_of(two.move) != unit) continue;
        const std::int64_t a = multiple(one.move, unit);
        const std::int64_t b = multiple(two.move, unit);
        const std::int64_t divisor = std::gcd(a, b);
        if (std::abs(b / divisor) >= one.count || std::abs(a / divisor) >= two.count) continue;
        delta_[i] = b / divisor;
        delta_[j] = -(a / divisor);
        return true;
      }
    }
    return false;
  }

  bool find(std::size_t i, Wide place, Wide slot, bool counted, bool all_zero) {
    if (!step()) return false;
    if (i == order_.size()) return counted && place == 0 && slot == 0;
    const BoxDigit& digit = digits_[order_[i]];
    const Rest& rest = rest_[i + 1];
    Wide high = std::max<std::int64_t>(digit.count, 1) - 1;
    Wide low = all_zero ? Wide(0) : -high;  // a solution and its negation count as one
    clip(slot, digit.move.slot, rest.slot_reach, low, high);
    clip(place, digit.move.place, rest.place_reach, low, high);
    for (Wide delta = low; delta <= high && steps_ <= kMaxSteps; ++delta) {
      const Wide next_slot = slot + delta * digit.move.slot;
      const Wide next_place = place + delta * digit.move.place;
      if (!reachable(next_slot, rest.slot_reach, rest.slot_gcd) ||
          !reachable(next_place, rest.place_reach, rest.place_gcd)) {
        if (!step()) return false;
        continue;
      }
      delta_[order_[i]] = static_cast<std::int64_t>(delta);
      const bool counts = counted || (delta != 0 && order_[i] < free_);
      if (find(i + 1, next_place, next_slot, counts, all_zero && delta == 0)) return true;
    }
    delta_[order_[i]] = 0;
    return false;
  }

  /// Counts a step; false when the search has to end.
  bool step() {
    if (!Work::spend()) steps_ = kMaxSteps;
    return ++steps_ <= kMaxSteps;
  }

  const std::vector<BoxDigit>& digits_;
  std::size_t free_;
  std::vector<std::int64_t> delta_;
  std::vector<std::size_t> order_;
  std::vector<Rest> rest_;
  int steps_ = 0;
};

}  // namespace

Result<std::optional<std::vector<std::int64_t>>> box_collision(const std::vector<BoxDigit>& digits,
                                                               std::size_t free) {
  return Search(digits, free).run();
}

}  // namespace tessera
