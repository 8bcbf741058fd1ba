// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/schedules/reductions.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/reshard/costs/place_tables.h"
#include "tessera/reshard/flows/axis_copies.h"
#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {
namespace {

/// A chain of `places` places that are `steps` apart.
std::int64_t chain_of(std::int64_t places, std::int64_t steps, std::int64_t words,
                      std::int64_t ramp_cycles) {
  if (places <= 1) return 0;
  return words + (2 * ramp_cycles + 1 + steps) * (places - 1) - 1;
}

/// How often `places` can be halved until one is left.
std::int64_t halvings(std::int64_t places) {
  return std::bit_width(static_cast<std::uint64_t>(places - 1));
}

std::int64_t two_phases(const ShareLine& line, std::int64_t segment, std::int64_t words,
                        std::int64_t ramp_cycles) {
  return chain_of(segment, line.spacing, words, ramp_cycles) +
         chain_of((line.shares + segment - 1) / segment, segment * line.spacing, words,
                  ramp_cycles);
}

/// A without shares: its sums are where the first, or the last, of the shares along an axis was.
Result<Placement> without_shares(const Placement& from, const std::vector<bool>& keeps_last) {
  const auto changed = [&](Form form) {
    for (Fill& fill : form.fills) {
      if (fill.kind != Fill::Kind::kPartial) continue;
      const bool last = keeps_last[static_cast<std::size_t>(fill.axis)];
      fill = Fill::fixed(fill.axis, last ? (fill.count - 1) * fill.stride : 0);
    }
    return form;
  };
  if (const View* view = from.view()) {
    TESSERA_TRY(View made,
                View::make(changed(view->form()), view->dtype(), view->atom(), view->slots()));
    return Placement(std::move(made));
  }
  LayoutSpec spec = from.layout()->spec();
  spec.form = changed(std::move(spec.form));
  TESSERA_TRY(Layout made, Layout::make(std::move(spec)));
  return Placement(std::move(made));
}

/// Finds out how shares lie on the mesh.
class Planner {
 public:
  explicit Planner(const Reshard& reshard)
      : reshard_(reshard),
        part_(reshard.parts().front()),
        mesh_(*reshard.physical().fabric),
        shares_(copies_of(part_.a, part_.map_a, mesh_.cols, Fill::Kind::kPartial)) {}

  Result<std::variant<ReductionPlan, std::string>> plan() {
    using Answer = std::variant<ReductionPlan, std::string>;
    if (!shares_) return Answer("the shares of A do not lie evenly along rows and columns");
    TESSERA_TRY(const std::optional<FlowTables> to_b, flow_tables(reshard_));
    if (!to_b) return Answer("its places follow no rule of rows and columns");
    choose_roots(*to_b);
    TESSERA_TRY(Placement result, without_shares(reshard_.from(), keeps_last()));
    const Result<Reshard> sums = Reshard::make(result, result, reshard_.physical());
    if (!sums && sums.error().code == ErrorCode::kNotInjective) {
      return Answer("elements of A share slots");
    }
    if (!sums) return sums.error();
    TESSERA_TRY(const std::optional<FlowTables> tiles, flow_tables(*sums));
    if (!tiles) return Answer("the places of A follow no rule of rows and columns");
    ReductionPlan plan{{}, 0, std::move(result)};
    for (const std::size_t axis : {std::size_t{1}, std::size_t{0}}) {
      const Copies& shares = (*shares_)[axis];
      if (shares.count == 1) continue;
      if (!are_apart(*tiles, axis)) return Answer("shares of different elements are interleaved");
      plan.lines.push_back({axis == 1 ? Axis::kAlongRows : Axis::kAlongColumns, shares.count,
                            shares.stride, root_is_last_[axis]});
    }
    if (plan.lines.empty()) return Answer("the shares of A are on one place");
    plan.words = reshard_.wavelets(largest_tile(*tiles));
    return Answer(std::move(plan));
  }

 private:
  static std::size_t owner(const FlowTables& tables, std::size_t axis, bool destinations) {
    return tables.owner[axis + (destinations ? 2 : 0)];
  }

