// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/counted.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/part.h"

namespace tessera::moves {
namespace {

/// Adds up cells with the same places, and puts them in order. By a table if the places are few for
/// so many cells.
void gather(std::vector<Cell>& cells) {
  if (cells.size() < 2) return;
  Cell least = cells.front();
  Cell most = cells.front();
  for (const Cell& cell : cells) {
    least.a = std::min(least.a, cell.a);
    least.b = std::min(least.b, cell.b);
    most.a = std::max(most.a, cell.a);
    most.b = std::max(most.b, cell.b);
  }
  const std::int64_t width = most.b - least.b + 1;
  const std::int64_t size = (Checked(most.a - least.a + 1) * width).saturated();
  constexpr std::int64_t kMostDense = std::int64_t{1} << 20;
  if (size <= std::min<std::int64_t>(8 * std::ssize(cells), kMostDense)) {
    std::vector<std::int64_t> table(static_cast<std::size_t>(size), 0);
    for (const Cell& cell : cells) {
      table[static_cast<std::size_t>((cell.a - least.a) * width + cell.b - least.b)] +=
          cell.elements;
    }
    cells.clear();
    for (std::int64_t key = 0; key < size; ++key) {
      const std::int64_t elements = table[static_cast<std::size_t>(key)];
      if (elements > 0) cells.push_back({least.a + key / width, least.b + key % width, elements});
    }
    return;
  }
  const auto before = [](const Cell& x, const Cell& y) {
    return x.a != y.a ? x.a < y.a : x.b < y.b;
  };
  if (!std::is_sorted(cells.begin(), cells.end(), before)) {
    std::sort(cells.begin(), cells.end(), before);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (kept > 0 && cells[kept - 1].a == cells[i].a && cells[kept - 1].b == cells[i].b) {
      cells[kept - 1].elements += cells[i].elements;
    } else {
      cells[kept++] = cells[i];
    }
  }
  cells.resize(kept);
}

/// The elements between the first places of both sides, factor by factor.
class CellProduct {
 public:
  CellProduct(const DealtSide& a, const DealtSide& b) : a_(a), b_(b) {}

  Result<std::vector<Cell>> of(const reshard::VirtualFlows& flows) {
    std::vector<Cell> all = {{a_.reduced(flows.base_a), b_.reduced(flows.base_b), flows.still}};
    const DealtSide::Steps from_a(a_, flows.base_a);
    const DealtSide::Steps from_b(b_, flows.base_b);
    for (const std::vector<reshard::VirtualFlow>& factor : flows.factors) {
      std::vector<Cell> own(factor.size());
      for (std::size_t i = 0; i < factor.size(); ++i) {
        const reshard::VirtualFlow& flow = factor[i];
        own[i] = {from_a.to(flows.base_a + flow.a), from_b.to(flows.base_b + flow.b),
                  flow.elements};
      }
      gather(own);
      const std::int64_t combinations = (Checked(std::ssize(all)) * std::ssize(own)).saturated();
      if (combinations > kMostTransfers) {
        return Error{ErrorCode::kTooLarge,
                     cat("a move between ", combinations,
                         " pairs of parts is not counted, at most ", kMostTransfers),
                     std::nullopt, "use fewer or larger shards"};
      }
      all = all.size() == 1 ? moved(own, all.front()) : product(all, own);
    }
    return all;
  }

 private:
  /// One cell, moved by each of the steps.
  std::vector<Cell> moved(std::vector<Cell> steps, const Cell& from) const {
    for (Cell& cell : steps) {
      cell = {a_.sum(from.a, cell.a), b_.sum(from.b, cell.b), cell.elements * from.elements};
    }
    return steps;
  }

