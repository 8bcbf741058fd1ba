// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/slots/fold_classes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxPoints = std::int64_t{1} << 22;
constexpr std::size_t kMaxJoined = 256;  // beyond this many boxes, joining costs more than it saves

Error too_entangled() {
  return Error{ErrorCode::kTooLarge,
               cat("a fold with gaps is compared point by point, but this one has more than ",
                   kMaxPoints, " points"),
               std::nullopt, "fold dims without gaps between them"};
}

/// The largest contribution to the slot by data settings of the fold, with mesh digits confined.
std::int64_t last_slot(const DigitBoxes& digits) {
  std::int64_t largest = 0;
  digits.points(0, digits.extent(), [&](const std::vector<DigitRange>& box) {
    std::int64_t slot = 0;
    for (std::size_t k = 0; k < box.size(); ++k) {
      const Cut& cut = digits.fold().cuts[k];
      if (cut.target.is_memory()) slot += (box[k].to - 1) * cut.stride;
    }
    largest = std::max(largest, slot);
    return true;
  });
  return largest;
}

/// Classes of a fold without gaps. Increasing a mesh digit can only remove settings of the other
/// digits, so two values of it leave the same set exactly if they leave the same number. So classes
/// are intervals, found by bisection, one mesh digit after the other.
class FoldClasses {
 public:
  FoldClasses(const Fold& fold, const Shape& shape) : digits_(fold, shape) {
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (fold.cuts[k].target.is_mesh()) mesh_.push_back(k);
    }
  }

  std::vector<FoldClass> run() {
    std::vector<DigitRange> box(digits_.cuts());
    for (std::size_t k = 0; k < box.size(); ++k) box[k] = digits_.range(k);
    split(0, box);
    std::vector<FoldClass> list;
    for (auto& [signature, fold_class] : classes_) {
      join_boxes(fold_class.boxes);
      list.push_back(std::move(fold_class));
    }
    return list;
  }

 private:
  void split(std::size_t i, std::vector<DigitRange>& box) {
    if (i == mesh_.size()) return leaf(box);
    const std::size_t cut = mesh_[i];
    const DigitRange whole = digits_.range(cut);
    const auto left_by = [&](std::int64_t digit) {
      digits_.confine(cut, {digit, digit + 1});
      return digits_.points_below(digits_.extent());
    };
    for (std::int64_t from = whole.from; from < whole.to;) {
      const std::int64_t count = left_by(from);
      std::int64_t same = from;  // the last value known to leave the same number
      std::int64_t step = 1;
      while (same + step < whole.to && left_by(same + step) == count) {
        same += step;
        step *= 2;
      }
      for (; step > 0; step /= 2) {
        if (same + step < whole.to && left_by(same + step) == count) same += step;
      }
      box[cut] = {from, same + 1};
      digits_.confine(cut, {from, from + 1});
      split(i + 1, box);
      from = same + 1;
    }
    digits_.confine(cut, whole);
    box[cut] = whole;
  }

  /// For every cut, counts the settings of memory digits from there on that can still be data. Each
  /// test is tightened to what the outer tests allow, so that these counts distinguish the sets.
  std::vector<std::int64_t> signature() const {
    const Fold& fold = digits_.fold();
    const std::size_t n = fold.cuts.size();
    std::vector<Checked> mesh_part(n + 1, Checked(0));  // Σ of confined mesh digits from k on
    for (std::size_t k = n; k-- > 0;) {
      mesh_part[k] = mesh_part[k + 1];
      if (fold.cuts[k].target.is_mesh()) {
        mesh_part[k] += Checked(digits_.range(k).from) * fold.cuts[k].width;
      }
    }
    std::vector<std::int64_t> limit(n);
    for (std::size_t k = 0; k < n; ++k) {
      const std::int64_t bound = k == 0 ? digits_.extent() : fold.cuts[k - 1].width;
      const Checked rest = Checked(bound) - mesh_part[k];
      limit[k] = rest.overflowed() ? 0 : std::max<std::int64_t>(0, rest.raw());
      if (k > 0) limit[k] = std::min(limit[k], limit[k - 1]);
    }
    std::vector<std::int64_t> full(n + 1, 1);
    const auto count_from = [&](std::size_t k, std::int64_t bound) {
      std::int64_t total = 0;
      for (; k < n; ++k) {
        if (bound <= 0) return total;
        if (fold.cuts[k].target.is_mesh()) {
          bound = k + 1 < n ? std::min(bound, limit[k + 1]) : bound;
          continue;
        }
        const std::int64_t inner = k + 1 < n ? limit[k + 1] : 1;
        const std::int64_t width = fold.cuts[k].width;
        // Digits whose whole inner range fits, then the one with a partial range.
        const std::int64_t quotient = bound < inner ? 0 : (bound - inner) / width + 1;
        const DigitRange& range = digits_.range(k);
        total += std::max<std::int64_t>(0, std::min(quotient, range.to) - range.from) * full[k + 1];
        if (quotient < range.from || quotient >= range.to) return total;
        bound -= quotient * width;
      }
      return total + (bound > 0 ? 1 : 0);
    };
    for (std::size_t k = n; k-- > 0;) full[k] = count_from(k, limit[k]);
    return {full.begin(), full.end()};
  }

  void leaf(const std::vector<DigitRange>& box) {
    const std::int64_t elements = digits_.points_below(digits_.extent());
    std::vector<std::int64_t> key = elements == 0 ? std::vector<std::int64_t>{} : signature();
    FoldClass& fold_class = classes_[std::move(key)];
    fold_class.elements = elements;
    fold_class.last_slot = last_slot(digits_);
    fold_class.boxes.push_back(box);
  }

  DigitBoxes digits_;
  std::vector<std::size_t> mesh_;
  std::map<std::vector<std::int64_t>, FoldClass, std::greater<>> classes_;
};

