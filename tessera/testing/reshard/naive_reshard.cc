// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/naive_reshard.h"

#include <algorithm>
#include <cstdlib>

#include "tessera/testing/naive.h"
#include "tessera/testing/tuples.h"

namespace tessera::test {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The rule of one box: its elements count from `corner`.
struct Rule {
  Index corner;
  Index end;
  const Form* form = nullptr;
  const DeviceMap* map = nullptr;
  std::vector<std::optional<NaivePlace>> places = {};  ///< of every virtual place
  std::vector<Place> shares = {};                      ///< what a share adds to the first place
  std::vector<Place> copies = {};                      ///< what a replica adds
};

/// Every sum of one multiple of each fill's stride, in row-major order of the fills.
std::vector<Place> offsets(const Form& form, Fill::Kind kind) {
  std::vector<Place> list = {Place(form.mesh.rank(), 0)};
  for (const Fill& fill : form.fills) {
    if (fill.kind != kind) continue;
    std::vector<Place> longer;
    for (const Place& offset : list) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        longer.push_back(offset);
        longer.back()[at(fill.axis)] += i * fill.stride;
      }
    }
    list = std::move(longer);
  }
  return list;
}

std::vector<Rule> rules_of(const Placement& placement, const reshard::PhysicalMesh& physical) {
  std::vector<Rule> rules;
  const std::vector<std::int64_t>& extents = placement.shape().extents();
  if (const Piecewise* pieces = placement.pieces()) {
    for (const LayoutPiece& piece : pieces->pieces()) {
      rules.push_back({piece.box.from, piece.box.to, &piece.layout.spec().form,
                       &piece.layout.spec().device_map});
    }
  } else if (const Layout* layout = placement.layout()) {
    rules.push_back(
        {Index(extents.size(), 0), extents, &layout->spec().form, &layout->spec().device_map});
  } else {
    rules.push_back({Index(extents.size(), 0), extents, &placement.view()->form(), nullptr});
  }
  for (Rule& rule : rules) {
    rule.shares = offsets(*rule.form, Fill::Kind::kPartial);
    rule.copies = offsets(*rule.form, Fill::Kind::kReplicate);
    for_each_tuple(rule.form->mesh.extents(), [&](const std::vector<std::int64_t>& place) {
      rule.places.push_back(naive_physical(rule.form->mesh, rule.map, place, physical));
    });
  }
  return rules;
}

NaiveHome home_of(const Rule& rule, const Index& index) {
  const Form& form = *rule.form;
  const NaivePosition position = naive_evaluate(form, index);
  NaiveHome home;
  home.slot = position.slot;
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kPartial && fill.count > 1) {
      home.partials.emplace_back(fill.count, fill.reduction);
    }
  }
  for (const Place& share : rule.shares) {
    std::set<NaivePlace> places;
    for (const Place& copy : rule.copies) {
      Place place = position.first;
      for (std::size_t axis = 0; axis < place.size(); ++axis)
        place[axis] += share[axis] + copy[axis];
      const std::int64_t number = form.mesh.linear(place);
      NaivePlace found = rule.places[at(number)].value_or(NaivePlace{0, -1, 0});
      found.place = number;
      places.insert(found);
    }
    home.shares.emplace_back(places.begin(), places.end());
  }
  return home;
}

std::vector<NaiveHome> homes_of(const Placement& placement, const reshard::PhysicalMesh& physical) {
  const std::vector<Rule> rules = rules_of(placement, physical);
  std::vector<NaiveHome> homes;
  for_each_tuple(placement.shape().extents(), [&](const std::vector<std::int64_t>& index) {
    for (const Rule& rule : rules) {
      bool inside = true;
      Index local = index;
      for (std::size_t dim = 0; dim < index.size(); ++dim) {
        inside = inside && rule.corner[dim] <= index[dim] && index[dim] < rule.end[dim];
        local[dim] -= rule.corner[dim];
      }
      if (!inside) continue;
      homes.push_back(home_of(rule, local));
      return;
    }
  });
  return homes;
}

