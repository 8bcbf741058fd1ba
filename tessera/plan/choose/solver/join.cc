// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/join.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace tessera::choose {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// The strategies of every node that pairs do not exclude: a strategy whose own cost is forbidden,
/// or which an edge forbids with every strategy of a neighbour, is left out.
class Domains {
 public:
  explicit Domains(const Problem& problem) : problem_(problem), alive_(problem.nodes.size()) {
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      const std::vector<std::int64_t>& costs = problem.nodes[i].costs;
      for (std::uint32_t k = 0; k < costs.size(); ++k) {
        if (costs[k] < kForbidden) alive_[i].push_back(k);
      }
    }
    for (std::size_t e = 0; e < problem.edges.size(); ++e) {
      const std::vector<std::int64_t>& costs = problem.edges[e].costs;
      if (std::any_of(costs.begin(), costs.end(), [](auto cost) { return cost >= kForbidden; })) {
        with_forbidden_.push_back(e);
      }
    }
    propagate();
  }

  const std::vector<std::uint32_t>& operator[](std::size_t node) const { return alive_[node]; }
  /// The edges with a forbidden pair.
  const std::vector<std::size_t>& with_forbidden() const { return with_forbidden_; }
  std::optional<std::size_t> empty() const {
    for (std::size_t i = 0; i < alive_.size(); ++i) {
      if (alive_[i].empty()) return i;
    }
    return std::nullopt;
  }

 private:
  bool allowed(const Edge& edge, std::uint32_t row, std::uint32_t column) const {
    return edge.costs[row * problem_.nodes[edge.b].costs.size() + column] < kForbidden;
  }

  /// Removes the strategies of one end without an allowed partner; whether any went.
  bool revise(const Edge& edge, bool first) {
    std::vector<std::uint32_t>& own = alive_[first ? edge.a : edge.b];
    const std::vector<std::uint32_t>& others = alive_[first ? edge.b : edge.a];
    return std::erase_if(own, [&](std::uint32_t k) {
             return std::none_of(others.begin(), others.end(), [&](std::uint32_t l) {
               return first ? allowed(edge, k, l) : allowed(edge, l, k);
             });
           }) > 0;
  }

  void propagate() {
    std::vector<std::vector<std::size_t>> edges_of(alive_.size());
    for (const std::size_t e : with_forbidden_) {
      edges_of[problem_.edges[e].a].push_back(e);
      edges_of[problem_.edges[e].b].push_back(e);
    }
    std::vector<std::size_t> queue = with_forbidden_;
    std::vector<bool> waits(problem_.edges.size());
    for (const std::size_t e : queue) waits[e] = true;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      waits[queue[k]] = false;
      const Edge& edge = problem_.edges[queue[k]];
      for (const bool first : {true, false}) {
        if (!revise(edge, first)) continue;
        for (const std::size_t e : edges_of[first ? edge.a : edge.b]) {
          if (e != queue[k] && !waits[e]) {
            waits[e] = true;
            queue.push_back(e);
          }
        }
      }
    }
  }

  const Problem& problem_;
  std::vector<std::vector<std::uint32_t>> alive_;
  std::vector<std::size_t> with_forbidden_;
};

/// Classes of nodes whose strategies correspond one to one. Strategies are numbered by their
/// position among the alive ones.
class Classes {
 public:
  explicit Classes(const Domains& domains, std::size_t nodes) : parent_(nodes), map_(nodes) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (std::size_t i = 0; i < nodes; ++i) {
      map_[i].resize(domains[i].size());
      std::iota(map_[i].begin(), map_[i].end(), 0U);
    }
    excluded_.resize(nodes);
  }

  std::size_t root(std::size_t node) {
    std::vector<std::size_t> path;
    while (parent_[node] != node) {
      path.push_back(node);
      node = parent_[node];
    }
    // From the top down, the parent of each is by then a child of the root, or the root.
    for (std::size_t k = path.size(); k-- > 0;) {
      const std::size_t at = path[k];
      const std::size_t up = parent_[at];
      if (up == node) continue;
      std::vector<std::uint32_t> composed(map_[up].size());
      for (std::size_t s = 0; s < composed.size(); ++s) composed[s] = map_[at][map_[up][s]];
      map_[at] = std::move(composed);
      parent_[at] = node;
    }
    return node;
  }
  /// The node's strategy for each strategy of its root; valid after root(node).
  const std::vector<std::uint32_t>& map(std::size_t node) const { return map_[node]; }
  /// The root's strategies that contradict a cycle of matchings.
  const std::vector<std::uint32_t>& excluded(std::size_t root) const { return excluded_[root]; }

  /// `matching[s]` is the strategy of b for strategy s of a.
  void unite(std::size_t a, std::size_t b, const std::vector<std::uint32_t>& matching) {
    const std::size_t root_a = root(a);
    const std::size_t root_b = root(b);
    if (root_a == root_b) {
      for (std::uint32_t s = 0; s < map_[a].size(); ++s) {
        if (matching[map_[a][s]] != map_[b][s]) excluded_[root_a].push_back(s);
      }
      return;
    }
    // Strategy s of root a is map_a[s] of a, matching[..] of b, and so a strategy of root b.
    std::vector<std::uint32_t> back(map_[b].size());
    for (std::uint32_t s = 0; s < back.size(); ++s) back[map_[b][s]] = s;
    std::vector<std::uint32_t> joint(back.size());
    for (std::size_t s = 0; s < joint.size(); ++s) joint[s] = back[matching[map_[a][s]]];
    for (const std::uint32_t s : excluded_[root_b]) {
      const auto same = std::find(joint.begin(), joint.end(), s);
      excluded_[root_a].push_back(static_cast<std::uint32_t>(same - joint.begin()));
    }
    parent_[root_b] = root_a;
    map_[root_b] = std::move(joint);
  }

 private:
  std::vector<std::size_t> parent_;
  std::vector<std::vector<std::uint32_t>> map_;  ///< of the parent's strategies to the own ones
  std::vector<std::vector<std::uint32_t>> excluded_;
};

