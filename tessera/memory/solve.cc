// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solve.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "tessera/memory/solver/exact.h"
#include "tessera/memory/solver/greedy.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/solver/parts.h"
#include "tessera/memory/solver/repair.h"
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {
namespace {

/// A trivial plan: all blocks on top of each other, above the fixed ones.
[[nodiscard]] bool stack_up(const Packing& packing, Array<std::int64_t>& offsets) {
  if (!offsets.assign(packing.blocks.size(), 0)) return false;
  std::int64_t end = 0;
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    const Block& block = packing.blocks[b];
    if (block.fixed < 0) continue;
    offsets[b] = block.fixed;
    end = std::max(end, block.fixed + block.size);
  }
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    const Block& block = packing.blocks[b];
    if (block.fixed >= 0) continue;
    offsets[b] = align_up(end, block.alignment);
    end = offsets[b] + block.size;
  }
  return true;
}

/// True when there are gaps, and fixed blocks would not overlap without theirs.
bool can_close_gaps(const Packing& packing) {
  if (!packing.has_gaps()) return false;
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    const Block& block = packing.blocks[b];
    const std::span<const Strip> strips = packing.strips_of(b);
    const bool is_whole = strips.size() == 1 && strips[0].low == 0 && strips[0].high == block.size;
    if (block.fixed >= 0 && !is_whole) return false;
  }
  return true;
}

/// The state of one solve() call: the packing, the best plan of its blocks, and its bounds.
class Solver {
 public:
  Solver(const Packing& packing, const SolveOptions& options)
      : packing_(packing), options_(options), budget_(options) {}

  Status run(Solution& solution);

 private:
  /// True when a lower plan is wanted and possible.
  bool wants_less() {
    return peak_ > std::max(good_enough_, proven_bound_) && !is_hopeless() &&
           budget_.look_at_the_clock();
  }
  bool is_hopeless() const {
    return options_.capacity && !options_.minimize && proven_bound_ > *options_.capacity;
  }
  Status plan_quickly();
  Status repair_plan(std::int64_t rounds);
  Status search(std::int64_t nodes);
  Status improve();
  /// A part and the state of its search, to be continued.
  struct Searched {
    std::int32_t from = 0;
    std::int32_t to = 0;
    PartPacking own;
    std::optional<Exact> exact;
    std::int64_t proven_bound = 0;
    // With gaps, the blocks as if they had none, and their search while it may still succeed.
    Packing closed;
    std::optional<Exact> exact_closed;
  };
  Result<Searched*> searched(const Part& part);
  Status search_part(Part& part, std::int64_t target);
  Status search_closed(Part& part, std::int64_t target);
  void add_up(const Array<Part>& parts);

  const Packing& packing_;
  const SolveOptions& options_;
  WorkBudget budget_;
  Array<std::int64_t> offsets_;
  std::int64_t peak_ = 0;
  std::int64_t proven_bound_ = 0;
  std::int64_t good_enough_ = 0;
  std::string_view found_by_;
  std::unique_ptr<Searched> searched_;  // for the part that was searched last
};

Status Solver::plan_quickly() {
  if (options_.techniques.greedy) {
    TESSERA_TRY(peak_,
                greedy(packing_, {good_enough_, budget_.seconds_left() / 2, &budget_}, offsets_));
    found_by_ = "greedy";
  } else {
    if (!stack_up(packing_, offsets_)) return out_of_memory();
    peak_ = peak_of(packing_, offsets_);
    found_by_ = "stacking";
  }
  return ok_status();
}

Status Solver::repair_plan(std::int64_t rounds) {
  RepairOptions repairs;
  repairs.good_enough = good_enough_;
  repairs.rounds = rounds;
  repairs.seconds = budget_.seconds_left();  // the limit on rounds ends it first, the same on
                                             // every machine
  repairs.budget = &budget_;
  TESSERA_TRY(const std::int64_t peak, repair(packing_, repairs, offsets_));
  if (peak < peak_) found_by_ = "repair";
  peak_ = peak;
  return ok_status();
}

void Solver::add_up(const Array<Part>& parts) {
  peak_ = 0;
  for (const Part& part : parts) {
    peak_ = std::max(peak_, part.peak);
    proven_bound_ = std::max(proven_bound_, part.proven_bound);
  }
}

