// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/collective_laws.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/tuples.h"

namespace tessera::test {
namespace {

using reshard::Collective;
using reshard::CollectiveKind;
using Tuple = std::vector<std::int64_t>;       // coordinates along the grid axes
using Contributions = std::set<std::int64_t>;  // shares of A
/// What the places hold of one element: one entry, or one for each share that moves separately.
using Holders = std::map<Tuple, std::set<Contributions>>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Every place of a grid that is on its mesh: physical number → coordinates.
std::map<std::int64_t, Tuple> grid_places(const reshard::PlaceGrid& grid) {
  std::vector<std::int64_t> counts;
  for (const reshard::GridAxis& axis : grid.axes) counts.push_back(axis.count);
  std::map<std::int64_t, Tuple> places;
  for_each_tuple(counts, [&](const Tuple& tuple) {
    Place place = grid.mesh.delinear(grid.first);
    for (std::size_t k = 0; k < tuple.size(); ++k) {
      place[grid.axes[k].mesh_axis] += tuple[k] * grid.axes[k].step;
    }
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (place[i] >= grid.mesh[i]) return;
    }
    std::int64_t number = 0;
    for (std::size_t i = 0; i < place.size(); ++i) number = number * grid.mesh[i] + place[i];
    places.emplace(grid.devices ? (*grid.devices)[at(number)] : number, tuple);
  });
  return places;
}

Tuple along(const Tuple& tuple, const std::vector<std::size_t>& axes) {
  Tuple picked;
  for (const std::size_t k : axes) picked.push_back(tuple[k]);
  return picked;
}

/// The tuple with other coordinates along `axes`.
Tuple moved(Tuple tuple, const std::vector<std::size_t>& axes, const Tuple& to) {
  for (std::size_t i = 0; i < axes.size(); ++i) tuple[axes[i]] = to[i];
  return tuple;
}

/// Carries out steps on the elements of a pair.
class Run {
 public:
  Run(const reshard::Collectives& collectives, const NaiveReshard& moves)
      : collectives_(collectives), moves_(moves), places_(grid_places(collectives.grid)) {}

  std::string run() {
    start();
    for (std::size_t i = 0; i < collectives_.steps.size() && mistake_.empty(); ++i) {
      step(collectives_.steps[i]);
      if (!mistake_.empty()) mistake_ = cat("step ", i, ": ", mistake_);
    }
    if (mistake_.empty()) finish();
    return mistake_;
  }

 private:
  void wrong(std::string what) {
    if (mistake_.empty()) mistake_ = std::move(what);
  }

  void start() {
    for (const NaiveHome& home : moves_.from) {
      Holders& holders = now_.emplace_back();
      for (std::size_t s = 0; s < home.shares.size(); ++s) {
        for (const NaivePlace& place : home.shares[s]) {
          const auto found = places_.find(place.physical);
          if (found == places_.end()) return wrong("a place of A is not on the grid");
          holders[found->second].insert({static_cast<std::int64_t>(s)});
        }
      }
    }
  }

  /// Where B wants what these contributions are, along the axes of a step.
  Tuple target(std::size_t x, const Contributions& contributions,
               const std::vector<std::size_t>& axes) {
    const NaiveHome& from = moves_.from[x];
    const NaiveHome& to = moves_.to[x];
    std::vector<std::set<Tuple>> by_share;
    std::set<Tuple> all;
    for (const std::vector<NaivePlace>& share : to.shares) {
      std::set<Tuple>& tuples = by_share.emplace_back();
      for (const NaivePlace& place : share) {
        const auto found = places_.find(place.physical);
        if (found == places_.end()) {
          wrong("a place of B is not on the grid");
          return {};
        }
        tuples.insert(along(found->second, axes));
      }
      all.insert(tuples.begin(), tuples.end());
    }
    if (all.size() == 1) return *all.begin();
    const bool separate = naive_alike(from, to) && contributions.size() == 1;
    const std::set<Tuple>& own = by_share[separate ? at(*contributions.begin()) : 0];
    if (own.size() != 1) wrong("B has no single place along the axes of the step");
    return *own.begin();
  }