/// The strategy of b for each of a, if the edge allows exactly that pair for each of both.
std::optional<std::vector<std::uint32_t>> matching_of(const Problem& problem,
                                                      const Domains& domains, const Edge& edge) {
  const std::vector<std::uint32_t>& rows = domains[edge.a];
  const std::vector<std::uint32_t>& columns = domains[edge.b];
  if (rows.size() != columns.size()) return std::nullopt;
  const std::size_t width = problem.nodes[edge.b].costs.size();
  std::vector<std::uint32_t> matching(rows.size(), kNone);
  std::vector<bool> taken(columns.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::uint32_t j = 0; j < columns.size(); ++j) {
      if (edge.costs[rows[i] * width + columns[j]] >= kForbidden) continue;
      if (matching[i] != kNone || taken[j]) return std::nullopt;
      matching[i] = j;
      taken[j] = true;
    }
  }
  return matching;
}

class Joiner {
 public:
  explicit Joiner(const Problem& problem)
      : problem_(problem), domains_(problem), classes_(domains_, problem.nodes.size()) {}

  Joined run() {
    joined_.impossible = domains_.empty();
    if (joined_.impossible) return std::move(joined_);
    for (const std::size_t e : domains_.with_forbidden()) {
      const Edge& edge = problem_.edges[e];
      const auto matching = matching_of(problem_, domains_, edge);
      if (matching) classes_.unite(edge.a, edge.b, *matching);
    }
    number_decisions();
    if (joined_.impossible) return std::move(joined_);
    add_edges();
    add_pieces();
    return std::move(joined_);
  }

 private:
  void number_decisions() {
    const std::size_t nodes = problem_.nodes.size();
    std::vector<std::size_t> decision_of(nodes, SIZE_MAX);
    std::vector<std::vector<std::uint32_t>> kept(nodes);  // by root
    joined_.members.resize(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
      const std::size_t root = classes_.root(i);
      if (decision_of[root] == SIZE_MAX) {
        decision_of[root] = joined_.decisions.size();
        joined_.decisions.emplace_back().first_member = i;
        std::vector<bool> gone(classes_.map(root).size());
        for (const std::uint32_t s : classes_.excluded(root)) gone[s] = true;
        for (std::uint32_t s = 0; s < gone.size(); ++s) {
          if (!gone[s]) kept[root].push_back(s);
        }
        joined_.decisions.back().costs.resize(kept[root].size());
        if (kept[root].empty()) {
          joined_.impossible = i;
          return;
        }
      }
      Joined::Member& member = joined_.members[i];
      member.decision = decision_of[root];
      for (const std::uint32_t s : kept[root]) {
        member.strategies.push_back(domains_[i][classes_.map(i)[s]]);
      }
      std::vector<std::int64_t>& costs = joined_.decisions[member.decision].costs;
      for (std::size_t s = 0; s < costs.size(); ++s) {
        costs[s] += problem_.nodes[i].costs[member.strategies[s]];
      }
    }
  }

  /// Adds what an edge costs inside a decision, and collects the others by their two decisions.
  void add_edges() {
    struct Ends {
      std::size_t a = 0, b = 0, edge = 0;
    };
    std::vector<Ends> ends;
    for (std::size_t e = 0; e < problem_.edges.size(); ++e) {
      const Edge& edge = problem_.edges[e];
      const Joined::Member& a = joined_.members[edge.a];
      const Joined::Member& b = joined_.members[edge.b];
      if (a.decision != b.decision) {
        ends.push_back({std::min(a.decision, b.decision), std::max(a.decision, b.decision), e});
        continue;
      }
      std::vector<std::int64_t>& costs = joined_.decisions[a.decision].costs;
      const std::size_t width = problem_.nodes[edge.b].costs.size();
      for (std::size_t s = 0; s < costs.size(); ++s) {
        const std::int64_t cost = edge.costs[a.strategies[s] * width + b.strategies[s]];
        costs[s] = costs[s] >= kForbidden || cost >= kForbidden ? kForbidden : costs[s] + cost;
      }
    }
    std::sort(ends.begin(), ends.end(), [](const Ends& x, const Ends& y) {
      return std::tie(x.a, x.b, x.edge) < std::tie(y.a, y.b, y.edge);
    });
    for (const Ends& at : ends) {
      if (joined_.edges.empty() || joined_.edges.back().a != at.a ||
          joined_.edges.back().b != at.b) {
        joined_.edges.push_back({at.a, at.b,
                                 std::vector<std::int64_t>(joined_.decisions[at.a].costs.size() *
                                                           joined_.decisions[at.b].costs.size())});
      }
      add_table(problem_.edges[at.edge], joined_.edges.back());
    }
  }