/// Classes of a fold with gaps: the memory settings of every point, collected by mesh setting.
Result<std::vector<FoldClass>> gapped_classes(const Fold& fold, const Shape& shape) {
  const LinePoints line(fold, shape);
  const DigitBoxes digits(fold, shape);
  Checked settings = 1;
  std::vector<DigitRange> whole;
  for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
    whole.push_back(digits.range(k));
    if (fold.cuts[k].target.is_mesh()) settings *= digits.range(k).count();
  }
  if (line.extent() > kMaxPoints || settings.saturated() > kMaxPoints) {
    return too_entangled();
  }
  if (!Work::reserve(16 * (line.extent() + settings.raw()))) {
    return Work::too_large("comparing the points of a fold");
  }
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> held;  // mesh setting → slots
  bool too_large = false;
  line.runs(
      [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t p = from; p < to; ++p) {
          std::vector<std::int64_t> setting;
          std::int64_t left = p;
          std::int64_t slot = 0;
          for (const Cut& cut : fold.cuts) {
            const std::int64_t digit = left / cut.width;
            left %= cut.width;
            if (cut.target.is_mesh()) setting.push_back(digit);
            if (cut.target.is_memory()) slot += digit * cut.stride;
          }
          held[std::move(setting)].push_back(slot);
        }
        return true;
      },
      too_large);
  if (too_large) return too_entangled();
  std::map<std::vector<std::int64_t>, FoldClass, std::greater<>> classes;
  std::vector<std::int64_t> setting;
  for (const Cut& cut : fold.cuts) {
    if (cut.target.is_mesh()) setting.push_back(0);
  }
  for (bool more = settings.raw() > 0; more;) {
    std::vector<std::int64_t> slots;
    if (const auto found = held.find(setting); found != held.end()) slots = found->second;
    std::sort(slots.begin(), slots.end());
    std::vector<DigitRange> box = whole;
    std::size_t i = 0;
    std::size_t last_mesh = 0;
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (!fold.cuts[k].target.is_mesh()) continue;
      box[k] = {setting[i], setting[i] + 1};
      last_mesh = k;
      ++i;
    }
    FoldClass& fold_class = classes[slots];
    fold_class.elements = static_cast<std::int64_t>(slots.size());
    fold_class.last_slot = slots.empty() ? 0 : slots.back();
    // Extend the previous box if only its last mesh digit advances.
    bool extended = false;
    if (!fold_class.boxes.empty() && !setting.empty()) {
      std::vector<DigitRange>& before = fold_class.boxes.back();
      if (before[last_mesh].to == box[last_mesh].from) {
        std::vector<DigitRange> joined = before;
        joined[last_mesh] = box[last_mesh];
        if (joined == box) {
          before[last_mesh].to = box[last_mesh].to;
          extended = true;
        }
      }
    }
    if (!extended) fold_class.boxes.push_back(box);
    more = false;
    std::size_t k = fold.cuts.size();
    for (std::size_t s = setting.size(); s-- > 0 && !more;) {
      do --k;
      while (!fold.cuts[k].target.is_mesh());
      if (++setting[s] < whole[k].count()) {
        more = true;
      } else {
        setting[s] = 0;
      }
    }
  }
  std::vector<FoldClass> list;
  for (auto& [slots, fold_class] : classes) list.push_back(std::move(fold_class));
  return list;
}

}  // namespace

void join_boxes(std::vector<std::vector<DigitRange>>& boxes) {
  const auto touch = [](std::vector<DigitRange>& a, const std::vector<DigitRange>& b) {
    std::size_t differ = a.size();
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (a[k] == b[k]) continue;
      if (differ != a.size() || a[k].to != b[k].from) return false;
      differ = k;
    }
    if (differ == a.size()) return false;
    a[differ].to = b[differ].to;
    return true;
  };
  if (boxes.size() > kMaxJoined) return;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = 0; j < boxes.size();) {
      if (i != j && touch(boxes[i], boxes[j])) {
        boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(j));
        if (j < i) --i;
        j = 0;
      } else {
        ++j;
      }
    }
  }
}

Result<std::vector<FoldClass>> fold_classes(const Fold& fold, const Shape& shape) {
  if (LinePoints(fold, shape).ungapped()) return FoldClasses(fold, shape).run();
  return gapped_classes(fold, shape);
}

}  // namespace tessera
