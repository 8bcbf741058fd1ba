// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/simplify.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/plan/choose/solver/dominance.h"
#include "tessera/plan/choose/solver/range_minimum.h"

namespace tessera::choose {
namespace {

constexpr int kMostRounds = 8;
constexpr std::size_t kMostFoldWork = std::size_t{1} << 22;  // additions for one folded node

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return a >= kForbidden || b >= kForbidden ? kForbidden : a + b;
}

class Simplifier {
 public:
  explicit Simplifier(Joined joined) : ends_(std::move(joined.ends)) {
    out_.room = std::move(joined.room);
    limit_ = out_.room.empty() ? 0 : out_.room.front();
    out_.moments.resize(out_.room.size());
    std::iota(out_.moments.begin(), out_.moments.end(), 0U);
    out_.nodes.resize(joined.decisions.size());
    for (std::size_t i = 0; i < out_.nodes.size(); ++i) {
      Simplified::Node& node = out_.nodes[i];
      node.costs = std::move(joined.decisions[i].costs);
      node.pieces = std::move(joined.decisions[i].pieces);
      node.origin.resize(node.costs.size());
      std::iota(node.origin.begin(), node.origin.end(), 0U);
    }
    for (Joined::Edge& edge : joined.edges) {
      out_.nodes[edge.a].edges.push_back(out_.edges.size());
      out_.nodes[edge.b].edges.push_back(out_.edges.size());
      out_.edges.push_back({edge.a, edge.b, std::move(edge.table), false});
    }
    waits_.assign(out_.nodes.size(), true);
  }

  Simplified run() {
    for (std::size_t i = 0; i < out_.nodes.size(); ++i) {
      keep_if(i, [&](std::uint32_t k) { return out_.nodes[i].costs[k] < kForbidden; });
    }
    for (int round = 0; round < kMostRounds && !is_infeasible(); ++round) {
      changed_ = false;
      rebase();
      if (is_infeasible()) break;
      drop_large_usages();
      drop_slack_moments();
      for (std::size_t i = 0; i < out_.nodes.size() && !is_infeasible(); ++i) visit(i);
      if (!changed_) break;
    }
    if (!is_infeasible()) rebase();
    return std::move(out_);
  }

 private:
  bool is_infeasible() const { return out_.shortage || out_.impossible; }

  /// Everything about one node, if something near it has changed since the last time.
  void visit(std::size_t i) {
    if (!waits_[i] || out_.nodes[i].is_gone) return;
    waits_[i] = false;
    drop_unsupported(i);
    if (is_infeasible()) return;
    drop_separable_edges(i);
    if (out_.nodes[i].costs.size() > 1) {
      const std::vector<bool> dominated = dominated_strategies(out_, i);
      keep_if(i, [&](std::uint32_t k) { return !dominated[k]; });
    }
    drop_separable_edges(i);
    fold(i);
  }

  void touch(std::size_t i) {
    waits_[i] = true;
    changed_ = true;
  }

  /// Keeps the strategies k of node i with keep(k), in all lists that are indexed by them.
  template <typename Keep>
  void keep_if(std::size_t i, const Keep& keep) {
    Simplified::Node& node = out_.nodes[i];
    std::vector<std::uint32_t> kept;
    for (std::uint32_t k = 0; k < node.costs.size(); ++k) {
      if (keep(k)) kept.push_back(k);
    }
    const std::size_t before = node.costs.size();
    if (kept.size() == before) return;
    if (kept.empty()) {
      out_.impossible = i;
      return;
    }
    const auto pick = [&](auto& list) {
      for (std::size_t s = 0; s < kept.size(); ++s) list[s] = list[kept[s]];
      list.resize(kept.size());
      list.shrink_to_fit();
    };
    pick(node.costs);
    pick(node.origin);
    for (Joined::Piece& piece : node.pieces) pick(piece.usage);
    for (const std::size_t e : node.edges) {
      Simplified::Edge& edge = out_.edges[e];
      const bool is_row = edge.a == i;
      const std::size_t width = is_row ? out_.nodes[edge.b].costs.size() : before;
      const std::size_t rows = edge.table.size() / width;
      std::vector<std::int64_t> table;
      table.reserve(edge.table.size() / before * kept.size());
      if (is_row) {
        for (const std::uint32_t k : kept) {
          const auto row = edge.table.begin() + static_cast<std::ptrdiff_t>(k * width);
          table.insert(table.end(), row, row + static_cast<std::ptrdiff_t>(width));
        }
      } else {
        for (std::size_t row = 0; row < rows; ++row) {
          for (const std::uint32_t k : kept) table.push_back(edge.table[row * width + k]);
        }
      }
      edge.table = std::move(table);
      touch(is_row ? edge.b : edge.a);
    }
    touch(i);
  }

