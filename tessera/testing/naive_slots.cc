// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "tessera/testing/naive.h"
#include "tessera/testing/tuples.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A digit or fill that moves along `axis` (or memory): its values, and the distance per step.
struct Mover {
  std::size_t fold = 0;
  std::size_t cut = 0;
  bool is_fill = false;
  int axis = -1;
  std::int64_t count = 1;
  std::int64_t stride = 1;
};

std::vector<Mover> movers(const Form& form, bool memory) {
  std::vector<Mover> list;
  for (std::size_t f = 0; f < form.folds.size(); ++f) {
    for (std::size_t k = 0; k < form.folds[f].cuts.size(); ++k) {
      const Cut& cut = form.folds[f].cuts[k];
      if (memory ? cut.target.is_memory() : cut.target.is_mesh()) {
        list.push_back({f, k, false, memory ? -1 : cut.target.axis(), cut.count, cut.stride});
      }
    }
  }
  if (!memory) {
    for (const Fill& fill : form.fills) {
      if (fill.kind == Fill::Kind::kFixed) continue;
      list.push_back({0, 0, true, fill.axis, fill.count, fill.stride});
    }
  }
  return list;
}

std::vector<std::int64_t> counts_of(const std::vector<Mover>& list) {
  std::vector<std::int64_t> counts;
  for (const Mover& mover : list) counts.push_back(mover.count);
  return counts;
}

Place fixed_corner(const Form& form) {
  Place corner(form.mesh.rank(), 0);
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed) corner[at(fill.axis)] += fill.value;
  }
  return corner;
}

/// Digit tuples by their destination. `tuples[i]` empty and `reached[i]` false: no tuple leads to
/// i.
struct Reached {
  std::vector<bool> reached;
  std::vector<std::vector<std::int64_t>> tuples;
};

Reached reach_slots(const Form& form, const std::vector<Mover>& memory, std::int64_t slots) {
  Reached result{std::vector<bool>(at(slots), false), {}};
  result.tuples.resize(at(slots));
  for_each_tuple(counts_of(memory), [&](const std::vector<std::int64_t>& values) {
    std::int64_t slot = form.offset;
    for (std::size_t i = 0; i < values.size(); ++i) slot += values[i] * memory[i].stride;
    if (slot >= slots) return;
    result.reached[at(slot)] = true;
    result.tuples[at(slot)] = values;
  });
  return result;
}

Reached reach_places(const Form& form, const std::vector<Mover>& mesh) {
  Reached result{std::vector<bool>(at(form.mesh.elements()), false), {}};
  result.tuples.resize(at(form.mesh.elements()));
  const Place corner = fixed_corner(form);
  for_each_tuple(counts_of(mesh), [&](const std::vector<std::int64_t>& values) {
    Place place = corner;
    for (std::size_t i = 0; i < values.size(); ++i) {
      place[at(mesh[i].axis)] += values[i] * mesh[i].stride;
    }
    const std::size_t number = at(form.mesh.linear(place));
    result.reached[number] = true;
    result.tuples[number] = values;
  });
  return result;
}

/// The properties of a fold that determine the cause of one tuple of its digits.
struct FoldFacts {
  std::int64_t extent = 0;
  std::vector<bool> on_line;  ///< positions [0, extent) that some index has
  std::vector<std::int64_t> needed;
};

FoldFacts facts_of(const Fold& fold, const Shape& shape) {
  FoldFacts facts;
  facts.extent = naive_extent(fold, shape);
  facts.needed = naive_needed(fold, shape);
  facts.on_line.assign(at(facts.extent), false);
  std::vector<std::int64_t> extents;
  for (const Term& term : fold.terms) extents.push_back(shape[at(term.dim)]);
  for_each_tuple(extents, [&](const std::vector<std::int64_t>& x) {
    std::int64_t p = fold.start;
    for (std::size_t i = 0; i < x.size(); ++i) p += fold.terms[i].coef * x[i];
    facts.on_line[at(p)] = true;
  });
  return facts;
}

std::optional<Cause> fold_cause(const Fold& fold, const FoldFacts& facts,
                                const std::vector<std::int64_t>& digits) {
  std::int64_t inner = 0;  // Σ of the digits after boundary k
  for (std::size_t k = fold.cuts.size(); k-- > 0;) {
    inner += digits[k] * fold.cuts[k].width;
    const std::int64_t room = k == 0 ? facts.extent : fold.cuts[k - 1].width;
    if (inner >= room) return fold.cuts[k].cause;
  }
  if (!facts.on_line[at(inner)]) return Cause::kGap;
  return std::nullopt;
}

}  // namespace

