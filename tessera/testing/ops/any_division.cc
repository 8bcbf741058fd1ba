// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/ops/any_division.h"

#include <algorithm>
#include <set>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/naive.h"
#include "tessera/testing/ops/loops_law.h"

namespace tessera::test {
namespace {

using ops::Factor;
using ops::FactorKind;

/// Where one mesh axis has an iteration: at one coordinate or at all.
struct Way {
  enum class Kind { kRepeat, kFixed, kBlocks, kDealt } kind = Kind::kRepeat;
  std::size_t factor = 0;
  std::int64_t number = 0;  ///< the coordinate, or the width

  bool has(const Index& f, std::int64_t coordinate, std::int64_t extent) const {
    switch (kind) {
      case Kind::kRepeat:
        return true;
      case Kind::kFixed:
        return coordinate == number;
      case Kind::kBlocks:
        return coordinate == f[factor] / number;
      case Kind::kDealt:
        return coordinate == f[factor] / number % extent;
    }
    return false;
  }
  std::string text() const {
    return cat(kind == Kind::kRepeat   ? "repeat "
               : kind == Kind::kFixed  ? "at "
               : kind == Kind::kBlocks ? "blocks "
                                       : "dealt ",
               factor, " ", number);
  }
};

std::vector<Way> ways_of(const ops::Loops& loops, std::int64_t extent) {
  std::vector<Way> ways = {{Way::Kind::kRepeat, 0, 0}};
  for (std::int64_t c = 0; c < extent; ++c) ways.push_back({Way::Kind::kFixed, 0, c});
  for (std::size_t f = 0; f < loops.factors.size(); ++f) {
    const Factor& factor = loops.factors[f];
    if (factor.kind == FactorKind::kWhole || factor.extent <= 1) continue;
    for (std::int64_t width = 1; width < factor.extent; ++width) {
      if ((factor.extent + width - 1) / width <= extent) {
        ways.push_back({Way::Kind::kBlocks, f, width});
      } else if (extent > 1) {
        ways.push_back({Way::Kind::kDealt, f, width});
      }
    }
  }
  return ways;
}

/// The division as a work map says it.
Form form_of(const ops::Loops& loops, const Shape& mesh, const std::vector<Way>& ways) {
  Form form;
  form.shape = *loops.iterations();
  form.mesh = mesh;
  for (std::size_t a = 0; a < ways.size(); ++a) {
    const int axis = static_cast<int>(a);
    const Way& way = ways[a];
    if (way.kind == Way::Kind::kRepeat) {
      form.fills.push_back(Fill::replicate(axis, mesh[a]));
    } else if (way.kind == Way::Kind::kFixed) {
      form.fills.push_back(Fill::fixed(axis, way.number));
    } else {
      const std::int64_t extent = form.shape[way.factor];
      Fold fold{{Term{static_cast<int>(way.factor), 1}}, 0, {}};
      if (way.kind == Way::Kind::kDealt) {
        const std::int64_t cycle = way.number * mesh[a];
        fold.cuts.push_back({cycle, (extent + cycle - 1) / cycle, Target::nothing()});
      }
      const std::int64_t blocks = (extent + way.number - 1) / way.number;
      fold.cuts.push_back({way.number, std::min(blocks, mesh[a]), Target::mesh(axis)});
      if (way.number > 1) fold.cuts.push_back({1, way.number, Target::nothing()});
      form.folds.push_back(std::move(fold));
    }
  }
  return form;
}

}  // namespace

std::optional<std::string> any_division(const ops::Question& question, const ops::Loops& loops,
                                        const std::function<bool(const Form&)>& accepts,
                                        std::uint64_t& tried) {
  Shape mesh;
  std::vector<std::size_t> given;
  std::vector<std::set<std::pair<Place, Index>>> held;
  for (std::size_t i = 0; i < question.inputs.size(); ++i) {
    if (!question.inputs[i] || !loops.inputs[i]) continue;
    const Layout& layout = *question.inputs[i];
    mesh = layout.mesh();
    given.push_back(i);
    held.emplace_back();
    const bool partial = !ops::partial_axes(layout).empty();
    each_index(layout.shape(), [&](const Index& x) {
      if (partial) return;
      Place first;
      std::int64_t slot = 0;
      layout.form().evaluate(x, first, slot);
      for (const Place& place : replica_places(layout.form(), first)) {
        held.back().insert({place, x});
      }
    });
  }
  std::vector<Index> iterations;
  each_index(*loops.iterations(), [&](const Index& f) { iterations.push_back(f); });
  std::vector<Place> places;
  each_index(mesh, [&](const Place& place) { places.push_back(place); });

  const auto works = [&](const std::vector<Way>& ways) {
    for (const Index& f : iterations) {
      for (const Place& place : places) {
        bool here = true;
        for (std::size_t a = 0; a < ways.size() && here; ++a) {
          here = ways[a].has(f, place[a], mesh[a]);
        }
        if (!here) continue;
        for (std::size_t g = 0; g < given.size(); ++g) {
          const ops::Access& access = *loops.inputs[given[g]];
          const Index x = access.index(f);
          bool reads = question.inputs[given[g]]->shape().contains(x);
          for (std::size_t k = 0; access.once && k < f.size(); ++k) {
            const bool is_later_share = loops.factors[k].kind == FactorKind::kReduce &&
                                        !access.has(static_cast<int>(k)) && f[k] != 0;
            reads = reads && !is_later_share;
          }
          if (reads && !held[g].contains({place, x})) return false;
        }
      }
    }
    return true;
  };
  std::vector<std::vector<Way>> choices;
  for (std::size_t a = 0; a < mesh.rank(); ++a) choices.push_back(ways_of(loops, mesh[a]));
  std::vector<std::size_t> pick(mesh.rank());
  for (bool more = !given.empty(); more;) {
    std::vector<Way> ways;
    std::string text;
    for (std::size_t a = 0; a < pick.size(); ++a) {
      ways.push_back(choices[a][pick[a]]);
      text += ways.back().text() + "; ";
    }
    ++tried;
    if (works(ways) && accepts(form_of(loops, mesh, ways))) return text;
    more = false;
    for (std::size_t a = pick.size(); a-- > 0 && !more;) {
      more = ++pick[a] < choices[a].size();
      if (!more) pick[a] = 0;
    }
  }
  return std::nullopt;
}

}  // namespace tessera::test
