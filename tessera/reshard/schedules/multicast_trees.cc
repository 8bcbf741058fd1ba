// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/schedules/multicast_trees.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <utility>

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxChoices = std::int64_t{1} << 16;

/// Sets of trees as bits.
using TreeSet = std::uint64_t;

std::int64_t longest_route(const MulticastTree& tree) {
  const auto farthest = [](std::int32_t from, const Span1D& to) {
    return std::max(std::abs(to.first - from), std::abs(to.last() - from));
  };
  return std::int64_t{farthest(tree.row, tree.rows)} + farthest(tree.col, tree.cols);
}

/// Words and longest routes of some trees.
class TreeLoads {
 public:
  TreeLoads(const std::vector<MulticastTree>& trees, const Reshard::Rate& rate,
            const fabric::FabricMesh& mesh)
      : trees_(trees), mesh_(mesh) {
    for (const MulticastTree& tree : trees) {
      words_.push_back(rate.of(tree.elements));
      longest_.push_back(longest_route(tree));
    }
  }

  std::int64_t slowest() const {
    return std::max({slowest_sender(), slowest_row(), slowest_column(), slowest_receiver()});
  }

 private:
  /// What a link or ramp that all of these use needs.
  std::int64_t needed(TreeSet set) const {
    std::int64_t words = 0;
    std::int64_t longest = 0;
    for (; set != 0; set &= set - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(set));
      words += words_[i];
      longest = std::max(longest, longest_[i]);
    }
    return words + longest;
  }
  static TreeSet bit(std::size_t i) { return TreeSet{1} << i; }
  TreeSet sent_by(std::int32_t row, std::int32_t col) const {
    TreeSet set = 0;
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      if (trees_[i].row == row && trees_[i].col == col) set |= bit(i);
    }
    return set;
  }

  std::int64_t slowest_sender() const {
    std::int64_t most = 0;
    for (const MulticastTree& tree : trees_) {
      most = std::max(most, needed(sent_by(tree.row, tree.col)));
    }
    return most;
  }

  /// Loads change where a tree begins or ends; the largest are right after the place where some
  /// tree of the line begins. `from` and `to` are the ends along the line, `set` the trees on it.
  template <typename From, typename To>
  std::int64_t slowest_link(TreeSet set, const From& from, const To& to) const {
    std::int64_t most = 0;
    for (TreeSet starts = set; starts != 0; starts &= starts - 1) {
      const std::int32_t link = from(static_cast<std::size_t>(std::countr_zero(starts)));
      TreeSet users = 0;
      for (TreeSet rest = set; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(rest));
        if (from(i) <= link && to(i) > link) users |= bit(i);
      }
      most = std::max(most, needed(users));
    }
    return most;
  }

  std::int64_t slowest_row() const {
    std::map<std::int32_t, TreeSet> lines;
    for (std::size_t i = 0; i < trees_.size(); ++i) lines[trees_[i].row] |= bit(i);
    std::int64_t most = 0;
    for (const auto& [row, set] : lines) {
      most = std::max(most, slowest_link(
                                set, [&](std::size_t i) { return trees_[i].col; },
                                [&](std::size_t i) { return trees_[i].cols.last(); }));
      most = std::max(most, slowest_link(
                                set, [&](std::size_t i) { return -trees_[i].col; },
                                [&](std::size_t i) { return -trees_[i].cols.first; }));
    }
    return most;
  }

  /// The trees that have destinations at each coordinate, with the number of such coordinates.
  std::map<TreeSet, std::int64_t> sets_of(std::int32_t extent, Span1D MulticastTree::* ends) const {
    std::vector<TreeSet> sets(static_cast<std::size_t>(extent));
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      const Span1D& span = trees_[i].*ends;
      for (std::int32_t k = 0; k < span.count; ++k) {
        sets[static_cast<std::size_t>(span.at(k))] |= bit(i);
      }
    }
    std::map<TreeSet, std::int64_t> counts;
    for (const TreeSet set : sets) ++counts[set];
    return counts;
  }

  std::int64_t slowest_column() const {
    std::int64_t most = 0;
    for (const auto& [set, count] : sets_of(mesh_.cols, &MulticastTree::cols)) {
      most = std::max(most, slowest_link(
                                set, [&](std::size_t i) { return trees_[i].row; },
                                [&](std::size_t i) { return trees_[i].rows.last(); }));
      most = std::max(most, slowest_link(
                                set, [&](std::size_t i) { return -trees_[i].row; },
                                [&](std::size_t i) { return -trees_[i].rows.first; }));
    }
    return most;
  }

  /// Places with the same trees to their row and to their column receive the same, except that a
  /// place does not receive its own.
  std::int64_t slowest_receiver() const {
    std::map<std::pair<TreeSet, TreeSet>, std::vector<std::pair<std::int32_t, std::int32_t>>> own;
    for (const MulticastTree& tree : trees_) {
      if (!tree.rows.contains(tree.row) || !tree.cols.contains(tree.col)) continue;
      auto& places =
          own[{set_at(tree.row, &MulticastTree::rows), set_at(tree.col, &MulticastTree::cols)}];
      const std::pair place(tree.row, tree.col);
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
    std::int64_t most = 0;
    const auto rows = sets_of(mesh_.rows, &MulticastTree::rows);
    const auto cols = sets_of(mesh_.cols, &MulticastTree::cols);
    for (const auto& [by_row, row_count] : rows) {
      for (const auto& [by_col, col_count] : cols) {
        if ((by_row & by_col) == 0) continue;
        std::int64_t others = row_count * col_count;
        if (const auto found = own.find({by_row, by_col}); found != own.end()) {
          others -= static_cast<std::int64_t>(found->second.size());
          for (const auto& [row, col] : found->second) {
            most = std::max(most, needed(by_row & by_col & ~sent_by(row, col)));
          }
        }
        if (others > 0) most = std::max(most, needed(by_row & by_col));
      }
    }
    return most;
  }
  TreeSet set_at(std::int32_t coordinate, Span1D MulticastTree::* ends) const {
    TreeSet set = 0;
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      if ((trees_[i].*ends).contains(coordinate)) set |= bit(i);
    }
    return set;
  }

  const std::vector<MulticastTree>& trees_;
  const fabric::FabricMesh& mesh_;
  std::vector<std::int64_t> words_;
  std::vector<std::int64_t> longest_;
};