Result<Solver::Searched*> Solver::searched(const Part& part) {
  if (searched_ && searched_->from == part.from && searched_->to == part.to) {
    return searched_.get();
  }
  searched_.reset(new (std::nothrow) Searched);
  if (!searched_ || !searched_->own.take(packing_, part)) return out_of_memory();
  searched_->from = part.from;
  searched_->to = part.to;
  searched_->exact.emplace(searched_->own.packing, options_.techniques, budget_);
  if (can_close_gaps(searched_->own.packing)) {
    if (!close_gaps(searched_->own.packing, searched_->closed)) return out_of_memory();
    searched_->exact_closed.emplace(searched_->closed, options_.techniques, budget_);
  }
  return searched_.get();
}

/// Corners are decided much faster than pairs. So if there are gaps, plans that do not use them are
/// searched first, for a part of the nodes: within the target or, for the lowest plan, at their
/// bound, which is very often the optimum, and then just below the current plan. That there is none
/// proves nothing.
Status Solver::search_closed(Part& part, std::int64_t target) {
  constexpr std::int64_t kMostNodes = 1 << 17;
  TESSERA_TRY(Searched* const searched_part, searched(part));
  const Packing& closed = searched_part->closed;
  std::optional<Exact>& exact = searched_part->exact_closed;
  const bool is_lowest = options_.minimize || !options_.capacity;
  const std::int64_t low = std::max(target, closed.lower_bound);
  if (!exact || !Exact::can_search(closed) || (low > target && !is_lowest)) return ok_status();
  const std::int64_t before = budget_.nodes();
  const std::int64_t nodes = budget_.nodes_of_search();
  const std::int64_t share = std::min(nodes / 2, kMostNodes);
  Array<std::int64_t> offsets;
  for (bool is_first = true; part.peak > low; is_first = false) {
    const std::int64_t below = (part.peak - 1) / closed.grain * closed.grain;
    const std::int64_t capacity = is_first ? low : std::max(low, below);
    const std::int64_t most = is_first && is_lowest ? share / 4 : share;
    budget_.start_search(most - (budget_.nodes() - before));
    const SearchEnd end = exact->find_within(capacity, offsets);
    if (end == SearchEnd::kNoMemory) return out_of_memory();
    if (end == SearchEnd::kFound) {
      searched_part->own.put(offsets, offsets_);
      part.peak = peak_of(closed, offsets);
      found_by_ = "exact";
      continue;
    }
    const bool is_last = !is_first || !is_lowest || capacity >= below;
    if (is_last && end == SearchEnd::kNone) exact.reset();
    if (is_last) break;
  }
  budget_.start_search(nodes - (budget_.nodes() - before));
  return ok_status();
}

Status Solver::search_part(Part& part, std::int64_t target) {
  TESSERA_TRY(Searched* const searched_part, searched(part));
  const PartPacking& own = searched_part->own;
  Exact& exact = *searched_part->exact;
  Array<std::int64_t> offsets;
  if (!own.get(offsets_, offsets)) return out_of_memory();
  if (!Exact::can_search(own.packing)) return ok_status();
  const std::int64_t before = part.peak;
  part.proven_bound = std::max(part.proven_bound, searched_part->proven_bound);
  SearchEnd end = SearchEnd::kFound;
  if (options_.minimize || !options_.capacity) {
    end = exact.minimise(target, offsets, part.peak, part.proven_bound);
  } else {
    end = exact.find_within(target, offsets);
    if (end == SearchEnd::kFound) part.peak = peak_of(own.packing, offsets);
    if (end == SearchEnd::kNone) {
      part.proven_bound = target / packing_.grain * packing_.grain + packing_.grain;
    }
  }
  if (end == SearchEnd::kNoMemory) return out_of_memory();
  searched_part->proven_bound = part.proven_bound;
  if (part.peak < before) {
    own.put(offsets, offsets_);
    found_by_ = "exact";
  }
  return ok_status();
}

Status Solver::search(std::int64_t nodes) {
  budget_.start_search(nodes);
  Array<Part> parts;
  if (!parts_of(packing_, offsets_, options_.techniques.decomposition, parts)) {
    return out_of_memory();
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.peak != b.peak ? a.peak > b.peak : a.from < b.from;
  });
  for (Part& part : parts) {
    // No part has to be lower than the bound of the whole.
    const std::int64_t target = std::max(good_enough_, proven_bound_);
    if (part.peak <= target || budget_.is_spent()) break;
    if (packing_.has_gaps()) TESSERA_CHECK_OK(search_closed(part, target));
    if (part.peak > target) TESSERA_CHECK_OK(search_part(part, target));
    proven_bound_ = std::max(proven_bound_, part.proven_bound);
    if (!options_.minimize && options_.capacity && part.peak > *options_.capacity) break;
  }
  add_up(parts);
  return ok_status();
}

