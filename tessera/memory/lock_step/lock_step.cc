// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step/lock_step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/memory/lock_step/lock_first_fit.h"
#include "tessera/memory/lock_step/lock_piece.h"
#include "tessera/memory/lock_step/meetings.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {
namespace {

/// Most successful searches end within this many nodes. Only after that is it worth searching plans
/// for the largest sizes again.
constexpr std::int64_t kGlance = 2000;

void set_sizes(Problem& problem, const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) problem.buffers[i].size = sizes[i];
}

Problem with_largest_sizes(const Problem& lives, const ClassSizes& sizes) {
  std::vector<std::int64_t> largest(lives.buffers.size(), 0);
  for (const std::vector<std::int64_t>& of_class : sizes) {
    for (std::size_t i = 0; i < largest.size(); ++i) {
      largest[i] = std::max(largest[i], of_class[i]);
    }
  }
  Problem problem = lives;
  set_sizes(problem, largest);
  return problem;
}

/// The state of one lock_step() call.
class Stepper {
 public:
  Stepper(const Problem& lives, const ClassSizes& sizes, std::int64_t lower_bound,
          const SolveOptions& options)
      : lives_(lives),
        sizes_(sizes),
        options_(options),
        budget_(options),
        largest_(with_largest_sizes(lives, sizes)),
        is_hopeless_(options.capacity && lower_bound > *options.capacity) {
    out_.proven_bound = lower_bound;
    good_enough_ =
        options.capacity && !options.minimize && !is_hopeless_ ? *options.capacity : lower_bound;
  }

  Result<LockStep> run() {
    TESSERA_CHECK_OK(check_fixed());
    if (sizes_.size() <= 1) {
      TESSERA_CHECK_OK(plan_one_class());
    } else {
      if (!fixed_meet_) TESSERA_CHECK_OK(plan_largest());
      if (fixed_meet_ || out_.peak > good_enough_) TESSERA_CHECK_OK(plan_pairs());
    }
    out_.optimal = out_.peak <= out_.proven_bound;
    out_.proven_not_to_fit = options_.capacity && out_.proven_bound > *options_.capacity;
    return std::move(out_);
  }

 private:
  /// Fixed buffers that overlap at their largest sizes need not overlap on any class.
  Status check_fixed() {
    if (std::count_if(lives_.buffers.begin(), lives_.buffers.end(),
                      [](const Buffer& buffer) { return buffer.fixed.has_value(); }) < 2) {
      return ok_status();
    }
    Status found = check(largest_);
    if (found.ok()) return ok_status();
    TESSERA_TRY(const Packing packing, pack(largest_, {}, FixedBlocks::kMayMeet));
    Problem problem = lives_;
    for (const std::vector<std::int64_t>& of_class : sizes_) {
      set_sizes(problem, of_class);
      TESSERA_CHECK_OK(check(problem));
    }
    fixed_meet_ = std::move(found);
    return ok_status();
  }

  bool searches() const {
    return options_.techniques.exact && (options_.minimize || (options_.capacity && !is_hopeless_));
  }
  void take(const Solution& solution) {
    out_.offsets.assign(solution.offsets.begin(), solution.offsets.end());
    out_.peak = solution.peak;
    out_.found_by = solution.found_by;
  }

  Status plan_one_class() {
    SolveOptions options = options_;
    if (is_hopeless_) {
      options.capacity.reset();
      options.techniques.exact = searches();
    }
    TESSERA_TRY(const Solution solution, solve(largest_, options));
    take(solution);
    out_.proven_bound = std::max(out_.proven_bound, solution.proven_bound);
    return ok_status();
  }

  /// Reports the progress of a solve for the largest sizes; its bound does not apply here.
  static bool report(void* context, const Progress& progress) {
    const Stepper& stepper = *static_cast<const Stepper*>(context);
    Progress told = progress;
    told.seconds = stepper.budget_.seconds();
    told.nodes += stepper.budget_.nodes();
    if (!stepper.out_.found_by.empty()) told.peak = std::min(told.peak, stepper.out_.peak);
    told.lower_bound = stepper.out_.proven_bound;
    return stepper.options_.progress(stepper.options_.progress_context, told);
  }
  SolveOptions options_for_largest() {
    SolveOptions options = options_;
    if (is_hopeless_) options.capacity.reset();
    if (options.progress != nullptr) {
      options.progress = report;
      options.progress_context = this;
    }
    return options;
  }

