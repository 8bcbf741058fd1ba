// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/ops/propagate_law.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/graph/data.h"
#include "tessera/testing/ops/held.h"
#include "tessera/testing/ops/loops_law.h"
#include "tessera/testing/ops/place_slots.h"

namespace tessera::test {

Layout random_division(Dice& dice, const graph::TensorType& type, const Shape& mesh) {
  Form form;
  form.shape = type.shape;
  form.mesh = mesh;
  std::vector<std::vector<Cut>> cuts(type.shape.rank());
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    const int a = static_cast<int>(axis);
    const std::int64_t way = dice.below(10);
    const auto dim = static_cast<std::size_t>(
        dice.below(static_cast<std::int64_t>(std::max<std::size_t>(type.shape.rank(), 1))));
    const bool divides = way < 6 && type.shape.rank() > 0 && cuts[dim].empty();
    if (!divides) {
      form.fills.push_back(way < 8 ? Fill::replicate(a, mesh[axis])
                                   : Fill::fixed(a, dice.below(mesh[axis])));
      continue;
    }
    const std::int64_t extent = type.shape[dim];
    if (dice.chance(20)) {  // dealt round robin: cycles, then places, then what is left
      const std::int64_t block = dice.between(1, 2);
      cuts[dim].push_back({block * mesh[axis], 1, Target::nothing(), 1, Cause::kGrid});
      cuts[dim].push_back({block, mesh[axis], Target::mesh(a), 1, Cause::kGrid});
      continue;
    }
    // As even as possible, or larger, as tiles make them: the last places may have nothing.
    const std::int64_t even = std::max<std::int64_t>(ceil_div(extent, mesh[axis]), 1);
    const std::int64_t block = dice.chance(70) ? even : dice.between(even, std::max(even, extent));
    cuts[dim].push_back({block, 1, Target::mesh(a), 1, Cause::kGrid});
  }
  std::int64_t stride = 1;
  for (std::size_t d = cuts.size(); d-- > 0;) {
    Fold fold{{Term{static_cast<int>(d), 1}}, 0, cuts[d]};
    if (fold.cuts.empty() || fold.cuts.back().width != 1) {
      fold.cuts.push_back({1, 1, Target::nothing(), 1, Cause::kAlignment});
    }
    const std::vector<std::int64_t> needed = fold.needed(type.shape);
    for (std::size_t k = fold.cuts.size(); k-- > 0;) {
      Cut& cut = fold.cuts[k];
      cut.count = needed[k];
      if (!cut.target.is_nothing()) continue;
      cut.target = Target::memory();
      cut.stride = stride;
      stride *= std::max<std::int64_t>(cut.count, 1);
    }
    form.folds.push_back(std::move(fold));
  }
  return *Layout::make({std::move(form), type.dtype, Atom::scalar(type.dtype), {}, {}, "", {}});
}

namespace {

using ops::Access;
using ops::Factor;
using ops::FactorKind;
using ops::Loops;

std::vector<Place> places_of(const Form& form, const Index& index) {
  Place first;
  std::int64_t slot = 0;
  form.evaluate(index, first, slot);
  return replica_places(form, first);
}

/// Coordinates at which fills of one kind repeat an element, relative to the first.
std::vector<Place> offsets_of(const Form& form, Fill::Kind kind) {
  std::vector<Place> offsets = {Place(form.mesh.rank())};
  for (const Fill& fill : form.fills) {
    if (fill.kind != kind) continue;
    std::vector<Place> more;
    for (const Place& offset : offsets) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        more.push_back(offset);
        more.back()[static_cast<std::size_t>(fill.axis)] += i * fill.stride;
      }
    }
    offsets = std::move(more);
  }
  return offsets;
}

Place moved(Place place, const Place& by) {
  for (std::size_t a = 0; a < place.size(); ++a) place[a] += by[a];
  return place;
}