  /// Moves the least usage of every piece to the limit, and drops what is the same for all
  /// strategies.
  void rebase() {
    std::vector<std::int64_t> base(out_.room.size() + 1);
    for (Simplified::Node& node : out_.nodes) {
      std::vector<Joined::Piece> kept;
      for (Joined::Piece& piece : node.pieces) {
        const auto [least, most] = std::minmax_element(piece.usage.begin(), piece.usage.end());
        const std::int64_t offset = *least;
        base[piece.from] += offset;
        base[piece.to] -= offset;
        if (offset == *most) continue;
        for (std::int64_t& usage : piece.usage) usage -= offset;
        if (!kept.empty() && kept.back().to == piece.from && kept.back().usage == piece.usage) {
          kept.back().to = piece.to;
        } else {
          kept.push_back(std::move(piece));
        }
      }
      node.pieces = std::move(kept);
    }
    std::int64_t sum = 0;
    for (std::size_t m = 0; m < out_.room.size(); ++m) {
      sum += base[m];
      out_.room[m] -= sum;
    }
    find_shortage();
  }

  void find_shortage() {
    const auto least = std::min_element(out_.room.begin(), out_.room.end());
    if (least == out_.room.end() || *least >= 0) return;
    auto last = least;
    while (last != out_.room.end() && *last == *least) ++last;
    const auto from = static_cast<std::size_t>(least - out_.room.begin());
    const auto to = static_cast<std::size_t>(last - out_.room.begin());
    out_.shortage = Shortage{
        {ends_[out_.moments[from]], ends_[out_.moments[to - 1] + 1]}, limit_ - *least, limit_};
  }

  /// Drops strategies that exceed the room even if all others use as little as they can.
  void drop_large_usages() {
    const RangeMinimum least(out_.room);
    for (std::size_t i = 0; i < out_.nodes.size(); ++i) {
      const std::vector<Joined::Piece>& pieces = out_.nodes[i].pieces;
      std::vector<bool> gone(out_.nodes[i].costs.size());
      bool any = false;
      for (const Joined::Piece& piece : pieces) {
        const std::int64_t most = least(piece.from, piece.to);
        for (std::size_t k = 0; k < piece.usage.size(); ++k) {
          if (piece.usage[k] > most) gone[k] = any = true;
        }
      }
      if (any) keep_if(i, [&](std::uint32_t k) { return !gone[k]; });
    }
  }