  void add_table(const Edge& edge, Joined::Edge& sum) const {
    const Joined::Member& a = joined_.members[edge.a];
    const Joined::Member& b = joined_.members[edge.b];
    const bool is_turned = a.decision != sum.a;
    const std::vector<std::uint32_t>& rows = is_turned ? b.strategies : a.strategies;
    const std::vector<std::uint32_t>& columns = is_turned ? a.strategies : b.strategies;
    const std::size_t width = problem_.nodes[edge.b].costs.size();
    const std::size_t row_step = is_turned ? 1 : width;
    const std::size_t column_step = is_turned ? width : 1;
    std::int64_t* out = sum.table.data();
    for (const std::uint32_t row : rows) {
      const std::int64_t* from = edge.costs.data() + row * row_step;
      for (const std::uint32_t column : columns) {
        const std::int64_t cost = from[column * column_step];
        *out = cost >= kForbidden || *out >= kForbidden ? kForbidden : *out + cost;
        ++out;
      }
    }
  }

  void add_pieces() {
    if (!problem_.usage_limit) return;
    std::vector<std::int64_t>& ends = joined_.ends;
    for (const Node& node : problem_.nodes) {
      if (node.life.from >= node.life.to) continue;
      ends.push_back(node.life.from);
      ends.push_back(node.life.to);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    if (ends.empty()) return;
    joined_.room.assign(ends.size() - 1, *problem_.usage_limit);
    std::vector<std::vector<std::size_t>> members(joined_.decisions.size());
    for (std::size_t i = 0; i < problem_.nodes.size(); ++i) {
      const Node& node = problem_.nodes[i];
      const bool uses = std::any_of(node.usages.begin(), node.usages.end(),
                                    [](std::int64_t usage) { return usage > 0; });
      if (node.life.from < node.life.to && uses) {
        members[joined_.members[i].decision].push_back(i);
      }
    }
    for (std::size_t d = 0; d < members.size(); ++d) {
      if (!members[d].empty()) joined_.decisions[d].pieces = pieces_of(members[d]);
    }
  }

  std::uint32_t moment_of(std::int64_t time) const {
    return static_cast<std::uint32_t>(
        std::lower_bound(joined_.ends.begin(), joined_.ends.end(), time) - joined_.ends.begin());
  }

  std::vector<Joined::Piece> pieces_of(const std::vector<std::size_t>& members) const {
    struct Change {
      std::uint32_t moment = 0;
      std::size_t member = 0;
      bool ends = false;
    };
    std::vector<Change> changes;
    for (const std::size_t i : members) {
      changes.push_back({moment_of(problem_.nodes[i].life.from), i, false});
      changes.push_back({moment_of(problem_.nodes[i].life.to), i, true});
    }
    std::sort(changes.begin(), changes.end(), [](const Change& x, const Change& y) {
      return std::tie(x.moment, x.ends, x.member) < std::tie(y.moment, y.ends, y.member);
    });
    std::vector<Joined::Piece> pieces;
    const std::size_t strategies = joined_.members[members.front()].strategies.size();
    std::vector<std::int64_t> now(strategies);
    for (std::size_t k = 0; k < changes.size();) {
      const std::uint32_t moment = changes[k].moment;
      for (; k < changes.size() && changes[k].moment == moment; ++k) {
        const Joined::Member& member = joined_.members[changes[k].member];
        const std::vector<std::int64_t>& usages = problem_.nodes[changes[k].member].usages;
        for (std::size_t s = 0; s < strategies; ++s) {
          const std::int64_t usage = usages[member.strategies[s]];
          now[s] += changes[k].ends ? -usage : usage;
        }
      }
      if (!pieces.empty() && pieces.back().usage == now) continue;
      if (!pieces.empty()) pieces.back().to = moment;
      pieces.push_back({moment, moment, now});
    }
    pieces.pop_back();  // nothing is alive after the last change
    return pieces;
  }

  const Problem& problem_;
  Domains domains_;
  Classes classes_;
  Joined joined_;
};

}  // namespace

Joined join(const Problem& problem) { return Joiner(problem).run(); }

}  // namespace tessera::choose
