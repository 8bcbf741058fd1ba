// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/greedy.h"

#include <algorithm>
#include <chrono>

#include "tessera/memory/first_fit.h"
#include "tessera/memory/skyline.h"

namespace tessera::memory {
namespace {

using Clock = std::chrono::steady_clock;

/// Runs rules, and keeps the best plan of all.
///
/// A rule is an order for the skyline. Long lives come first, for they are the hardest to place
/// later, but time counts for more the closer a section is to the highest: an hour at the peak is
/// worth more than a day in the valley, where room is plenty. Sections are weighed by
/// (height / highest)^(2^sharpness), first with the bytes that live there as the height, then with
/// the height that the plans before needed there, so that what came out too high goes down earlier
/// the next time. All in integers: the same order everywhere.
class Rules {
 public:
  Rules(const Packing& packing, Clock::time_point deadline)
      : packing_(packing), deadline_(deadline) {}

  [[nodiscard]] bool build() {
    return (!some_fixed() && !has_hints(packing_)) || first_fit_.build(packing_);
  }

  /// Puts down everything that is nowhere in `pinned`. The best plan into `best` when it is below
  /// `peak`, which it lowers; stops at a plan that is at most `good_enough`.
  [[nodiscard]] bool run(const Array<std::int64_t>& pinned, std::int64_t good_enough,
                         Array<std::int64_t>& best, std::int64_t& peak);

  FirstFit& first_fit() { return first_fit_; }

 private:
  struct Key {
    double weight = 0;
    std::int64_t size = 0;
    std::int32_t block = 0;
  };
  static constexpr int kOne = 20;  // bits of a weight of 1
  static constexpr int kBlunt = -1;
  static constexpr std::size_t kSmall = 2048;  // blocks: all pairs are cheap

  bool some_fixed() const {
    return std::any_of(packing_.blocks.begin(), packing_.blocks.end(),
                       [](const Block& block) { return block.fixed >= 0; });
  }
  bool late() const { return Clock::now() >= deadline_; }
  [[nodiscard]] bool sort_members(int sharpness, bool by_area);
  [[nodiscard]] bool learn();
  [[nodiscard]] bool run_on(const Array<std::int64_t>& ground, const Array<std::int64_t>& pinned,
                            std::int64_t good_enough, Array<std::int64_t>& best,
                            std::int64_t& peak);
  [[nodiscard]] bool go_around(const Array<std::int64_t>& pinned, bool& done);

  const Packing& packing_;
  const Clock::time_point deadline_;
  Skyline skyline_;
  FirstFit first_fit_;
  Array<std::int32_t> members_;
  Array<std::int32_t> order_;
  Array<Key> keys_;
  Array<std::int64_t> profile_;     // the height of each section that orders go by
  Array<std::int64_t> heights_;     // that the last plan reached
  Array<std::int64_t> weight_sum_;  // of the sections before each
  Array<std::int64_t> plan_;
};

bool Rules::sort_members(int sharpness, bool by_area) {
  const auto sections = static_cast<std::size_t>(packing_.sections);
  if (!weight_sum_.resize(sections + 1) || !keys_.resize(members_.size())) return false;
  const auto highest = static_cast<double>(*std::max_element(profile_.begin(), profile_.end()));
  for (std::size_t s = 0; s < sections; ++s) {
    auto weight = std::int64_t{1} << kOne;
    if (sharpness != kBlunt && highest > 0) {
      weight = static_cast<std::int64_t>(static_cast<double>(profile_[s]) / highest *
                                         static_cast<double>(weight));
      for (int i = 0; i < sharpness; ++i) weight = (weight * weight) >> kOne;
    }
    weight_sum_[s + 1] = weight_sum_[s] + weight + 1;
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Block& block = packing_.blocks[static_cast<std::size_t>(members_[i])];
    auto weight = static_cast<double>(weight_sum_[static_cast<std::size_t>(block.to)] -
                                      weight_sum_[static_cast<std::size_t>(block.from)]);
    if (by_area) weight *= static_cast<double>(block.size);
    keys_[i] = {weight, block.size, members_[i]};
  }
  std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
    if (a.weight != b.weight) return a.weight > b.weight;
    return a.size != b.size ? a.size > b.size : a.block < b.block;
  });
  if (!order_.resize(keys_.size())) return false;
  for (std::size_t i = 0; i < keys_.size(); ++i) order_[i] = keys_[i].block;
  return true;
}

/// Half of what was known, half of what the last plan needed.
bool Rules::learn() {
  if (!reached(packing_, plan_, heights_)) return false;
  for (std::size_t s = 0; s < heights_.size(); ++s) {
    profile_[s] = profile_[s] / 2 + heights_[s] / 2;
  }
  return true;
}