/// Search and repair in turns, each time longer: most successful searches end soon, long before a
/// repair would, and what one does not find soon the other may.
Status Solver::improve() {
  const auto look = [this](std::int64_t nodes) {
    return options_.techniques.exact && wants_less() ? search(nodes) : ok_status();
  };
  const auto mend = [this](std::int64_t rounds) {
    const bool is_worth_it = options_.techniques.repair && rounds > 0 && wants_less();
    return is_worth_it ? repair_plan(rounds) : ok_status();
  };
  const auto nodes_left = [this] { return options_.nodes - budget_.nodes(); };
  // Twenty rounds per block for few blocks, so that small problems soon go to the search; four per
  // block for many.
  const auto blocks = static_cast<std::int64_t>(packing_.blocks.size());
  const std::int64_t soon = std::max(4 * blocks, std::min(RepairOptions().rounds, 20 * blocks));
  constexpr std::int64_t kGlance = 4000;
  TESSERA_CHECK_OK(look(kGlance));
  TESSERA_CHECK_OK(mend(soon));
  const bool is_searched = budget_.nodes() > 0;  // otherwise all parts are too large for that
  constexpr std::int64_t kLook = 1 << 17;
  constexpr std::int64_t kLookRounds = 200'000;
  TESSERA_CHECK_OK(look(kLook));
  if (is_searched && nodes_left() > 0) TESSERA_CHECK_OK(mend(std::min(kLookRounds, 100 * soon)));
  // With a capacity, all the time is used, or all the nodes; then a round counts as one node.
  const bool is_asked = options_.techniques.exact && options_.capacity && !options_.minimize;
  TESSERA_CHECK_OK(look(INT64_MAX));
  return is_asked ? mend(nodes_left()) : ok_status();
}

Status Solver::run(Solution& solution) {
  proven_bound_ = packing_.lower_bound;
  good_enough_ = packing_.lower_bound;
  if (options_.capacity && !options_.minimize) {
    good_enough_ = std::max(good_enough_, *options_.capacity);
  }
  budget_.proven_bound = proven_bound_;
  TESSERA_CHECK_OK(plan_quickly());
  budget_.peak = peak_;
  TESSERA_CHECK_OK(improve());
  TESSERA_TRY(peak_, follow_hints(packing_, std::min(1.0, budget_.seconds_left()), offsets_));
  if (!spread(packing_, offsets_, solution.offsets)) return out_of_memory();
  solution.peak = peak_;
  solution.lower_bound = packing_.lower_bound;
  solution.proven_bound = proven_bound_;
  solution.optimal = peak_ == proven_bound_;
  solution.outcome = !options_.capacity || peak_ <= *options_.capacity ? Outcome::kFits
                     : proven_bound_ > *options_.capacity              ? Outcome::kDoesNotFit
                                                                       : Outcome::kUnknown;
  solution.nodes = budget_.nodes();
  solution.seconds = budget_.seconds();
  solution.found_by = found_by_;
  return ok_status();
}

}  // namespace

const std::vector<TechniqueName>& technique_names() {
  static const std::vector<TechniqueName> names = {
      {"decomposition", &Techniques::decomposition},
      {"greedy", &Techniques::greedy},
      {"repair", &Techniques::repair},
      {"exact", &Techniques::exact},
      {"preordering", &Techniques::preordering},
      {"canonical-order", &Techniques::canonical_order},
      {"section-inference", &Techniques::section_inference},
      {"dominance", &Techniques::dominance},
      {"dynamic-decomposition", &Techniques::dynamic_decomposition},
      {"symmetry", &Techniques::symmetry},
      {"memory-of-failures", &Techniques::memory_of_failures},
  };
  return names;
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFits:
      return "fits";
    case Outcome::kDoesNotFit:
      return "does_not_fit";
    case Outcome::kUnknown:
      return "unknown";
  }
  return "";
}

double Solution::gap() const {
  if (lower_bound == 0) return 0;
  return static_cast<double>(peak) / static_cast<double>(lower_bound) - 1;
}

Result<Solution> solve(const Problem& problem, const SolveOptions& options) {
  TESSERA_TRY(const Packing packing, pack(problem));
  Solution solution;
  TESSERA_CHECK_OK(Solver(packing, options).run(solution));
  return solution;
}

}  // namespace tessera::memory