  void step(const Collective& step) {
    if (!groups_are_right(step)) return wrong("groups are not the places along its axes");
    check_sizes(step, false);
    std::vector<Holders> next;
    for (std::size_t x = 0; x < now_.size(); ++x) next.push_back(after(step, x));
    if (step.kind == CollectiveKind::kAllToAll) check_complete(step);
    if (step.members < 40) check_between(step, next);
    now_ = std::move(next);
    check_sizes(step, true);
  }

  /// Lists the groups: every member must have the coordinates that its number says.
  bool groups_are_right(const Collective& step) {
    groups_.clear();
    std::set<Tuple> seen;
    for (std::int64_t g = 0; g < step.groups; ++g) {
      std::set<Tuple> outside;
      for (std::int64_t m = 0; m < step.members; ++m) {
        const auto found = places_.find(step.place(g, m));
        if (found == places_.end() || !seen.insert(found->second).second) return false;
        Tuple inside;
        std::int64_t rest = m;
        for (std::size_t i = step.axes.size(); i-- > 0;) {
          const std::int64_t count = collectives_.grid.axes[step.axes[i]].count;
          inside.insert(inside.begin(), rest % count);
          rest /= count;
        }
        if (along(found->second, step.axes) != inside || rest != 0) return false;
        outside.insert(moved(found->second, step.axes, Tuple(step.axes.size(), 0)));
        groups_[found->second] = {g, m};
      }
      if (outside.size() != 1) return false;
    }
    return true;
  }

  /// What holds element x after the step, by the definition of its kind.
  Holders after(const Collective& step, std::size_t x) {
    // Group → contributions → members that hold them.
    std::map<std::int64_t, std::map<Contributions, std::vector<std::int64_t>>> groups;
    std::map<std::int64_t, Tuple> any;  // a place of each group
    for (const auto& [tuple, sets] : now_[x]) {
      const auto found = groups_.find(tuple);
      if (found == groups_.end()) {
        wrong(cat("element ", x, " is on a place of no group"));
        return {};
      }
      any[found->second.first] = tuple;
      for (const Contributions& set : sets) {
        groups[found->second.first][set].push_back(found->second.second);
      }
    }
    Holders holders;
    for (const auto& [g, sets] : groups) {
      const auto& tuple = any[g];
      const auto put = [&](std::int64_t member, const Contributions& set) {
        if (!holders[member_tuple(step, tuple, member)].insert(set).second) {
          wrong(cat("element ", x, " arrives twice"));
        }
      };
      if (reduces(step.kind)) {
        reduce(step, x, sets, put);
        continue;
      }
      for (const auto& [set, members] : sets) move(step, x, set, members, put);
    }
    return holders;
  }

  static bool reduces(CollectiveKind kind) {
    return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduce ||
           kind == CollectiveKind::kReduceScatter;
  }

  Tuple member_tuple(const Collective& step, const Tuple& tuple, std::int64_t member) const {
    Tuple inside(step.axes.size());
    for (std::size_t i = step.axes.size(); i-- > 0;) {
      const std::int64_t count = collectives_.grid.axes[step.axes[i]].count;
      inside[i] = member % count;
      member /= count;
    }
    return moved(tuple, step.axes, inside);
  }

  std::int64_t member_of(const Collective& step, const Tuple& inside) const {
    std::int64_t member = 0;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      member = member * collectives_.grid.axes[step.axes[i]].count + inside[i];
    }
    return member;
  }

  template <typename Put>
  void reduce(const Collective& step, std::size_t x,
              const std::map<Contributions, std::vector<std::int64_t>>& sets, const Put& put) {
    Contributions combined;
    std::int64_t holding = 0;
    std::size_t contributions = 0;
    for (const auto& [set, members] : sets) {
      if (members.size() != 1) return wrong(cat("element ", x, ": two members have one share"));
      holding += 1;
      contributions += set.size();
      combined.insert(set.begin(), set.end());
    }
    if (holding != step.members || combined.size() != contributions) {
      return wrong(cat("element ", x, ": members do not have one share each"));
    }
    if (step.kind == CollectiveKind::kReduce) put(step.root, combined);
    if (step.kind == CollectiveKind::kReduceScatter) {
      put(member_of(step, target(x, combined, step.axes)), combined);
    }
    if (step.kind != CollectiveKind::kAllReduce) return;
    for (std::int64_t m = 0; m < step.members; ++m) put(m, combined);
  }