  std::vector<Cell> product(const std::vector<Cell>& x, const std::vector<Cell>& y) const {
    constexpr std::int64_t kMostDense = std::int64_t{1} << 16;
    const std::int64_t width = b_.numbers();
    const std::int64_t size = (Checked(a_.numbers()) * width).saturated();
    std::vector<Cell> cells;
    if (size > kMostDense) {
      cells.reserve(x.size() * y.size());
      for (const Cell& p : x) {
        for (const Cell& q : y) {
          cells.push_back({a_.sum(p.a, q.a), b_.sum(p.b, q.b), p.elements * q.elements});
        }
      }
      gather(cells);
      return cells;
    }
    std::vector<std::int64_t> dense(static_cast<std::size_t>(size), 0);
    for (const Cell& p : x) {
      for (const Cell& q : y) {
        dense[static_cast<std::size_t>(a_.sum(p.a, q.a) * width + b_.sum(p.b, q.b))] +=
            p.elements * q.elements;
      }
    }
    for (std::int64_t key = 0; key < size; ++key) {
      const std::int64_t elements = dense[static_cast<std::size_t>(key)];
      if (elements > 0) cells.push_back({key / width, key % width, elements});
    }
    return cells;
  }

  const DealtSide& a_;
  const DealtSide& b_;
};

/// The steps from the first place of an element to all of its copies.
std::vector<std::int64_t> copy_offsets(const DealtSide& side) {
  const Form& form = side.form;
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<std::int64_t> offsets = {0};
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kReplicate) continue;
    const std::size_t before = offsets.size();
    for (std::int64_t copy = 1; copy < fill.count; ++copy) {
      const std::int64_t step = copy * fill.stride * strides[static_cast<std::size_t>(fill.axis)];
      for (std::size_t i = 0; i < before; ++i) offsets.push_back(offsets[i] + step);
    }
  }
  for (std::int64_t& offset : offsets) offset = side.step(0, offset);
  return offsets;
}

/// The longest run of elements that is contiguous on both sides, within the first piece of each
/// factor: pieces at the end of a dim may be shorter.
std::int64_t common_run(const Refinement& refinement) {
  std::int64_t run = 1;
  for (bool grows = true; grows;) {
    grows = false;
    for (const Factor& factor : refinement.factors()) {
      for (const Loop& loop : factor.pieces.front().loops) {
        const bool stays = loop.move.a.place == 0 && loop.move.b.place == 0;
        if (!stays || loop.move.a.slot != run || loop.move.b.slot != run) continue;
        run *= loop.extent;
        grows = true;
        break;
      }
      if (grows) break;
    }
  }
  return run;
}

}  // namespace

Form first_copies(Form form) {
  for (Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kReplicate) fill = Fill::fixed(fill.axis, 0);
  }
  return form;
}

Result<Counted> counted(const DealtSide& a, const DealtSide& b,
                        const reshard::Reshard::Rate& bytes) {
  Counted all{a, b, copy_offsets(a), copy_offsets(b), {}, 1};
  Checked most = a.form.shape.elements();
  most *= std::ssize(all.copies_b);
  for (const Fill& fill : a.form.fills) {
    if (fill.kind == Fill::Kind::kPartial) most *= fill.count;
  }
  most *= bytes.numerator;
  TESSERA_CHECK_OK(most.value("the number of bytes that move"));
  const Form first_a = first_copies(a.form);
  const Form first_b = first_copies(b.form);
  if (first_a.shape.empty()) return all;
  TESSERA_TRY(const reshard::Shares shares, reshard::meet_shares(first_a, first_b));
  TESSERA_TRY(const Refinement refinement, reshard::refine_joined(first_a, first_b));
  TESSERA_TRY(const reshard::VirtualFlows flows,
              reshard::virtual_flows(first_a, first_b, refinement, shares));
  TESSERA_TRY(all.cells, CellProduct(a, b).of(flows));
  all.run = common_run(refinement);
  return all;
}

Result<BothSides> both_sides(const Machine& machine, const Stored& a, const Stored& b) {
  if (a.placement.shape() != b.placement.shape()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("A has the shape ", bracketed(a.placement.shape().extents()), " and B ",
                     bracketed(b.placement.shape().extents())),
                 std::nullopt, "a move is of one tensor: give A and B the same shape"};
  }
  TESSERA_TRY(DealtSide from, dealt_side(a, machine));
  TESSERA_TRY(DealtSide to, dealt_side(b, machine));
  return BothSides{std::move(from), std::move(to)};
}

}  // namespace tessera::moves