  /// Renumbers the moments without those that can never be exceeded, or that their neighbour
  /// implies: everything that is alive at one of two adjacent moments is alive at the other, with
  /// no more room.
  void drop_slack_moments() {
    const std::size_t count = out_.room.size();
    std::vector<std::int64_t> largest(count + 1);
    std::vector<bool> begins(count + 1);
    std::vector<bool> ends(count + 1);
    for (const Simplified::Node& node : out_.nodes) {
      for (const Joined::Piece& piece : node.pieces) {
        const std::int64_t most = *std::max_element(piece.usage.begin(), piece.usage.end());
        largest[piece.from] += most;
        largest[piece.to] -= most;
        begins[piece.from] = true;
        ends[piece.to] = true;
      }
    }
    std::vector<std::uint32_t> kept;
    std::int64_t sum = 0;
    for (std::uint32_t m = 0; m < count; ++m) {
      sum += largest[m];
      if (sum <= out_.room[m]) {
        if (m + 1 < count) {
          // What changes here also separates the moments on both sides.
          begins[m + 1] = begins[m + 1] || begins[m];
          ends[m + 1] = ends[m + 1] || ends[m];
        }
        continue;
      }
      // The last kept moment implies this one, or this one implies it (and maybe those before).
      while (!kept.empty() && !ends[m] && out_.room[m] <= out_.room[kept.back()]) {
        // What changed since the moment before the replaced one also separates that from this one.
        begins[m] = begins[m] || begins[kept.back()];
        ends[m] = ends[kept.back()];
        kept.pop_back();
      }
      if (!kept.empty() && !begins[m] && out_.room[kept.back()] <= out_.room[m]) {
        if (m + 1 < count) ends[m + 1] = ends[m + 1] || ends[m];
        continue;
      }
      kept.push_back(m);
    }
    if (kept.size() == count) return;
    for (Simplified::Node& node : out_.nodes) {
      std::erase_if(node.pieces, [&](Joined::Piece& piece) {
        const auto from = std::lower_bound(kept.begin(), kept.end(), piece.from);
        const auto to = std::lower_bound(from, kept.end(), piece.to);
        piece.from = static_cast<std::uint32_t>(from - kept.begin());
        piece.to = static_cast<std::uint32_t>(to - kept.begin());
        return piece.from == piece.to;
      });
    }
    for (std::size_t k = 0; k < kept.size(); ++k) {
      out_.room[k] = out_.room[kept[k]];
      out_.moments[k] = out_.moments[kept[k]];
    }
    out_.room.resize(kept.size());
    out_.moments.resize(kept.size());
    std::fill(waits_.begin(), waits_.end(), true);
    changed_ = true;
  }

  /// Drops strategies that an edge forbids with every strategy of the neighbour.
  void drop_unsupported(std::size_t i) {
    for (std::size_t at = 0; at < out_.nodes[i].edges.size(); ++at) {
      const Simplified::Edge& edge = out_.edges[out_.nodes[i].edges[at]];
      const std::size_t own = out_.nodes[i].costs.size();
      const std::size_t width = out_.nodes[edge.b].costs.size();
      std::vector<bool> has(own);
      for (std::size_t k = 0; k < edge.table.size(); ++k) {
        if (edge.table[k] < kForbidden) has[edge.a == i ? k / width : k % width] = true;
      }
      keep_if(i, [&](std::uint32_t k) { return has[k]; });
      if (is_infeasible()) return;
    }
  }

  void remove_edge(std::size_t e) {
    Simplified::Edge& edge = out_.edges[e];
    edge.is_gone = true;
    for (const std::size_t end : {edge.a, edge.b}) {
      std::erase(out_.nodes[end].edges, e);
      touch(end);
    }
  }

  void drop_separable_edges(std::size_t i) {
    const std::vector<std::size_t> edges = out_.nodes[i].edges;
    for (const std::size_t e : edges) {
      Simplified::Edge& edge = out_.edges[e];
      std::vector<std::int64_t>& rows = out_.nodes[edge.a].costs;
      std::vector<std::int64_t>& columns = out_.nodes[edge.b].costs;
      if (!is_separable(edge.table, columns.size())) continue;
      const std::int64_t corner = edge.table[0];
      for (std::size_t k = 0; k < rows.size(); ++k) rows[k] += edge.table[k * columns.size()];
      for (std::size_t l = 0; l < columns.size(); ++l) columns[l] += edge.table[l] - corner;
      remove_edge(e);
      edge.table = {};
    }
  }

  static bool is_separable(const std::vector<std::int64_t>& table, std::size_t width) {
    for (std::size_t from = 0; from < table.size(); from += width) {
      const std::int64_t step = table[from] - table[0];
      for (std::size_t l = 0; l < width; ++l) {
        if (table[from + l] >= kForbidden || table[from + l] - table[l] != step) return false;
      }
    }
    return true;
  }