/// What a place sees of input i: what it holds or halos brought, as far as it reads it. If the
/// input is in shares, that is its share.
std::optional<NaiveTensor> seen(const OpCase& made, const ops::Answer& answer, std::size_t i,
                                const std::vector<Index>& iterations,
                                const std::vector<Index>& with_all_shares, const Place& place,
                                const std::set<std::int64_t>& held, long double poison,
                                std::string& wrong) {
  if (!made.inputs[i]) return std::nullopt;
  NaiveTensor tensor = *made.inputs[i];
  const Shape& shape = tensor.type.shape;
  const auto count = static_cast<std::size_t>(shape.elements());
  std::vector<bool> mine(count);
  std::vector<bool> of_sums(count);
  Reduction reduction = Reduction::kSum;
  for (const Factor& factor : answer.loops.factors) {
    if (factor.kind == FactorKind::kReduce) reduction = factor.reduction;
  }
  bool in_shares = false;
  if (answer.loops.inputs[i]) {
    const Access& access = *answer.loops.inputs[i];
    in_shares = !ops::partial_axes(*answer.inputs[i]).empty();
    if (in_shares && made.is_index(i)) wrong = cat("input ", i, ": shares of positions");
    const auto mark = [&](const std::vector<Index>& list, std::vector<bool>& marks) {
      for (const Index& iteration : list) {
        const Index x = access.index(iteration);
        if (shape.contains(x) && reads_in(access, answer.loops, iteration)) {
          marks[static_cast<std::size_t>(row_major(shape, x))] = true;
        }
      }
    };
    mark(iterations, mine);
    mark(with_all_shares, of_sums);
  }
  for (std::size_t e = 0; e < count; ++e) {
    const auto number = static_cast<std::int64_t>(e);
    if (mine[e] && held.contains(number)) {
      if (!in_shares) continue;
      const ShareNumber at = share_at(*answer.inputs[i], shape.delinear(number), place);
      const Reduction kind = ops::partial_axes(*answer.inputs[i])[0].reduction;
      tensor.elements[e] = share_of(kind, tensor.elements[e], at.k, at.count, number,
                                    graph::is_float(tensor.type.dtype));
      continue;
    }
    if (mine[e]) wrong = cat("input ", i, " element ", e, " is read where it is not");
    if (of_sums[e] && !mine[e] && !made.is_index(i)) {
      tensor.elements[e] = neutral_of(reduction);
    } else {
      tensor.elements[e] = made.is_index(i) ? 0 : as_element(poison, tensor.type.dtype);
    }
  }
  return tensor;
}

/// Halos are as large as the place needs that lacks most, and an exchange brings what they promise.
std::string halo_mistake(const OpCase& made, const ops::Answer& answer,
                         const std::map<Place, std::vector<Index>>& by_place) {
  const Loops& loops = answer.loops;
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    const std::vector<ops::Halo>& halos = answer.halos[i];
    const bool has_halos =
        std::ranges::any_of(halos, [](const ops::Halo& halo) { return !(halo == ops::Halo{}); });
    if (!has_halos) continue;
    const Shape& shape = made.inputs[i]->type.shape;
    Held needed;
    for (const auto& [place, list] : by_place) {
      for (const Index& f : list) {
        const Index x = loops.inputs[i]->index(f);
        if (!shape.contains(x) || !reads_in(*loops.inputs[i], loops, f)) continue;
        needed[place].insert(row_major(shape, x));
      }
    }
    const std::vector<ops::Halo> smallest = smallest_halos(*answer.inputs[i], halos, needed);
    for (std::size_t d = 0; d < halos.size(); ++d) {
      if (halos[d] == smallest[d]) continue;
      return cat("input ", i, " dim ", d, " lacks ", smallest[d].before, " and ", smallest[d].after,
                 " elements, the halo is ", halos[d].before, " and ", halos[d].after);
    }
    const auto supply =
        ops::supplies(loops, *loops.inputs[i], answer.inputs[i]->form(), *answer.work);
    if (!supply) return supply.error().message;
    const std::string wrong = exchange_mistake(*answer.inputs[i], halos, supply->readers, needed);
    if (!wrong.empty()) return cat("input ", i, ": ", wrong);
  }
  return "";
}

/// Whether a place computes the same on all slots that it allocates, padding included. `partial` is
/// what it sees of the elements. Blocks with halos are in a buffer without padding.
std::string padding_mistake(const OpCase& partial, const ops::Answer& answer, const Place& place,
                            const PaddingRule& rule) {
  PadSizes sizes(partial.inputs.size());
  std::vector<bool> is_stored(sizes.size());
  bool any = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!partial.inputs[i]) continue;
    sizes[i].resize(partial.inputs[i]->type.shape.rank());
    const bool has_halos = std::ranges::any_of(
        answer.halos[i], [](const ops::Halo& halo) { return !(halo == ops::Halo{}); });
    if (!answer.loops.inputs[i] || has_halos) continue;
    const std::vector<DimSlots> dims = slots_of_dims(*answer.inputs[i], place);
    is_stored[i] = true;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      sizes[i][d] = static_cast<std::int64_t>(dims[d].padding.size());
      any = any || sizes[i][d] > 0;
    }
  }
  if (!any) return "";
  const Result<PaddingRead> read = padding_read(partial, answer.loops, sizes, rule);
  if (!read) return read.error().message;
  Dice dice(7);
  OpCase padded = padded_call(dice, partial, answer.loops, read->sizes, read->states);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!is_stored[i]) continue;
    const std::string wrong = through_memory(*answer.inputs[i], place, *padded.inputs[i]);
    if (!wrong.empty()) return cat("input ", i, ": ", wrong);
  }
  const std::string wrong = difference(partial, padded);
  return wrong.empty() ? "" : cat("with padding on place ", bracketed(place), ": ", wrong);
}

}  // namespace

