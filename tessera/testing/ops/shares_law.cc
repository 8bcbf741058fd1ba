// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/ops/shares_law.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tessera/base/text.h"
#include "tessera/testing/naive.h"
#include "tessera/testing/ops/loops_law.h"

namespace tessera::test {
namespace {

using ops::Access;
using ops::FactorKind;
using ops::Loops;

/// What one place reads of an operand.
struct Reads {
  std::set<Index> inside;
  std::optional<Box> bounds;  ///< of what is inside
  std::optional<Box> around;  ///< of all indices of its iterations, clipped
};

void widen(std::optional<Box>& box, const Index& x) {
  if (!box) box = Box{x, x};
  for (std::size_t d = 0; d < x.size(); ++d) {
    box->from[d] = std::min(box->from[d], x[d]);
    box->to[d] = std::max(box->to[d], x[d] + 1);
  }
}

Reads reads_of(const Loops& loops, const Access& access, const Shape& shape,
               const std::vector<Index>& iterations) {
  Reads reads;
  for (const Index& f : iterations) {
    if (!reads_in(access, loops, f)) continue;
    const Index x = access.index(f);
    widen(reads.around, x);
    if (!shape.contains(x)) continue;
    widen(reads.bounds, x);
    reads.inside.insert(x);
  }
  if (reads.around) {
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      reads.around->from[d] = std::max<std::int64_t>(reads.around->from[d], 0);
      reads.around->to[d] = std::min(reads.around->to[d], shape[d]);
    }
  }
  return reads;
}

bool follows_one_factor_each(const Loops& loops, const Access& access) {
  std::set<int> seen;
  return std::ranges::all_of(access.dims, [&](const ops::DimAccess& dim) {
    int moving = 0;
    for (const Term& term : dim.terms) {
      if (loops.factors[static_cast<std::size_t>(term.dim)].extent <= 1) continue;
      ++moving;
      if (term.coef != 1 && term.coef != -1) return false;
      if (!seen.insert(term.dim).second) return false;
    }
    return moving <= 1;
  });
}

std::string boxes_mistake(const Loops& loops, const Access& access, const Reads& reads,
                          const std::vector<Box>& boxes) {
  for (const Index& x : reads.inside) {
    if (std::ranges::none_of(boxes, [&](const Box& box) { return box.contains(x); })) {
      return cat("element ", bracketed(x), " is read, but in no box");
    }
  }
  std::int64_t elements = 0;
  for (const Box& box : boxes) {
    if (box.elements() <= 0) return "an empty box";
    elements += box.elements();
    for (std::size_t d = 0; d < box.from.size(); ++d) {
      if (box.from[d] < reads.around->from[d] || box.to[d] > reads.around->to[d]) {
        return cat("a box reaches beyond what is read in dim ", d);
      }
    }
  }
  if (follows_one_factor_each(loops, access) && elements != std::ssize(reads.inside)) {
    return cat("boxes of ", elements, " elements, but ", reads.inside.size(), " are read");
  }
  return "";
}

}  // namespace

std::string shares_law(const graph::Call& call, const graph::Types& outputs, const Loops& loops,
                       const ops::WorkMap& work, const std::vector<ops::Share>& shares) {
  std::map<Place, std::vector<Index>> by_place;
  each_index(*loops.iterations(), [&](const Index& f) {
    Place first;
    std::int64_t slot = 0;
    work.form().evaluate(f, first, slot);
    for (const Place& place : replica_places(work.form(), first)) by_place[place].push_back(f);
  });
  std::string wrong;
  each_index(work.mesh(), [&](const Place& place) {
    const ops::Share* mine = nullptr;
    int found = 0;
    for (const ops::Share& share : shares) {
      for (const PlaceSet& set : share.places) {
        if (!set.contains(place)) continue;
        mine = &share;
        ++found;
      }
    }
    if (found != 1) {
      wrong = cat("place ", bracketed(place), " is in ", found, " shares");
      return;
    }
    const std::vector<Index>& iterations = by_place[place];
    if (mine->iterations != std::ssize(iterations)) {
      wrong = cat("place ", bracketed(place), " performs ", iterations.size(), ", not ",
                  mine->iterations);
    }
    const auto check = [&](std::string_view name, std::size_t i, const Access& access,
                           const Shape& shape, const std::vector<Box>& boxes) {
      const Reads reads = reads_of(loops, access, shape, iterations);
      std::string mistake;
      if (place == mine->example) mistake = boxes_mistake(loops, access, reads, boxes);
      std::int64_t elements = 0;
      for (const Box& box : boxes) elements += box.elements();
      if (follows_one_factor_each(loops, access) && elements != std::ssize(reads.inside)) {
        mistake = cat("has ", elements, " elements in its share, reads ", reads.inside.size());
      } else if (reads.inside.empty() ? false : boxes.empty()) {
        mistake = "reads, but its share has no boxes";
      }
      if (!mistake.empty()) {
        wrong = cat("place ", bracketed(place), ", ", name, " ", i, ": ", mistake);
      }
    };
    for (std::size_t i = 0; i < loops.inputs.size(); ++i) {
      if (!loops.inputs[i]) continue;
      check("input", i, *loops.inputs[i], call.shape(i), mine->inputs[i]);
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      check("output", o, loops.outputs[o], outputs[o].shape, mine->outputs[o]);
    }
  });
  return wrong;
}

}  // namespace tessera::test