  /// The end of the shares that is nearer to the places of B; on a tie, the first one.
  void choose_roots(const FlowTables& to_b) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      std::int32_t first_a = INT32_MAX;
      std::int32_t last_a = 0;
      for (const Flow& flow : to_b.blocks[owner(to_b, axis, false)].flows) {
        first_a = std::min(first_a, axis == 0 ? flow.row : flow.col);
        last_a = std::max(last_a, axis == 0 ? flow.row : flow.col);
      }
      std::int32_t first_b = INT32_MAX;
      std::int32_t last_b = 0;
      for (const Flow& flow : to_b.blocks[owner(to_b, axis, true)].flows) {
        const Span1D& to = axis == 0 ? flow.rows : flow.cols;
        first_b = std::min(first_b, to.first);
        last_b = std::max(last_b, to.last());
      }
      const auto distance = [&](std::int32_t root) {
        return std::max({0, first_b - root, root - last_b});
      };
      root_is_last_[axis] = distance(last_a) < distance(first_a);
    }
  }

  /// For each virtual axis, whether its last share is kept.
  std::vector<bool> keeps_last() const {
    std::vector<bool> last(part_.a.mesh.rank());
    for (std::size_t axis = 0; axis < last.size(); ++axis) {
      const std::int64_t along = part_.map_a.along(axis).size() > 1
                                     ? part_.map_a.along(axis)[1] - part_.map_a.along(axis)[0]
                                     : 0;
      // A step along the virtual axis changes the row, or only the column.
      const bool is_row = along % mesh_.cols == 0;
      last[axis] = root_is_last_[is_row ? 0 : 1] != (along < 0);
    }
    return last;
  }

  /// Whether the shares of one place end before those of the next begin.
  bool are_apart(const FlowTables& tiles, std::size_t axis) const {
    const Copies& shares = (*shares_)[axis];
    std::vector<std::int32_t> roots;
    for (const Flow& flow : tiles.blocks[owner(tiles, axis, true)].flows) {
      const Span1D& to = axis == 0 ? flow.rows : flow.cols;
      for (std::int32_t i = 0; i < to.count; ++i) roots.push_back(to.at(i));
    }
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    for (std::size_t i = 1; i < roots.size(); ++i) {
      if (roots[i] - roots[i - 1] <= (shares.count - 1) * shares.stride) return false;
    }
    return true;
  }

  std::int64_t largest_tile(const FlowTables& tiles) const {
    const PlaceTable<1> places(tiles, mesh_, At::kDestination);
    std::int64_t most = 0;
    if (places.has_cells()) {
      places.for_each_cell([&](std::int64_t, const Measure<1>& measure) {
        most = std::max(most, measure.elements);
      });
      return most;
    }
    std::int64_t by_row = 0;
    std::int64_t by_col = 0;
    for (const auto& row : places.rows()) by_row = std::max(by_row, row.elements);
    for (const auto& col : places.cols()) by_col = std::max(by_col, col.elements);
    return places.rest().elements * by_row * by_col;
  }

  const Reshard& reshard_;
  const ReshardPart& part_;
  const fabric::FabricMesh& mesh_;
  std::optional<AxisCopies> shares_;
  std::array<bool, 2> root_is_last_{};
};

/// Makes the rounds of one line: places from the root on.
class LineRounds {
 public:
  LineRounds(ReductionKind kind, const ShareLine& line, std::int64_t ramp_cycles,
             std::vector<ReductionRound>& rounds)
      : kind_(kind), line_(line), ramp_cycles_(ramp_cycles), rounds_(rounds) {}

  void add(const std::vector<std::int32_t>& places, std::int64_t words) {
    const auto count = static_cast<std::int64_t>(places.size());
    switch (kind_) {
      case ReductionKind::kChain:
        chain(0, places, words, 0);
        break;
      case ReductionKind::kStar:
        for (std::int64_t p = 1; p < count; ++p) {
          round(0).push_back({at(places, p), at(places, 0), 0, words, -1});
        }
        break;
      case ReductionKind::kTree:
        for (std::int64_t k = 0; k < halvings(count); ++k) {
          const std::int64_t step = std::int64_t{1} << k;
          for (std::int64_t p = step; p < count; p += 2 * step) {
            round(k).push_back(
                {at(places, p), at(places, p - step), static_cast<std::int32_t>(k), words, -1});
          }
        }
        break;
      case ReductionKind::kTwoPhase: {
        const std::int64_t segment = segment_of(line_, ramp_cycles_);
        if (segment == 1) {
          chain(0, places, words, 0);
          break;
        }
        std::vector<std::int32_t> heads;
        for (std::int64_t p = 0; p < count; p += segment) {
          heads.push_back(at(places, p));
          chain(0, {places.begin() + p, places.begin() + std::min(count, p + segment)}, words, 0);
        }
        chain(1, heads, words, 2);
        break;
      }
    }
  }

 private:
  static std::int32_t at(const std::vector<std::int32_t>& places, std::int64_t i) {
    return places[static_cast<std::size_t>(i)];
  }
  ReductionRound& round(std::int64_t number) {
    const auto wanted = static_cast<std::size_t>(number) + 1;
    if (rounds_.size() < wanted) rounds_.resize(wanted);
    return rounds_[wanted - 1];
  }
  void chain(std::int64_t number, const std::vector<std::int32_t>& places, std::int64_t words,
             std::int32_t first_colour) {
    ReductionRound& messages = round(number);
    std::int64_t before = -1;
    for (std::size_t p = places.size(); p-- > 1;) {
      messages.push_back({places[p], places[p - 1], first_colour + static_cast<std::int32_t>(p % 2),
                          words, before});
      before = static_cast<std::int64_t>(messages.size()) - 1;
    }
  }

  ReductionKind kind_;
  const ShareLine& line_;
  std::int64_t ramp_cycles_;
  std::vector<ReductionRound>& rounds_;
};

}  // namespace