/// Places of any rule that are not on the physical mesh, or dead.
void refuse_places(const Placement& placement, const reshard::PhysicalMesh& physical,
                   std::set<ErrorCode>& codes) {
  for (const Rule& rule : rules_of(placement, physical)) {
    const bool mapped = rule.map != nullptr && rule.map->kind() != DeviceMap::Kind::kIdentity;
    const std::size_t rank = (mapped ? rule.map->physical() : rule.form->mesh).rank();
    if (rank != physical.mesh.rank() && rank != 1 && physical.mesh.rank() != 1 &&
        rule.form->mesh.elements() != 1) {
      codes.insert(ErrorCode::kMeshMismatch);
      continue;
    }
    for (const std::optional<NaivePlace>& place : rule.places) {
      const bool fine = place && std::find(physical.dead.begin(), physical.dead.end(),
                                           place->physical) == physical.dead.end();
      if (!fine) codes.insert(ErrorCode::kOutOfRange);
    }
  }
}

}  // namespace

bool NaiveHome::has_several_reductions() const {
  for (const auto& [count, reduction] : partials) {
    if (reduction != partials.front().second) return true;
  }
  return false;
}

std::pair<Place, std::int64_t> naive_coordinates(const Shape& mesh, const DeviceMap* map,
                                                 const Place& place) {
  if (map == nullptr || map->kind() == DeviceMap::Kind::kIdentity) return {place, 0};
  if (map->kind() == DeviceMap::Kind::kTable) return {map->places()[at(mesh.linear(place))], 0};
  Place there = map->origin().empty() ? Place(map->physical().rank(), 0) : map->origin();
  std::int64_t layer = 0;
  for (const Fold& fold : map->folds()) {
    std::int64_t v = fold.start;
    for (const Term& term : fold.terms) v += term.coef * place[at(term.dim)];
    for (const Cut& cut : fold.cuts) {
      const std::int64_t digit = v / cut.width;
      v %= cut.width;
      if (cut.target.is_mesh()) there[at(cut.target.axis())] += digit * cut.stride;
      if (cut.target.is_memory()) layer += digit * cut.stride;
    }
  }
  return {there, layer};
}

std::optional<NaivePlace> naive_physical(const Shape& mesh, const DeviceMap* map,
                                         const Place& place,
                                         const reshard::PhysicalMesh& physical) {
  const auto [there, layer] = naive_coordinates(mesh, map, place);
  NaivePlace result{mesh.linear(place), 0, layer};
  if (there.size() == physical.mesh.rank()) {
    if (!physical.mesh.contains(there)) return std::nullopt;
    result.physical = physical.mesh.linear(there);
  } else if (mesh.elements() == 1) {
    if (physical.mesh.empty()) return std::nullopt;
  } else {
    const bool mapped = map != nullptr && map->kind() != DeviceMap::Kind::kIdentity;
    const std::int64_t number = (mapped ? map->physical() : mesh).linear(there);
    if (there.size() != 1 && physical.mesh.rank() != 1) return std::nullopt;
    if (number >= physical.mesh.elements()) return std::nullopt;
    result.physical = number;
  }
  return result;
}

std::int64_t naive_distance(const reshard::PhysicalMesh& physical, std::int64_t p, std::int64_t q) {
  std::int64_t steps = 0;
  for (std::size_t axis = physical.mesh.rank(); axis-- > 0;) {
    steps += std::abs(p % physical.mesh[axis] - q % physical.mesh[axis]);
    p /= physical.mesh[axis];
    q /= physical.mesh[axis];
  }
  return steps;
}

std::int64_t naive_nearest(const reshard::PhysicalMesh& physical,
                           const std::vector<NaivePlace>& places, std::int64_t q) {
  std::pair<std::int64_t, std::int64_t> best = {INT64_MAX, INT64_MAX};
  for (const NaivePlace& place : places) {
    best = std::min(best, {naive_distance(physical, place.physical, q), place.physical});
  }
  return best.second;
}

bool naive_alike(const NaiveHome& from, const NaiveHome& to) {
  return from.partials == to.partials;
}

bool naive_reduces(const NaiveHome& from, const NaiveHome& to) {
  return !naive_alike(from, to) && from.shares.size() > 1;
}