  Status plan_largest() {
    SolveOptions options = options_for_largest();
    options.techniques.exact = false;
    TESSERA_TRY(const Solution quick, solve(largest_, options));
    take(quick);
    largest_bound_ = quick.lower_bound;
    return ok_status();
  }

  /// A search among plans for the largest sizes, with one of `shares` of the remaining budget.
  Status search_largest(std::int64_t shares) {
    if (fixed_meet_ || out_.peak <= std::max(good_enough_, largest_bound_)) return ok_status();
    SolveOptions options = options_for_largest();
    options.seconds = budget_.seconds_left() / static_cast<double>(shares);
    options.nodes = std::max<std::int64_t>(0, options_.nodes - budget_.nodes()) / shares;
    TESSERA_TRY(const Solution solution, solve(largest_, options));
    largest_nodes_ = solution.nodes;
    if (solution.peak < out_.peak) take(solution);
    return ok_status();
  }

  Status plan_pairs() {
    TESSERA_TRY(const Packing packing, pack(largest_, {}, FixedBlocks::kMayMeet));
    const std::optional<Relation> relation = relate(packing, sizes_);
    if (!relation) {
      if (fixed_meet_) return *fixed_meet_;
      return searches() ? search_largest(1) : ok_status();
    }
    offsets_.assign(packing.blocks.size(), -1);
    std::vector<Piece> pieces = first_fit(*relation);
    TESSERA_CHECK_OK(keep_pieces(packing, pieces, "pairs"));
    if (!searches()) return ok_status();
    const bool can_search = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      return piece.peak > good_enough_ && piece.can_be_searched();
    });
    if (!can_search) return search_largest(1);
    search(*relation, std::min(kGlance, options_.nodes), pieces);
    TESSERA_CHECK_OK(keep_pieces(packing, pieces, "search"));
    if (is_decided()) return ok_status();
    TESSERA_CHECK_OK(search_largest(2));
    take_pieces(packing, pieces);
    search(*relation, options_.nodes, pieces);
    return keep_pieces(packing, pieces, "search");
  }

  bool is_decided() const {
    return out_.peak <= std::max(good_enough_, out_.proven_bound) ||
           (!options_.minimize && out_.proven_bound > good_enough_);
  }

  /// First-fit for every component; where the plan for the largest sizes is as low, that plan.
  std::vector<Piece> first_fit(const Relation& relation) {
    std::vector<Piece> pieces;
    budget_.peak = out_.found_by.empty() ? INT64_MAX : out_.peak;
    budget_.proven_bound = out_.proven_bound;
    for (const std::vector<std::uint32_t>& component : relation.components) {
      Piece& piece = pieces.emplace_back();
      piece.ids = component;
      piece.peak = lock_first_fit(relation, component, good_enough_, options_.techniques.repair,
                                  budget_, offsets_);
    }
    if (!options_.techniques.decomposition && pieces.size() > 1) {
      for (std::size_t i = 1; i < pieces.size(); ++i) {
        pieces[0].ids.insert(pieces[0].ids.end(), pieces[i].ids.begin(), pieces[i].ids.end());
        pieces[0].peak = std::max(pieces[0].peak, pieces[i].peak);
      }
      pieces.resize(1);
      std::sort(pieces[0].ids.begin(), pieces[0].ids.end());
    }
    if (!fixed_meet_) take_pieces(relation.packing, pieces);
    return pieces;
  }

  /// Takes the pieces of the current plan that are lower than those in `pieces`.
  void take_pieces(const Packing& packing, std::vector<Piece>& pieces) {
    std::vector<std::int64_t> at(packing.blocks.size(), 0);
    for (std::size_t i = 0; i < packing.block_of.size(); ++i) {
      const std::int32_t b = packing.block_of[i];
      if (b >= 0) at[static_cast<std::size_t>(b)] = out_.offsets[i] - packing.delta[i];
    }
    for (Piece& piece : pieces) {
      std::int64_t peak = 0;
      for (const std::uint32_t b : piece.ids) {
        peak = std::max(peak, at[b] + packing.blocks[b].size);
      }
      if (peak >= piece.peak) continue;
      piece.peak = peak;
      for (const std::uint32_t b : piece.ids) offsets_[b] = at[b];
    }
  }

  /// Keeps the plan of all pieces if it is lower than the current one.
  Status keep_pieces(const Packing& packing, const std::vector<Piece>& pieces,
                     std::string_view found_by) {
    std::int64_t peak = 0;
    for (const Piece& piece : pieces) {
      peak = std::max(peak, piece.peak);
      out_.proven_bound = std::max(out_.proven_bound, piece.proven_bound);
    }
    if (!out_.found_by.empty() && peak >= out_.peak) return ok_status();
    Array<std::int64_t> of_blocks;
    Array<std::int64_t> of_buffers;
    if (!of_blocks.copy(offsets_) || !spread(packing, of_blocks, of_buffers)) {
      return out_of_memory();
    }
    out_.offsets.assign(of_buffers.begin(), of_buffers.end());
    out_.peak = peak;
    out_.found_by = found_by;
    return ok_status();
  }

  /// Searches the highest pieces until `nodes` are used in total.
  void search(const Relation& relation, std::int64_t nodes, std::vector<Piece>& pieces) {
    budget_.start_search(std::max<std::int64_t>(0, nodes - budget_.nodes() - largest_nodes_));
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return a.peak != b.peak ? a.peak > b.peak : a.ids < b.ids;
    });
    std::int64_t proven = out_.proven_bound;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      Piece& piece = pieces[i];
      // No piece has to be lower than the bound of the whole.
      const std::int64_t target = std::max(good_enough_, proven);
      if (piece.peak <= target) return;
      if (!piece.can_be_searched()) continue;
      std::int64_t others = 0;
      for (const Piece& other : pieces) {
        if (&other != &piece) others = std::max(others, other.peak);
      }
      budget_.peak = std::max(others, piece.peak);
      budget_.proven_bound = proven;
      if (!budget_.look_at_the_clock() || budget_.is_spent()) return;
      piece.search(relation, options_, target, others, budget_, offsets_);
      proven = std::max(proven, piece.proven_bound);
      if (!options_.minimize && piece.peak > target) return;
    }
  }

  const Problem& lives_;
  const ClassSizes& sizes_;
  const SolveOptions& options_;
  WorkBudget budget_;
  Problem largest_;
  bool is_hopeless_;
  std::int64_t good_enough_ = 0;
  std::int64_t largest_nodes_ = 0;     ///< of the search for the largest sizes
  std::int64_t largest_bound_ = 0;     ///< of the largest sizes
  std::optional<Status> fixed_meet_;   ///< the error of check() for the largest sizes, if fixed
                                       ///< buffers overlap there
  std::vector<std::int64_t> offsets_;  ///< of blocks, in pieces that may be lower than the plan
  LockStep out_;
};

}  // namespace

Status refuse_gaps(std::span<const Buffer> buffers) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].gaps.empty()) continue;
    const auto at = static_cast<std::int64_t>(i);
    return Error{ErrorCode::kNotSupported,
                 cat("buffer ", i, " has gaps, which plans for several places do not support"),
                 Span{at, at + 1}, "remove its gaps, or plan each place with solve"};
  }
  return ok_status();
}

Result<LockStep> lock_step(const Problem& lives, const ClassSizes& sizes, std::int64_t lower_bound,
                           const SolveOptions& options) {
  TESSERA_CHECK_OK(refuse_gaps(lives.buffers));
  return Stepper(lives, sizes, lower_bound, options).run();
}

}  // namespace tessera::memory