std::string propagate_law(const OpCase& made, const ops::Question& question,
                          const ops::Answer& answer, const PaddingRule& rule) {
  if (!answer.work) return answer.legal ? "legal without a work map" : "";
  const Loops& loops = answer.loops;
  const Shape iterations = *loops.iterations();
  const Form& work = answer.work->form();
  std::map<Place, std::vector<Index>> by_place;
  each_index(iterations, [&](const Index& f) {
    for (const Place& place : places_of(work, f)) by_place[place].push_back(f);
  });

  // Does every place have what it reads?
  bool all_there = true;
  bool any_shares = false;                     // of which none is the element
  std::vector<Held> held(made.inputs.size());  // with halos
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    if (!loops.inputs[i] || !answer.inputs[i]) continue;
    const Shape& shape = made.inputs[i]->type.shape;
    held[i] = with_halos(*answer.inputs[i], answer.halos[i]);
    any_shares |= !ops::partial_axes(*answer.inputs[i]).empty();
    for (const auto& [place, list] : by_place) {
      for (const Index& f : list) {
        const Index x = loops.inputs[i]->index(f);
        if (!shape.contains(x) || !reads_in(*loops.inputs[i], loops, f)) continue;
        all_there = all_there && held[i][place].contains(row_major(shape, x));
      }
    }
  }
  if (answer.legal != all_there && answer.legal) return "legal, but something is missing";
  if (!answer.legal) {
    const bool asks_outputs = std::ranges::any_of(
        question.outputs, [](const std::optional<Layout>& layout) { return layout.has_value(); });
    const bool about_input = answer.reason.starts_with("input");
    if (about_input && all_there && !any_shares) {
      return "not legal, but nothing is missing";
    }
    return !about_input && !asks_outputs && answer.reason.find("layout") == std::string::npos
               ? "not legal without a reason"
               : "";
  }

  std::string wrong_halos = halo_mistake(made, answer, by_place);
  if (!wrong_halos.empty()) return wrong_halos;

  const auto expected = made.evaluate();
  if (!expected) return "the evaluator does not know the op";
  for (const long double poison : {77.0L, -77.0L}) {
    std::map<Place, std::vector<NaiveTensor>> results;
    std::string wrong;
    for (const auto& [place, list] : by_place) {
      // The same iterations with every value of the reduced factors.
      std::set<Index> kept;
      for (Index f : list) {
        for (std::size_t k = 0; k < f.size(); ++k) {
          if (loops.factors[k].kind == FactorKind::kReduce) f[k] = 0;
        }
        kept.insert(f);
      }
      std::vector<Index> all_shares;
      std::vector<std::int64_t> sizes;
      for (const Factor& factor : loops.factors) {
        sizes.push_back(factor.kind == FactorKind::kReduce ? factor.extent : 1);
      }
      const Shape sums = *Shape::make(sizes);
      for (const Index& f : kept) {
        each_index(sums, [&](const Index& k) {
          Index both = f;
          for (std::size_t n = 0; n < both.size(); ++n) both[n] += k[n];
          all_shares.push_back(both);
        });
      }
      OpCase partial = made;
      for (std::size_t i = 0; i < made.inputs.size(); ++i) {
        partial.inputs[i] =
            seen(made, answer, i, list, all_shares, place, held[i][place], poison, wrong);
      }
      auto outputs = partial.evaluate();
      if (!outputs) return "the evaluator failed on a part";
      if (poison > 0 && wrong.empty()) wrong = padding_mistake(partial, answer, place, rule);
      results[place] = *std::move(outputs);
    }
    if (!wrong.empty()) return wrong;
    for (std::size_t o = 0; o < expected->size(); ++o) {
      const Form& form = answer.outputs[o].form();
      const NaiveTensor& want = (*expected)[o];
      const auto shares = offsets_of(form, Fill::Kind::kPartial);
      const auto replicas = offsets_of(form, Fill::Kind::kReplicate);
      Reduction reduction = Reduction::kSum;
      const std::vector<ops::PartialAxis> axes = ops::partial_axes(answer.outputs[o]);
      for (const ops::PartialAxis& axis : axes) {
        reduction = axis.reduction;
        if (axis.reduction != axes[0].reduction) wrong = cat("output ", o, " mixes reductions");
      }
      each_index(form.shape, [&](const Index& y) {
        Place first;
        std::int64_t slot = 0;
        form.evaluate(y, first, slot);
        const auto e = static_cast<std::size_t>(row_major(form.shape, y));
        for (const Place& replica : replicas) {
          long double sum = neutral_of(reduction);
          bool any = false;
          for (const Place& share : shares) {
            const auto at = results.find(moved(moved(first, replica), share));
            if (at == results.end()) continue;
            any = true;
            sum = shares.size() == 1 ? at->second[o].elements[e]
                                     : combined(reduction, sum, at->second[o].elements[e]);
          }
          // Shares of what is not finite, as of a quotient by 0, need not add up.
          const bool open = any_shares && !std::isfinite(want.elements[e]);
          const bool fits = any ? open || is_close(sum, want.elements[e]) : iterations.empty();
          if (!fits) {
            wrong = cat("output ", o, " at ", bracketed(y), " on place ",
                        bracketed(moved(first, replica)), " is ",
                        any ? std::to_string(static_cast<double>(sum)) : "not there", ", expected ",
                        std::to_string(static_cast<double>(want.elements[e])));
          }
        }
      });
    }
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace tessera::test