std::set<ErrorCode> naive_refusals(const Placement& from, const Placement& to,
                                   const reshard::PhysicalMesh& physical) {
  std::set<ErrorCode> codes;
  if (from.shape() != to.shape()) codes.insert(ErrorCode::kShapeMismatch);
  if (from.dtype() != to.dtype() || from.atom().storage != to.atom().storage) {
    codes.insert(ErrorCode::kBadDType);
  }
  refuse_places(from, physical, codes);
  refuse_places(to, physical, codes);
  const std::vector<NaiveHome> sources = homes_of(from, physical);
  const std::vector<NaiveHome> destinations = homes_of(to, physical);
  std::set<std::pair<std::int64_t, std::int64_t>> taken;
  for (std::size_t x = 0; x < destinations.size(); ++x) {
    for (const std::vector<NaivePlace>& share : destinations[x].shares) {
      for (const NaivePlace& place : share) {
        if (!taken.emplace(place.place, destinations[x].slot).second) {
          codes.insert(ErrorCode::kNotInjective);
        }
      }
    }
    if (codes.contains(ErrorCode::kShapeMismatch)) continue;
    if (naive_alike(sources[x], destinations[x])) continue;
    if (sources[x].has_several_reductions() || destinations[x].has_several_reductions()) {
      codes.insert(ErrorCode::kNotSupported);
    }
  }
  return codes;
}

NaiveReshard naive_reshard(const Placement& from, const Placement& to,
                           const reshard::PhysicalMesh& physical) {
  NaiveReshard moves;
  moves.from = homes_of(from, physical);
  moves.to = homes_of(to, physical);
  for (std::size_t x = 0; x < moves.from.size(); ++x) {
    const NaiveHome& source = moves.from[x];
    const NaiveHome& destination = moves.to[x];
    for (std::size_t share = 0; share < source.shares.size(); ++share) {
      const std::size_t into = naive_alike(source, destination) ? share : 0;
      std::map<std::int64_t, std::set<std::int64_t>> crossing;
      for (const NaivePlace& wanted : destination.shares[into]) {
        const std::int64_t q = wanted.physical;
        const std::int64_t p = naive_nearest(physical, source.shares[share], q);
        if (p == q) {
          ++moves.local[p];
        } else {
          ++moves.messages[{p, q}];
          crossing[p].insert(q);
        }
      }
      for (const auto& [p, others] : crossing) {
        ++moves.multicasts[{p, std::vector<std::int64_t>(others.begin(), others.end())}];
      }
    }
  }
  return moves;
}

std::map<std::pair<std::int64_t, std::int64_t>, NaiveContent> naive_contents(
    const std::vector<NaiveHome>& homes) {
  std::map<std::pair<std::int64_t, std::int64_t>, NaiveContent> contents;
  for (std::size_t x = 0; x < homes.size(); ++x) {
    for (std::size_t share = 0; share < homes[x].shares.size(); ++share) {
      for (const NaivePlace& place : homes[x].shares[share]) {
        contents[{place.place, homes[x].slot}] = {static_cast<std::int64_t>(x),
                                                  static_cast<std::int64_t>(share)};
      }
    }
  }
  return contents;
}

Home home_of(const Placement& placement, const Index& index) {
  const auto [form, local] = placement.form_at(index);
  const NaivePosition position = naive_evaluate(*form, local);
  Home home{position.slot, {{form->mesh.linear(position.first)}}};
  const std::vector<std::int64_t> strides = form->mesh.row_major_strides();
  for (const Fill& fill : form->fills) {
    if (fill.kind == Fill::Kind::kFixed) continue;
    const std::int64_t step = fill.stride * strides[static_cast<std::size_t>(fill.axis)];
    std::vector<std::vector<std::int64_t>> next;
    for (const std::vector<std::int64_t>& share : home.shares) {
      if (fill.kind == Fill::Kind::kReplicate) next.emplace_back();
      for (std::int64_t i = 0; i < fill.count; ++i) {
        if (fill.kind == Fill::Kind::kPartial) next.emplace_back();
        for (const std::int64_t place : share) next.back().push_back(place + i * step);
      }
    }
    home.shares = next;
  }
  return home;
}

}  // namespace tessera::test