/// Takes up the members that meet what is pinned, or all of them when they are few, and puts them
/// down again from the lowest up, around it. Not `done` when time runs out.
bool Rules::go_around(const Array<std::int64_t>& pinned, bool& done) {
  order_.clear();
  for (const std::int32_t member : members_) {
    bool free = false;
    if (members_.size() > kSmall) {
      if (late()) return true;
      if (!first_fit_.is_free(member, plan_[static_cast<std::size_t>(member)], pinned, free)) {
        return false;
      }
    }
    if (!free && !order_.push(member)) return false;
  }
  const std::int64_t* const offset = plan_.data();
  std::sort(order_.begin(), order_.end(), [offset](std::int32_t a, std::int32_t b) {
    return offset[a] != offset[b] ? offset[a] < offset[b] : a < b;
  });
  for (const std::int32_t member : order_) plan_[static_cast<std::size_t>(member)] = kNowhere;
  for (const std::int32_t member : order_) {
    if (late()) return true;
    if (!first_fit_.lowest(member, plan_, plan_[static_cast<std::size_t>(member)])) return false;
  }
  done = true;
  return true;
}

bool Rules::run_on(const Array<std::int64_t>& ground, const Array<std::int64_t>& pinned,
                   std::int64_t good_enough, Array<std::int64_t>& best, std::int64_t& peak) {
  const bool around = &ground != &pinned;
  if (!skyline_.build(packing_, members_, ground) || !profile_.copy(packing_.live)) return false;
  struct Rule {
    int sharpness;
    bool by_area;
    bool learned;
  };
  constexpr Rule kRules[] = {{5, false, false},     {6, false, false}, {kBlunt, false, false},
                             {kBlunt, true, false}, {5, false, true},  {5, false, true},
                             {5, false, true},      {5, false, true}};
  constexpr int kMoreForFew = 8;  // rounds of learning
  const int rules =
      static_cast<int>(std::size(kRules)) + (members_.size() <= kSmall ? kMoreForFew : 0);
  bool first = true;
  for (int i = 0; i < rules; ++i) {
    if (peak <= good_enough || (late() && (around || !first))) return true;
    const Rule rule =
        kRules[std::min<std::size_t>(static_cast<std::size_t>(i), std::size(kRules) - 1)];
    if ((rule.learned && !learn()) || !sort_members(rule.sharpness, rule.by_area) ||
        !plan_.copy(pinned) || !skyline_.run(order_, plan_)) {
      return false;
    }
    bool done = !around;
    if (around && !go_around(pinned, done)) return false;
    if (!done) return true;
    first = false;
    const std::int64_t reaches = peak_of(packing_, plan_);
    if (reaches < peak) {
      peak = reaches;
      if (!best.copy(plan_)) return false;
    }
  }
  return true;
}

bool Rules::run(const Array<std::int64_t>& pinned, std::int64_t good_enough,
                Array<std::int64_t>& best, std::int64_t& peak) {
  members_.clear();
  for (std::size_t i = 0; i < pinned.size(); ++i) {
    if (pinned[i] == kNowhere && !members_.push(static_cast<std::int32_t>(i))) return false;
  }
  if (members_.empty()) {
    peak = std::min(peak, peak_of(packing_, pinned));
    return best.copy(pinned);
  }
  if (!run_on(pinned, pinned, good_enough, best, peak)) return false;
  if (members_.size() == pinned.size() || peak <= good_enough) return true;
  Array<std::int64_t> nothing;
  return nothing.assign(pinned.size(), kNowhere) &&
         run_on(nothing, pinned, good_enough, best, peak);
}

}  // namespace

Result<std::int64_t> greedy(const Packing& packing, const GreedyOptions& options,
                            Array<std::int64_t>& offsets) {
  const auto seconds = std::chrono::duration<double>(std::clamp(options.seconds, 0.0, 1e6));
  Rules rules(packing, Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds));
  Array<std::int64_t> pinned;
  if (!rules.build() || !pinned.assign(packing.blocks.size(), kNowhere)) return out_of_memory();
  for (std::size_t i = 0; i < pinned.size(); ++i) {
    if (packing.blocks[i].fixed >= 0) pinned[i] = packing.blocks[i].fixed;
  }
  std::int64_t peak = INT64_MAX;
  // No plan at all is not good enough, whatever is.
  const std::int64_t good_enough = std::min(options.good_enough, peak - 1);
  if (!rules.run(pinned, good_enough, offsets, peak)) return out_of_memory();
  if (has_hints(packing)) {
    // All hints at once when that costs nothing, else those that happen to be free.
    if (!rules.first_fit().follow_hints(peak, pinned)) return out_of_memory();
    std::int64_t hinted_peak = peak + 1;
    if (!rules.run(pinned, peak, offsets, hinted_peak) ||
        !rules.first_fit().follow_hints(peak, offsets)) {
      return out_of_memory();
    }
    peak = peak_of(packing, offsets);  // a hint may have moved what was highest
  }
  return peak;
}

}  // namespace tessera::memory