/// Walks through the choices of one flow per block.
class ChoiceWalk {
 public:
  ChoiceWalk(const FlowTables& tables, std::size_t most) : tables_(tables), most_(most) {}

  /// False if there are too many multicasts.
  bool run() { return descend(0, {0, 0, {}, {}, tables_.still}); }
  std::vector<MulticastTree> take() { return std::move(found_); }

 private:
  bool descend(std::size_t block, const MulticastTree& above) {
    if (block == tables_.blocks.size()) return add(above);
    for (const Flow& flow : tables_.blocks[block].flows) {
      MulticastTree tree = above;
      const auto owns = [&](Coordinate k) { return tables_.owner_of(k) == block; };
      if (owns(Coordinate::kRow)) tree.row = flow.row;
      if (owns(Coordinate::kCol)) tree.col = flow.col;
      if (owns(Coordinate::kRows)) tree.rows = flow.rows;
      if (owns(Coordinate::kCols)) tree.cols = flow.cols;
      tree.elements *= flow.elements;
      if (!descend(block + 1, tree)) return false;
    }
    return true;
  }
  bool add(const MulticastTree& tree) {
    if (tree.rows.is_only(tree.row) && tree.cols.is_only(tree.col)) return true;
    found_.push_back(tree);
    return found_.size() <= most_;
  }

  const FlowTables& tables_;
  std::size_t most_;
  std::vector<MulticastTree> found_;
};

}  // namespace

std::optional<std::vector<MulticastTree>> multicast_trees(const FlowTables& tables,
                                                          std::int64_t most) {
  std::int64_t choices = 1;
  for (const FlowBlock& block : tables.blocks) {
    choices *= static_cast<std::int64_t>(block.flows.size());
    if (choices > kMaxChoices) return std::nullopt;
  }
  ChoiceWalk walk(tables, static_cast<std::size_t>(most));
  if (!walk.run()) return std::nullopt;
  return walk.take();
}

std::int64_t tree_cycles(const std::vector<MulticastTree>& trees, const Reshard::Rate& rate,
                         const fabric::FabricMesh& mesh) {
  if (trees.empty()) return 0;
  return TreeLoads(trees, rate, mesh).slowest() + 2 * mesh.ramp_cycles;
}

std::int64_t tree_cycles(const Dispatches& dispatches, const Reshard::Rate& rate,
                         const fabric::FabricMesh& mesh) {
  struct Use {
    std::int64_t words = 0;
    std::int64_t longest = 0;
  };
  enum : std::uint8_t { kEast, kWest, kSouth, kNorth, kInto, kOutOf };
  std::map<std::pair<std::int64_t, int>, Use> uses;  // by router and way
  for (const Dispatch& dispatch : dispatches.list) {
    const std::int64_t row = dispatch.source / mesh.cols;
    const std::int64_t col = dispatch.source % mesh.cols;
    const std::int64_t words = rate.of(dispatch.elements);
    std::int64_t longest = 0;
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> columns;  // rows from, to
    for (const std::int64_t place : dispatches.sets[dispatch.set]) {
      const std::int64_t to = place / mesh.cols;
      longest = std::max(longest, std::abs(to - row) + std::abs(place % mesh.cols - col));
      auto& range = columns.try_emplace(place % mesh.cols, row, row).first->second;
      range = {std::min(range.first, to), std::max(range.second, to)};
    }
    const auto use = [&](std::int64_t router, int way) {
      Use& used = uses[{router, way}];
      used.words += words;
      used.longest = std::max(used.longest, longest);
    };
    use(dispatch.source, kOutOf);
    for (const std::int64_t place : dispatches.sets[dispatch.set]) use(place, kInto);
    const std::int64_t first_in_row = row * mesh.cols;
    for (auto c = col; c < columns.rbegin()->first; ++c) use(first_in_row + c, kEast);
    for (auto c = col; c > columns.begin()->first; --c) use(first_in_row + c, kWest);
    for (const auto& [c, range] : columns) {
      for (auto r = row; r < range.second; ++r) use(r * mesh.cols + c, kSouth);
      for (auto r = row; r > range.first; --r) use(r * mesh.cols + c, kNorth);
    }
  }
  std::int64_t most = 0;
  for (const auto& [way, used] : uses) most = std::max(most, used.words + used.longest);
  return most == 0 ? 0 : most + 2 * mesh.ramp_cycles;
}

Round tree_round(const Dispatches& dispatches, const Reshard::Rate& rate) {
  Round round;
  for (std::uint32_t item = 0; item < dispatches.list.size(); ++item) {
    const Dispatch& dispatch = dispatches.list[item];
    Send send;
    send.source = static_cast<std::int32_t>(dispatch.source);
    send.colour = static_cast<std::int32_t>(item);
    send.items = {item};
    std::vector<std::int32_t> to;
    for (const std::int64_t place : dispatches.sets[dispatch.set]) {
      to.push_back(static_cast<std::int32_t>(place));
    }
    LegMaker legs(rate);
    legs.add(dispatch.elements, to);
    send.legs = legs.take();
    round.sends.push_back(std::move(send));
  }
  return round;
}

}  // namespace tessera::reshard
