// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/memory/naive_alloc.h"

#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/testing/memory/families.h"

namespace tessera::test {
namespace {

using memory::Alias;
using memory::Buffer;
using memory::Gap;
using memory::Problem;

bool together(const Family& a, const Family& b) {
  return a.size > 0 && b.size > 0 && a.lower < b.upper && b.lower < a.upper;
}

/// Every order of placing families, each at the lowest offset above those placed before it whose
/// lifetimes overlap with it.
///
/// Proof that an optimum is among them: take any plan and place its families by increasing offset,
/// in this way. By induction none ends up higher than in the plan: those placed before it with
/// overlapping lifetimes are below it in the plan (their offsets are not above, and they do not
/// overlap), and now they are not higher than in the plan; so its old offset, which is aligned, is
/// still possible, and the new one is at most that. A fixed family is the same with "lowest"
/// replaced by "its own": the order is abandoned when something before it reaches past its offset,
/// which by the same argument the order of the plan itself never does. Conversely, what an order
/// builds is a plan, since of two with overlapping lifetimes the later is above the earlier.
class Orders {
 public:
  explicit Orders(std::vector<Family> families) : families_(std::move(families)) {
    start_.resize(families_.size());
    done_.resize(families_.size());
  }

  std::optional<std::int64_t> lowest() {
    search(0, 0);
    return best_;
  }
  const std::vector<std::int64_t>& starts() const { return best_start_; }

 private:
  void search(std::size_t depth, std::int64_t peak) {
    if (best_ && peak >= *best_) return;
    if (depth == families_.size()) {
      best_ = peak;
      best_start_ = start_;
      return;
    }
    for (std::size_t f = 0; f < families_.size(); ++f) {
      const Family& family = families_[f];
      if (done_[f]) continue;
      std::int64_t lowest = 0;
      for (std::size_t g = 0; g < families_.size(); ++g) {
        if (done_[g] && together(family, families_[g])) {
          lowest = std::max(lowest, start_[g] + families_[g].size);
        }
      }
      if (family.fixed) {
        if (*family.fixed < lowest) continue;
        lowest = *family.fixed;
      } else {
        lowest = (lowest + family.alignment - 1) / family.alignment * family.alignment;
      }
      start_[f] = lowest;
      done_[f] = true;
      search(depth + 1, family.size > 0 ? std::max(peak, lowest + family.size) : peak);
      done_[f] = false;
      if (family.size == 0) return;  // it obstructs none: any turn is as good as this one
    }
  }

