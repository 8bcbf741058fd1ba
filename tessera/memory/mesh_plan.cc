// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/mesh_plan.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/memory/lock_step.h"

namespace tessera::memory {
namespace {

constexpr std::size_t kMaxSolvedApart = 64;
constexpr std::int64_t kMaxClassSizes = std::int64_t{1} << 23;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void set_sizes(Problem& problem, const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) problem.buffers[i].size = sizes[i];
}

/// Plans for classes that share none.
class PerClass {
 public:
  PerClass(const Problem& lives, const ClassSizes& sizes, const std::vector<std::int64_t>& bounds,
           const SolveOptions& options, MeshPlan& plan)
      : problem_(lives),
        sizes_(sizes),
        bounds_(bounds),
        options_(options),
        end_(now() + options.seconds),
        plan_(plan) {}

  Status run() {
    plan_.outcome = Outcome::kFits;
    plan_.optimal = true;
    return sizes_.size() > kMaxSolvedApart ? solve_range(0, sizes_.size()) : solve_each();
  }

 private:
  Status solve_each() {
    for (std::size_t i = 0; i < sizes_.size(); ++i) TESSERA_CHECK_OK(solve_one(i));
    return ok_status();
  }

  /// One plan for all of [from, to) if a quick one is low enough, else one for each half.
  Status solve_range(std::size_t from, std::size_t to) {
    if (to - from == 1) return solve_one(from);
    std::vector<std::int64_t> largest = sizes_[from];
    for (std::size_t i = from + 1; i < to; ++i) {
      for (std::size_t b = 0; b < largest.size(); ++b) {
        largest[b] = std::max(largest[b], sizes_[i][b]);
      }
    }
    set_sizes(problem_, largest);
    SolveOptions quick = options_;
    quick.capacity.reset();
    quick.minimize = true;
    quick.techniques.exact = false;
    TESSERA_TRY(const Solution solution, solve(problem_, quick));
    std::int64_t enough = *std::max_element(bounds_.begin(), bounds_.end());
    if (options_.capacity && !options_.minimize) enough = std::max(enough, *options_.capacity);
    if (solution.peak > enough) {
      const std::size_t middle = from + (to - from) / 2;
      TESSERA_CHECK_OK(solve_range(from, middle));
      return solve_range(middle, to);
    }
    keep(solution, from, to);
    return ok_status();
  }

  Status solve_one(std::size_t i) {
    set_sizes(problem_, sizes_[i]);
    SolveOptions options = options_;
    options.seconds = std::max(0.0, end_ - now());
    // What cannot fit is told as an outcome, with a plan, so the solver is not told the capacity.
    const bool hopeless = options.capacity && bounds_[i] > *options.capacity;
    if (hopeless) {
      options.capacity.reset();
      options.techniques.exact = false;
    }
    TESSERA_TRY(const Solution solution, solve(problem_, options));
    keep(solution, i, i + 1);
    const Outcome outcome = hopeless ? Outcome::kDoesNotFit : solution.outcome;
    if (outcome == Outcome::kDoesNotFit || plan_.outcome == Outcome::kFits) plan_.outcome = outcome;
    return ok_status();
  }

  void keep(const Solution& solution, std::size_t from, std::size_t to) {
    const auto number = static_cast<std::uint32_t>(plan_.offsets.size());
    plan_.offsets.emplace_back(solution.offsets.begin(), solution.offsets.end());
    for (std::size_t i = from; i < to; ++i) plan_.plan_of[i] = number;
    if (plan_.offsets.size() == 1 || solution.peak > plan_.peak) {
      plan_.peak = solution.peak;
      plan_.found_by = solution.found_by;
      plan_.optimal = solution.optimal || solution.peak == plan_.lower_bound;
    }
  }

  Problem problem_;
  const ClassSizes& sizes_;
  const std::vector<std::int64_t>& bounds_;
  const SolveOptions& options_;
  double end_;
  MeshPlan& plan_;
};

}  // namespace

std::string_view offset_mode_name(OffsetMode mode) {
  return mode == OffsetMode::kLockStep ? "lock_step" : "per_class";
}

double MeshPlan::gap() const {
  if (lower_bound == 0) return 0;
  return static_cast<double>(peak) / static_cast<double>(lower_bound) - 1;
}