Picture naive_picture(const Form& form, std::int64_t slots) {
  Picture picture{form.mesh, slots, {}};
  const std::int64_t places = form.mesh.elements();
  const auto gap = -1 - static_cast<std::int64_t>(Cause::kGap);
  picture.content.assign(at(places * slots), gap);
  const std::vector<Mover> memory = movers(form, true);
  const std::vector<Mover> mesh = movers(form, false);
  const Reached by_slot = reach_slots(form, memory, slots);
  const Reached by_place = reach_places(form, mesh);
  std::vector<FoldFacts> facts;
  std::vector<std::pair<std::size_t, std::size_t>> unplaced;  // (fold, cut)
  std::vector<std::int64_t> unplaced_counts;
  for (std::size_t f = 0; f < form.folds.size(); ++f) {
    facts.push_back(facts_of(form.folds[f], form.shape));
    for (std::size_t k = 0; k < form.folds[f].cuts.size(); ++k) {
      if (form.folds[f].cuts[k].target.is_nothing() && facts[f].needed[k] > 1) {
        unplaced.emplace_back(f, k);
        unplaced_counts.push_back(facts[f].needed[k]);
      }
    }
  }
  std::vector<std::vector<std::int64_t>> digits;
  for (const Fold& fold : form.folds) digits.emplace_back(fold.cuts.size(), 0);
  for (std::int64_t q = 0; q < places; ++q) {
    for (std::int64_t s = 0; s < slots; ++s) {
      if (!by_slot.reached[at(s)]) continue;
      Cause worst = Cause::kGrid;
      if (by_place.reached[at(q)]) {
        for (std::size_t i = 0; i < memory.size(); ++i) {
          digits[memory[i].fold][memory[i].cut] = by_slot.tuples[at(s)][i];
        }
        for (std::size_t i = 0; i < mesh.size(); ++i) {
          if (!mesh[i].is_fill) digits[mesh[i].fold][mesh[i].cut] = by_place.tuples[at(q)][i];
        }
        worst = Cause::kSynthetic;
        for_each_tuple(unplaced_counts, [&](const std::vector<std::int64_t>& values) {
          for (std::size_t i = 0; i < values.size(); ++i) {
            digits[unplaced[i].first][unplaced[i].second] = values[i];
          }
          Cause first = Cause::kGrid;
          bool failed = false;
          for (std::size_t f = 0; f < form.folds.size(); ++f) {
            const auto cause = fold_cause(form.folds[f], facts[f], digits[f]);
            if (cause) first = failed ? std::min(first, *cause) : *cause;
            failed = failed || cause.has_value();
          }
          worst = std::max(worst, failed ? first : Cause::kGap);
        });
      }
      picture.content[at(q * slots + s)] = -1 - static_cast<std::int64_t>(worst);
    }
  }
  std::int64_t element = 0;
  for (const NaivePosition& position : naive_map(form)) {
    for (const Place& place : position.places) {
      picture.content[at(form.mesh.linear(place) * slots + position.slot)] = element;
    }
    ++element;
  }
  return picture;
}

NaiveValidity naive_validity(const Form& form) {
  NaiveValidity validity;
  std::set<std::pair<Place, std::int64_t>> taken;
  for (const NaivePosition& position : naive_map(form)) {
    for (const Place& place : position.places) {
      if (!taken.emplace(place, position.slot).second) validity.indices_injective = false;
    }
  }
  const auto injective = [&](const std::vector<Mover>& all, std::size_t axes) {
    std::vector<Mover> moving;  // digits without values are left out; the others must not overlap
    for (const Mover& mover : all) {
      if (mover.count > 1) moving.push_back(mover);
    }
    std::set<Place> reached;
    bool distinct = true;
    for_each_tuple(counts_of(moving), [&](const std::vector<std::int64_t>& values) {
      Place place(axes, 0);
      for (std::size_t i = 0; i < values.size(); ++i) {
        place[at(std::max(moving[i].axis, 0))] += values[i] * moving[i].stride;
      }
      distinct = reached.insert(place).second && distinct;
    });
    return distinct;
  };
  validity.digits_injective =
      injective(movers(form, true), 1) && injective(movers(form, false), form.mesh.rank());
  return validity;
}

std::int64_t naive_reach(const Form& form) {
  std::int64_t reach = form.offset + 1;
  for (const Mover& mover : movers(form, true)) {
    if (mover.count == 0) return 0;
    reach += (mover.count - 1) * mover.stride;
  }
  return reach;
}

}  // namespace tessera::test
