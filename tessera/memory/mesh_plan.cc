// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/mesh_plan.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/memory/lock_step/lock_step.h"
#include "tessera/memory/solver/packing.h"

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

/// Separate plans for each class.
class PerClass {
 public:
  PerClass(const Problem& lives, const ClassSizes& sizes, const std::vector<std::int64_t>& bounds,
           const SolveOptions& options, MeshPlan& plan)
      : problem_(lives),
        sizes_(sizes),
        bounds_(bounds),
        options_(options),
        end_(now() + options.seconds),
        enough_(*std::max_element(bounds.begin(), bounds.end())),
        plan_(plan) {
    if (options.capacity && !options.minimize) enough_ = std::max(enough_, *options.capacity);
  }

  Status run() {
    plan_.outcome = Outcome::kFits;
    // The hardest class first: no other class needs a lower peak than this one reaches.
    hardest_ = static_cast<std::size_t>(std::max_element(bounds_.begin(), bounds_.end()) -
                                        bounds_.begin());
    TESSERA_CHECK_OK(solve_one(hardest_));
    if (sizes_.size() > kMaxSolvedApart) {
      TESSERA_CHECK_OK(solve_range(0, sizes_.size()));
    } else {
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        if (i != hardest_) TESSERA_CHECK_OK(solve_one(i));
      }
    }
    measure();
    return ok_status();
  }

 private:
  /// One plan for all of [from, to) if a quick one is low enough, otherwise one for each half.
  Status solve_range(std::size_t from, std::size_t to) {
    if (to - from == 1) return from == hardest_ ? ok_status() : solve_one(from);
    std::vector<std::int64_t> largest = sizes_[from];
    for (std::size_t i = from + 1; i < to; ++i) {
      for (std::size_t b = 0; b < largest.size(); ++b) {
        largest[b] = std::max(largest[b], sizes_[i][b]);
      }
    }
    set_sizes(problem_, largest);
    const Result<Solution> solution = solve_quickly(false);
    // Buffers of different classes may be fixed on the same bytes.
    if (!solution && solution.error().code != ErrorCode::kBadBuffer) return solution.error();
    if (!solution || solution->peak > enough_) {
      const std::size_t middle = from + (to - from) / 2;
      TESSERA_CHECK_OK(solve_range(from, middle));
      return solve_range(middle, to);
    }
    keep(*solution, from, to);
    return ok_status();
  }

  /// The first plan found that is not above `enough_`, if there is one.
  Result<Solution> solve_quickly(bool repair) {
    SolveOptions quick = options_;
    quick.capacity = enough_;
    quick.minimize = false;
    quick.techniques.exact = false;
    quick.techniques.repair = repair && options_.techniques.repair;
    return solve(problem_, quick);
  }

  Status solve_one(std::size_t i) {
    set_sizes(problem_, sizes_[i]);
    // A class that cannot fit is reported as an outcome, with a plan, so the solver gets no
    // capacity.
    const bool hopeless = options_.capacity && bounds_[i] > *options_.capacity;
    TESSERA_TRY(const Solution quick, solve_quickly(true));
    if (quick.peak <= enough_ || hopeless) {
      keep(quick, i, i + 1);
      note(hopeless ? Outcome::kDoesNotFit : fits(quick.peak));
      return ok_status();
    }
    SolveOptions options = options_;
    options.seconds = std::max(0.0, end_ - now());
    TESSERA_TRY(const Solution solution, solve(problem_, options));
    keep(solution, i, i + 1);
    note(solution.outcome);
    return ok_status();
  }

  Outcome fits(std::int64_t peak) const {
    return !options_.capacity || peak <= *options_.capacity ? Outcome::kFits : Outcome::kUnknown;
  }
  void note(Outcome outcome) {
    if (outcome == Outcome::kDoesNotFit || plan_.outcome == Outcome::kFits) plan_.outcome = outcome;
  }

  void keep(const Solution& solution, std::size_t from, std::size_t to) {
    const auto number = static_cast<std::uint32_t>(plan_.offsets.size());
    plan_.offsets.emplace_back(solution.offsets.begin(), solution.offsets.end());
    for (std::size_t i = from; i < to; ++i) plan_.plan_of[i] = number;
    enough_ = std::max(enough_, solution.peak);
    if (solution.optimal) proven_ = std::max(proven_, solution.proven_bound);
    found_by_.push_back(solution.found_by);
  }

  /// Measures all plans as they are used: a plan for many classes may have replaced that of one.
  void measure() {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const std::vector<std::int64_t>& at = plan_.offsets[plan_.plan_of[i]];
      for (std::size_t b = 0; b < at.size(); ++b) {
        if (sizes_[i][b] == 0 || at[b] + sizes_[i][b] <= plan_.peak) continue;
        plan_.peak = at[b] + sizes_[i][b];
        plan_.found_by = found_by_[plan_.plan_of[i]];
      }
    }
    plan_.optimal = plan_.peak <= proven_;
  }

  Problem problem_;
  const ClassSizes& sizes_;
  const std::vector<std::int64_t>& bounds_;
  const SolveOptions& options_;
  double end_;
  std::int64_t enough_;  ///< no class needs a lower plan than this
  std::size_t hardest_ = 0;
  std::int64_t proven_ = 0;  ///< no set of plans for all classes has a lower peak
  std::vector<std::string_view> found_by_;
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
  // Buffers of a plan, sorted by their highest possible end: usually the first few decide.
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
  TESSERA_CHECK_OK(refuse_gaps(buffers));
  const std::vector<std::uint32_t>& maximal = sizes.maximal();
  const auto entries = Checked(static_cast<std::int64_t>(maximal.size())) *
                       static_cast<std::int64_t>(buffers.size());
  if (entries.saturated() > kMaxClassSizes) {
    return Error{ErrorCode::kTooLarge,
                 cat(maximal.size(), " non-dominated classes of places have ", entries.saturated(),
                     " sizes; at most ", kMaxClassSizes, " are planned for"),
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
    TESSERA_TRY(const Packing packing, pack(problem));
    const std::int64_t bound = packing.lower_bound;
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