std::int64_t MeshPlan::used(const PlaceSizes& sizes, std::size_t c) const {
  const std::vector<std::int64_t>& at = offsets_of(sizes, c);
  const PlaceSizes::Look look = sizes.look(c);
  std::int64_t end = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::int64_t size = look[i];
    if (size > 0) end = std::max(end, at[i] + size);
  }
  return end;
}

std::vector<std::int64_t> MeshPlan::used_by_class(const PlaceSizes& sizes) const {
  // Buffers of a plan by how high they reach at most: the first few decide, as a rule.
  std::vector<std::vector<std::uint32_t>> orders(offsets.size());
  std::vector<std::int64_t> used(sizes.classes());
  for (std::size_t c = 0; c < used.size(); ++c) {
    const std::uint32_t plan = plan_of[sizes.dominator(c)];
    const std::vector<std::int64_t>& at = offsets[plan];
    std::vector<std::uint32_t>& order = orders[plan];
    if (order.size() != at.size()) {
      order.resize(at.size());
      std::iota(order.begin(), order.end(), 0u);
      std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return at[a] + sizes.most(a) > at[b] + sizes.most(b);
      });
    }
    const PlaceSizes::Look look = sizes.look(c);
    for (const std::uint32_t i : order) {
      if (at[i] + sizes.most(i) <= used[c]) break;
      const std::int64_t size = look[i];
      if (size > 0) used[c] = std::max(used[c], at[i] + size);
    }
  }
  return used;
}

Problem problem_of(std::span<const Buffer> buffers, const PlaceSizes& sizes, std::size_t c) {
  Problem problem{{buffers.begin(), buffers.end()}};
  const PlaceSizes::Look look = sizes.look(c);
  for (std::size_t i = 0; i < buffers.size(); ++i) problem.buffers[i].size = look[i];
  return problem;
}

Result<MeshPlan> plan_mesh(std::span<const Buffer> buffers, const PlaceSizes& sizes,
                           const MeshPlanOptions& options) {
  const double started = now();
  if (buffers.size() != sizes.tensors()) {
    return Error{ErrorCode::kBadBuffer,
                 cat(buffers.size(), " buffers, but sizes of ", sizes.tensors(), " tensors"),
                 std::nullopt, "buffer i is tensor i"};
  }
  const std::vector<std::uint32_t>& maximal = sizes.maximal();
  const auto entries = Checked(static_cast<std::int64_t>(maximal.size())) *
                       static_cast<std::int64_t>(buffers.size());
  if (entries.saturated() > kMaxClassSizes) {
    return Error{ErrorCode::kTooLarge,
                 cat(maximal.size(), " classes of places that none dominates have ",
                     entries.saturated(), " sizes; at most ", kMaxClassSizes, " are planned for"),
                 std::nullopt, "use fewer different grids and origins"};
  }
  MeshPlan plan;
  plan.mode = options.mode;
  plan.plan_of.assign(maximal.size(), 0);
  ClassSizes vectors(maximal.size());
  std::vector<std::int64_t> bounds;
  Problem problem{{buffers.begin(), buffers.end()}};
  for (std::size_t i = 0; i < maximal.size(); ++i) {
    vectors[i].resize(buffers.size());
    sizes.sizes(maximal[i], vectors[i]);
    set_sizes(problem, vectors[i]);
    TESSERA_TRY(const MaxLive live, max_live(problem));
    std::int64_t bound = live.bytes;
    for (const Buffer& buffer : problem.buffers) {
      if (buffer.fixed && buffer.size > 0) bound = std::max(bound, *buffer.fixed + buffer.size);
    }
    bounds.push_back(bound);
    if (i == 0 || bound > plan.lower_bound) {
      plan.lower_bound = bound;
      plan.worst = maximal[i];
    }
  }
  if (options.mode == OffsetMode::kPerClass) {
    TESSERA_CHECK_OK(PerClass(problem, vectors, bounds, options.solve, plan).run());
  } else {
    TESSERA_TRY(LockStep found, lock_step(problem, vectors, plan.lower_bound, options.solve));
    plan.offsets.push_back(std::move(found.offsets));
    plan.peak = found.peak;
    plan.optimal = found.optimal;
    plan.found_by = found.found_by;
    const bool fits = !options.solve.capacity || plan.peak <= *options.solve.capacity;
    plan.outcome = fits                      ? Outcome::kFits
                   : found.proven_not_to_fit ? Outcome::kDoesNotFit
                                             : Outcome::kUnknown;
  }
  plan.seconds = now() - started;
  return plan;
}

}  // namespace tessera::memory