  template <typename Put>
  void move(const Collective& step, std::size_t x, const Contributions& set,
            const std::vector<std::int64_t>& members, const Put& put) {
    const auto count = static_cast<std::int64_t>(members.size());
    const auto require = [&](bool holds, std::string_view what) {
      if (!holds) wrong(cat("element ", x, ": ", what));
    };
    switch (step.kind) {
      case CollectiveKind::kSlice:
        require(count == step.members, "not on all members before a slice");
        return put(member_of(step, target(x, set, step.axes)), set);
      case CollectiveKind::kAllGather:
      case CollectiveKind::kBroadcast:
        require(count == 1, "not on one member");
        require(step.kind == CollectiveKind::kAllGather || members[0] == step.root, "not on root");
        for (std::int64_t m = 0; m < step.members; ++m) put(m, set);
        return;
      case CollectiveKind::kGather:
        require(count == 1, "not on one member");
        return put(step.root, set);
      case CollectiveKind::kScatter:
      case CollectiveKind::kAllToAll: {
        require(count == 1, "not on one member");
        require(step.kind == CollectiveKind::kAllToAll || members[0] == step.root, "not on root");
        const std::int64_t to = member_of(step, target(x, set, step.axes));
        return put(to, set);
      }
      case CollectiveKind::kPermute:
        for (const std::int64_t m : members) {
          require(step.moves[at(m)] >= 0, "on a member that moves nothing");
          if (mistake_.empty()) put(step.moves[at(m)], set);
        }
        return;
      default:
        return;
    }
  }