std::string_view reduction_schedule_name(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::kChain:
      return "chain";
    case ReductionKind::kStar:
      return "star";
    case ReductionKind::kTree:
      return "tree";
    case ReductionKind::kTwoPhase:
      return "two_phase";
  }
  return "";
}

std::int64_t segment_of(const ShareLine& line, std::int64_t ramp_cycles) {
  std::int64_t best = 1;
  for (std::int64_t segment = 2; segment < line.shares; ++segment) {
    if (two_phases(line, segment, 1, ramp_cycles) < two_phases(line, best, 1, ramp_cycles)) {
      best = segment;
    }
  }
  return best;
}

LineReduction line_reduction(ReductionKind kind, const ShareLine& line, std::int64_t words,
                             std::int64_t ramp_cycles) {
  const std::int64_t others = line.shares - 1;
  const std::int64_t ramps = 2 * ramp_cycles;
  switch (kind) {
    case ReductionKind::kChain:
      return {chain_of(line.shares, line.spacing, words, ramp_cycles), 1, 2};
    case ReductionKind::kStar:
      return {ramps + std::max(words * others + line.spacing, words + line.spacing * others), 1, 1};
    case ReductionKind::kTree: {
      const std::int64_t rounds = halvings(line.shares);
      const std::int64_t steps = line.spacing * ((std::int64_t{1} << rounds) - 1);
      return {rounds * (words + ramps) + steps, rounds, rounds};
    }
    case ReductionKind::kTwoPhase: {
      const std::int64_t segment = segment_of(line, ramp_cycles);
      const std::int64_t rounds = segment == 1 ? 1 : 2;
      return {two_phases(line, segment, words, ramp_cycles), rounds, 2 * rounds};
    }
  }
  return {};
}

Result<std::variant<ReductionPlan, std::string>> reduction_plan(const Reshard& reshard) {
  using Answer = std::variant<ReductionPlan, std::string>;
  if (reshard.parts().size() != 1 || reshard.from().pieces() != nullptr) {
    return Answer("A or B has several pieces");
  }
  return Planner(reshard).plan();
}

Result<std::vector<ReductionRound>> reduction_rounds(const Reshard& reshard,
                                                     const ReductionPlan& plan, ReductionKind kind,
                                                     std::int64_t most) {
  const fabric::FabricMesh& mesh = *reshard.physical().fabric;
  TESSERA_TRY(const Reshard sums, Reshard::make(plan.result, plan.result, reshard.physical()));
  TESSERA_TRY(const std::vector<PairBytes> tiles,
              pairs_of(sums, most, {.messages = false, .local = true}));
  std::vector<ReductionRound> rounds;
  std::int64_t messages = 0;
  for (std::size_t stage = 0; stage < plan.lines.size(); ++stage) {
    const ShareLine& line = plan.lines[stage];
    std::vector<ReductionRound> made;
    LineRounds maker(kind, line, mesh.ramp_cycles, made);
    const auto step = [&](const ShareLine& along) {
      const std::int64_t one = along.axis == Axis::kAlongRows ? 1 : mesh.cols;
      return static_cast<std::int32_t>(along.root_is_last ? -one * along.spacing
                                                          : one * along.spacing);
    };
    for (const PairBytes& tile : tiles) {
      // Before the second stage, the first one is done on each of its lines.
      const bool is_first_of_two = stage == 0 && plan.lines.size() == 2;
      const std::int64_t lines = is_first_of_two ? plan.lines[1].shares : 1;
      for (std::int64_t k = 0; k < lines; ++k) {
        const auto root = static_cast<std::int32_t>(
            tile.source + (is_first_of_two ? k * step(plan.lines[1]) : 0));
        std::vector<std::int32_t> places;
        for (std::int64_t p = 0; p < line.shares; ++p) {
          places.push_back(root + static_cast<std::int32_t>(p) * step(line));
        }
        messages += line.shares;
        if (messages > most) {
          return Error{ErrorCode::kTooLarge,
                       cat("the reduction takes more than ", most, " messages"), std::nullopt,
                       "simulate fewer places"};
        }
        maker.add(places, reshard.wavelets(tile.elements));
      }
    }
    std::move(made.begin(), made.end(), std::back_inserter(rounds));
  }
  return rounds;
}

ReductionTraffic traffic_of(const ReductionRound& round) {
  ReductionTraffic made;
  std::int64_t words = 0;
  for (const ReductionMessage& message : round) {
    made.first_words.push_back(words);
    const auto after = message.after < 0 ? std::span<const std::int64_t>()
                                         : std::span<const std::int64_t>(&message.after, 1);
    made.traffic.add(message.from, std::span(&message.to, 1), words, message.words, after);
    made.traffic.messages.back().colour = message.colour;
    words += message.words;
  }
  made.traffic.payload.assign(static_cast<std::size_t>(words), 0);
  return made;
}

}  // namespace tessera::reshard
