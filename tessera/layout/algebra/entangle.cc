// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/algebra/entangle.h"

#include <algorithm>
#include <numeric>

#include "tessera/base/checked.h"

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
      return a.slot != b.slot ? a.slot > b.slot : a.place > b.place;
    });
    rest_.resize(digits.size() + 1);
    for (std::size_t i = digits.size(); i-- > 0;) {
      const BoxDigit& digit = digits[order_[i]];
      rest_[i] = rest_[i + 1];
      if (digit.count < 2) continue;
      rest_[i].slot_reach += Wide(digit.count - 1) * digit.move.slot;
      rest_[i].place_reach += Wide(digit.count - 1) * digit.move.place;
      rest_[i].slot_gcd = std::gcd(rest_[i].slot_gcd, digit.move.slot);
      rest_[i].place_gcd = std::gcd(rest_[i].place_gcd, digit.move.place);
    }
  }

  Result<std::optional<std::vector<std::int64_t>>> run() {
    if (find(0, 0, 0, false, true)) return std::optional(delta_);
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
    low = std::max(low, -floor_wide(reach + sum, stride));
    high = std::min(high, floor_wide(reach - sum, stride));
  }

  bool find(std::size_t i, Wide place, Wide slot, bool counted, bool all_zero) {
    if (++steps_ > kMaxSteps) return false;
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
        ++steps_;
        continue;
      }
      delta_[order_[i]] = static_cast<std::int64_t>(delta);
      const bool counts = counted || (delta != 0 && order_[i] < free_);
      if (find(i + 1, next_place, next_slot, counts, all_zero && delta == 0)) return true;
    }
    delta_[order_[i]] = 0;
    return false;
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