  void check_sizes(const Collective& step, bool after) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> held;
    for (const Holders& holders : now_) {
      for (const auto& [tuple, sets] : holders) {
        const auto found = groups_.find(tuple);
        if (found == groups_.end()) return wrong("an element is on a place of no group");
        held[found->second] += static_cast<std::int64_t>(sets.size());
      }
    }
    reshard::HeldElements all;
    for (std::int64_t g = 0; g < step.groups; ++g) {
      for (std::int64_t m = 0; m < step.members; ++m) {
        const std::int64_t expected = held[{g, m}];
        const std::int64_t found = after ? step.elements_after(g, m) : step.elements_before(g, m);
        if (found != expected) {
          return wrong(cat("group ", g, " member ", m, " holds ", expected, " elements ",
                           after ? "after" : "before", ", not ", found));
        }
        all.total += expected;
        all.most = std::max(all.most, expected);
      }
    }
    if (all != (after ? step.after : step.before)) wrong("most or total elements are wrong");
  }

  void check_between(const Collective& step, const std::vector<Holders>& next) {
    if (reduces(step.kind)) return;
    std::map<std::pair<Tuple, Tuple>, std::int64_t> counts;
    for (std::size_t x = 0; x < next.size(); ++x) {
      for (const auto& [from, sets] : now_[x]) {
        for (const auto& [to, later] : next[x]) {
          for (const Contributions& set : sets) counts[{from, to}] += later.contains(set) ? 1 : 0;
        }
      }
    }
    for (const auto& [from, at_from] : groups_) {
      for (const auto& [to, at_to] : groups_) {
        if (at_from.first != at_to.first) continue;
        const auto found = counts.find({from, to});
        const std::int64_t expected = found == counts.end() ? 0 : found->second;
        const std::int64_t said =
            step.elements_between(at_from.first, at_from.second, at_to.second);
        if (said != expected) {
          return wrong(cat("members ", at_from.second, " to ", at_to.second, " of group ",
                           at_from.first, ": ", expected, " elements, not ", said));
        }
      }
    }
  }

  /// Each member that has something has a part for each member that needs something.
  void check_complete(const Collective& step) {
    for (std::int64_t g = 0; g < step.groups; ++g) {
      for (std::int64_t i = 0; i < step.members; ++i) {
        for (std::int64_t j = 0; j < step.members; ++j) {
          if (step.elements_before(g, i) == 0 || step.elements_after(g, j) == 0) continue;
          if (step.elements_between(g, i, j) == 0) return wrong("a member has nothing for another");
        }
      }
    }
  }

  /// B has every contribution once: on each place, or over its shares.
  void finish() {
    for (std::size_t x = 0; x < now_.size() && mistake_.empty(); ++x) {
      const NaiveHome& to = moves_.to[x];
      std::map<Tuple, std::set<Contributions>> left = now_[x];
      Contributions all;
      std::size_t sum = 0;
      for (const std::vector<NaivePlace>& share : to.shares) {
        std::set<std::set<Contributions>> contents;
        for (const NaivePlace& place : share) {
          const auto found = places_.find(place.physical);
          if (found == places_.end()) return wrong("a place of B is not on the grid");
          const auto held = now_[x].find(found->second);
          contents.insert(held == now_[x].end() ? std::set<Contributions>() : held->second);
          left.erase(found->second);
        }
        if (contents.size() != 1 || contents.begin()->size() > 1) {
          return wrong(cat("element ", x, ": the places of a share of B do not agree"));
        }
        for (const Contributions& set : *contents.begin()) {
          all.insert(set.begin(), set.end());
          sum += set.size();
        }
      }
      if (!left.empty()) wrong(cat("element ", x, " is on a place that B does not name"));
      if (sum != moves_.from[x].shares.size() || all.size() != sum) {
        wrong(cat("element ", x, ": B does not have every share of A once"));
      }
    }
  }

  const reshard::Collectives& collectives_;
  const NaiveReshard& moves_;
  std::map<std::int64_t, Tuple> places_;
  std::vector<Holders> now_;                                       // by element
  std::map<Tuple, std::pair<std::int64_t, std::int64_t>> groups_;  // place → group, member
  std::string mistake_;
};

/// Without steps every place of B has its share already, or all shares of a value that B combines.
std::string not_in_place(const NaiveReshard& moves) {
  const auto holds = [](const std::vector<NaivePlace>& places, const NaivePlace& wanted) {
    return std::any_of(places.begin(), places.end(),
                       [&](const NaivePlace& place) { return place.physical == wanted.physical; });
  };
  for (std::size_t x = 0; x < moves.from.size(); ++x) {
    const NaiveHome& from = moves.from[x];
    const NaiveHome& to = moves.to[x];
    const bool alike = naive_alike(from, to);
    for (std::size_t t = 0; t < (alike ? to.shares.size() : 1); ++t) {
      for (const NaivePlace& place : to.shares[t]) {
        for (std::size_t s = 0; s < from.shares.size(); ++s) {
          if (alike && s != t) continue;
          if (!holds(from.shares[s], place)) return cat("element ", x, " is not in place");
        }
      }
    }
  }
  return "";
}

}  // namespace

std::string steps_mistake(const reshard::Collectives& collectives, const NaiveReshard& moves) {
  if (moves.from.empty()) {
    return collectives.steps.empty() ? "" : "an empty tensor has steps";
  }
  if (collectives.steps.empty() && collectives.grid.axes.empty()) return not_in_place(moves);
  return Run(collectives, moves).run();
}

std::string collectives_mistake(const ReshardPair& pair, const NaiveReshard& moves) {
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok()) return cat("Reshard::make refuses: ", reshard.error().message);
  const Result<std::optional<reshard::Collectives>> found = reshard::collectives_of(*reshard);
  if (!found.ok()) return cat("collectives_of refuses: ", found.error().message);
  if (!*found) return "";
  std::string mistake = steps_mistake(**found, moves);
  return mistake.empty() ? "" : cat(describe(**found), ": ", mistake);
}

}  // namespace tessera::test