  std::vector<Family> families_;
  std::vector<std::int64_t> start_;
  std::vector<bool> done_;
  std::optional<std::int64_t> best_;
  std::vector<std::int64_t> best_start_;
};

std::vector<std::int64_t> spread_out(const std::vector<Family>& families,
                                     const std::vector<std::int64_t>& starts, std::size_t buffers) {
  std::vector<std::int64_t> offsets(buffers);
  for (std::size_t f = 0; f < families.size(); ++f) {
    for (std::size_t m = 0; m < families[f].members.size(); ++m) {
      offsets[families[f].members[m]] = starts[f] + families[f].deltas[m];
    }
  }
  return offsets;
}

/// Gaps that keep nothing, some bytes or all; apart, touching, from the first moment or to the
/// last.
std::vector<Gap> random_gaps(Dice& dice, const Buffer& buffer, int slivers) {
  std::vector<Gap> gaps;
  if (buffer.size > 2 && dice.chance(slivers)) {
    for (std::int64_t at = buffer.lower; at < buffer.upper;) {
      const std::int64_t upper = dice.chance(70) ? at + 1 : dice.between(at + 1, buffer.upper);
      const std::int64_t from = dice.below(buffer.size - 1);
      gaps.push_back({at, upper, from, dice.between(from, from + 2)});
      at = upper;
    }
    return gaps;
  }
  std::int64_t at = buffer.lower + (dice.chance(50) ? 0 : dice.below(3));
  for (std::int64_t left = dice.between(1, 3); left > 0 && at < buffer.upper; --left) {
    Gap gap;
    gap.lower = at;
    gap.upper = dice.between(at + 1, buffer.upper);
    if (dice.chance(60)) {
      gap.kept_from = dice.chance(40) ? 0 : dice.below(buffer.size + 1);
      gap.kept_to = dice.chance(30) ? buffer.size : dice.between(gap.kept_from, buffer.size);
    }
    gaps.push_back(gap);
    at = gap.upper + (dice.chance(30) ? 0 : dice.between(1, 2));
  }
  return gaps;
}

/// Removes the gaps of what shares memory, which may have none.
void close_shared_gaps(Problem& problem) {
  for (Buffer& buffer : problem.buffers) {
    if (!buffer.alias) continue;
    buffer.gaps.clear();
    problem.buffers[buffer.alias->of].gaps.clear();
  }
}

/// A part of an earlier buffer: some of its bytes, all of them in place, or (rarely) more bytes
/// than it has.
Buffer part_of(Dice& dice, const Problem& problem, std::size_t of, const ProblemLimits& limits) {
  const Buffer& whole = problem.buffers[of];
  Buffer part;
  part.lower = dice.chance(50) ? whole.upper - 1 : dice.between(0, limits.max_moment - 1);
  part.upper = dice.between(part.lower + 1, limits.max_moment);
  part.upper = std::max(part.upper, part.lower + 1);
  Alias alias{of, 0};
  if (dice.chance(50) && whole.size > 0) alias.delta = dice.below(whole.size);
  part.size = dice.chance(10) ? 0 : whole.size - alias.delta;
  if (part.size > 1 && dice.chance(50)) part.size = dice.between(1, part.size);
  if (dice.chance(10)) {
    alias.delta = dice.below(2 * limits.max_size);
    part.size = dice.below(limits.max_size + 1);
  }
  // Most alignments do not hold at every offset of the whole; the whole's own alignment does.
  if (alias.delta % whole.alignment == 0 && dice.chance(50)) part.alignment = whole.alignment;
  part.alias = alias;
  return part;
}

/// Some plan of a problem without fixed buffers: families stacked in a random order.
std::vector<std::int64_t> some_plan(Dice& dice, const Problem& problem) {
  const std::vector<Family> families = families_of(problem);
  std::vector<std::int64_t> starts(families.size());
  std::vector<std::size_t> before;
  for (const std::size_t f : dice.order(families.size())) {
    std::int64_t start = dice.chance(30) ? dice.below(9) : 0;
    for (const std::size_t g : before) {
      if (together(families[f], families[g])) {
        start = std::max(start, starts[g] + families[g].size);
      }
    }
    while (start % families[f].alignment != 0) ++start;
    starts[f] = start;
    before.push_back(f);
  }
  return spread_out(families, starts, problem.buffers.size());
}

}  // namespace

std::optional<LowestPlan> lowest_plan(const Problem& problem) {
  const std::vector<Family> families = families_of(problem);
  for (const Family& family : families) {
    if (!family.possible) return std::nullopt;
  }
  if (std::any_of(families.begin(), families.end(),
                  [](const Family& family) { return !family.gaps.empty(); })) {
    const std::optional<std::vector<std::int64_t>> starts = lowest_of_every_offset(families);
    if (!starts) return std::nullopt;
    LowestPlan plan{0, spread_out(families, *starts, problem.buffers.size())};
    for (std::size_t f = 0; f < families.size(); ++f) {
      if (families[f].size > 0) plan.peak = std::max(plan.peak, (*starts)[f] + families[f].size);
    }
    return plan;
  }
  Orders orders(families);
  const std::optional<std::int64_t> peak = orders.lowest();
  if (!peak) return std::nullopt;
  return LowestPlan{*peak, spread_out(families, orders.starts(), problem.buffers.size())};
}

NaiveLive naive_max_live(const Problem& problem) {
  const std::vector<Family> families = families_of(problem);
  std::vector<std::int64_t> moments;  // at which bytes may be added
  for (const Family& family : families) {
    moments.push_back(family.lower);
    for (const Gap& gap : family.gaps) moments.insert(moments.end(), {gap.lower, gap.upper});
  }
  std::sort(moments.begin(), moments.end());
  NaiveLive most;
  for (const std::int64_t moment : moments) {
    std::int64_t bytes = 0;
    for (const Family& family : families) bytes += family.kept_at(moment).bytes();
    if (bytes > most.bytes) most = {bytes, moment};
  }
  return most;
}

Problem random_problem(Dice& dice, const ProblemLimits& limits) {
  Problem made;
  const std::int64_t count = dice.below(limits.max_buffers + 1);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0 && dice.chance(limits.twin)) {
      made.buffers.push_back(made.buffers[static_cast<std::size_t>(dice.below(i))]);
      continue;
    }
    if (i > 0 && dice.chance(limits.alias)) {
      const auto of = static_cast<std::size_t>(dice.below(i));
      made.buffers.push_back(part_of(dice, made, of, limits));
      continue;
    }
    Buffer buffer;
    buffer.lower = dice.below(limits.max_moment);
    buffer.upper = dice.chance(15)
                       ? limits.max_moment
                       : buffer.lower + 1 + dice.below(limits.max_moment - buffer.lower);
    buffer.size = dice.chance(limits.empty) ? 0 : 1 + dice.below(limits.max_size);
    if (dice.chance(limits.aligned)) buffer.alignment = dice.between(1, limits.max_alignment);
    if (limits.gaps > 0 && dice.chance(limits.gaps)) {
      buffer.gaps = random_gaps(dice, buffer, limits.slivers);
    }
    made.buffers.push_back(buffer);
  }
  // Parts may be listed before the buffer that contains them.
  const std::vector<std::size_t> order = dice.order(made.buffers.size());
  Problem problem;
  problem.buffers.resize(made.buffers.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    problem.buffers[order[i]] = made.buffers[i];
    std::optional<Alias>& alias = problem.buffers[order[i]].alias;
    if (alias) alias->of = order[alias->of];
  }
  close_shared_gaps(problem);
  const std::vector<std::int64_t> plan = some_plan(dice, problem);
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    Buffer& buffer = problem.buffers[i];
    if (dice.chance(limits.fixed)) buffer.fixed = plan[i];
    if (dice.chance(limits.misplaced)) buffer.fixed = dice.below(3 * limits.max_size);
    if (dice.chance(limits.hint)) {
      buffer.hint = dice.chance(50) ? plan[i] : dice.below(3 * limits.max_size);
    }
  }
  return problem;
}

std::string text_of(const Problem& problem) {
  std::string text = "Problem{{";
  for (const Buffer& buffer : problem.buffers) {
    text += cat("\n  {.lower = ", buffer.lower, ", .upper = ", buffer.upper,
                ", .size = ", buffer.size, ", .alignment = ", buffer.alignment);
    if (buffer.fixed) text += cat(", .fixed = ", *buffer.fixed);
    if (buffer.hint) text += cat(", .hint = ", *buffer.hint);
    if (buffer.alias) {
      text += cat(", .alias = Alias{", buffer.alias->of, ", ", buffer.alias->delta, "}");
    }
    if (!buffer.gaps.empty()) {
      text += ", .gaps = {";
      for (const Gap& gap : buffer.gaps) {
        text += cat("{", gap.lower, ", ", gap.upper, ", ", gap.kept_from, ", ", gap.kept_to, "}, ");
      }
      text += "}";
    }
    text += "},";
  }
  return text + "}}";
}

}  // namespace tessera::test