  std::size_t other_end(std::size_t e, std::size_t i) const {
    return out_.edges[e].a == i ? out_.edges[e].b : out_.edges[e].a;
  }
  /// The cost of strategy k of node i with strategy l of the other end.
  std::int64_t entry(std::size_t e, std::size_t i, std::size_t k, std::size_t l) const {
    const Simplified::Edge& edge = out_.edges[e];
    const std::size_t width = out_.nodes[edge.b].costs.size();
    return edge.a == i ? edge.table[k * width + l] : edge.table[l * width + k];
  }

  void fold(std::size_t i) {
    Simplified::Node& node = out_.nodes[i];
    const std::size_t degree = node.edges.size();
    if (!node.pieces.empty() || degree > 2) return;
    std::size_t work = node.costs.size();
    for (const std::size_t e : node.edges) work *= out_.nodes[other_end(e, i)].costs.size();
    if (work > kMostFoldWork) return;
    const std::vector<std::size_t> edges = node.edges;
    if (degree == 0) {
      out_.constant += *std::min_element(node.costs.begin(), node.costs.end());
    } else if (degree == 1) {
      fold_one(i, edges[0]);
    } else {
      fold_two(i, edges[0], edges[1]);
    }
    if (is_infeasible()) return;
    for (const std::size_t e : edges) remove_edge(e);
    node.is_gone = true;
    changed_ = true;
    Simplified::Fold& folded = out_.folds.emplace_back();
    folded.node = i;
    for (const std::size_t e : edges) {
      folded.sides.push_back({e, out_.nodes[other_end(e, i)].origin});
    }
  }

  void fold_one(std::size_t i, std::size_t e) {
    const std::size_t other = other_end(e, i);
    std::vector<std::int64_t>& costs = out_.nodes[other].costs;
    for (std::size_t l = 0; l < costs.size(); ++l) {
      std::int64_t best = kForbidden;
      for (std::size_t k = 0; k < out_.nodes[i].costs.size(); ++k) {
        best = std::min(best, plus(out_.nodes[i].costs[k], entry(e, i, k, l)));
      }
      costs[l] = plus(costs[l], best);
    }
    keep_if(other, [&](std::uint32_t l) { return out_.nodes[other].costs[l] < kForbidden; });
  }

  void fold_two(std::size_t i, std::size_t first, std::size_t second) {
    std::size_t a = other_end(first, i);
    std::size_t b = other_end(second, i);
    if (a > b) {
      std::swap(a, b);
      std::swap(first, second);
    }
    const std::size_t height = out_.nodes[a].costs.size();
    const std::size_t width = out_.nodes[b].costs.size();
    std::vector<std::int64_t> table(height * width, kForbidden);
    std::vector<std::int64_t> to_b(width);
    for (std::size_t k = 0; k < out_.nodes[i].costs.size(); ++k) {
      for (std::size_t m = 0; m < width; ++m) to_b[m] = entry(second, i, k, m);
      for (std::size_t l = 0; l < height; ++l) {
        const std::int64_t base = plus(out_.nodes[i].costs[k], entry(first, i, k, l));
        if (base >= kForbidden) continue;
        for (std::size_t m = 0; m < width; ++m) {
          std::int64_t& best = table[l * width + m];
          best = std::min(best, plus(base, to_b[m]));
        }
      }
    }
    for (const std::size_t e : out_.nodes[a].edges) {
      if (other_end(e, a) != b) continue;
      std::vector<std::int64_t>& sum = out_.edges[e].table;
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = plus(sum[k], table[k]);
      return;
    }
    out_.nodes[a].edges.push_back(out_.edges.size());
    out_.nodes[b].edges.push_back(out_.edges.size());
    out_.edges.push_back({a, b, std::move(table), false});
  }

  Simplified out_;
  std::vector<std::int64_t> ends_;
  std::int64_t limit_ = 0;
  std::vector<bool> waits_;
  bool changed_ = false;
};

}  // namespace

Simplified simplify(Joined joined) { return Simplifier(std::move(joined)).run(); }

}  // namespace tessera::choose
