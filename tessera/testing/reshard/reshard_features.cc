// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/naive.h"
#include "tessera/testing/reshard/reshard_pairs.h"

namespace tessera::test {
namespace {

/// A rule and its device map (null for views).
struct Rule {
  const Form* form;
  const DeviceMap* map;
};

std::vector<Rule> rules_of(const Placement& placement) {
  if (const Layout* layout = placement.layout()) {
    return {{&layout->spec().form, &layout->spec().device_map}};
  }
  if (const View* view = placement.view()) return {{&view->form(), nullptr}};
  std::vector<Rule> rules;
  for (const LayoutPiece& piece : placement.pieces()->pieces()) {
    rules.push_back({&piece.layout.spec().form, &piece.layout.spec().device_map});
  }
  return rules;
}

/// Which axes the digits of a dim (of more than one value) are placed on.
std::set<int> axes_of(const Form& form, int dim) {
  std::set<int> axes;
  for (const Fold& fold : form.folds) {
    const bool has = std::any_of(fold.terms.begin(), fold.terms.end(),
                                 [&](const Term& term) { return term.dim == dim; });
    const std::vector<std::int64_t> needed = naive_needed(fold, form.shape);
    for (std::size_t k = 0; has && k < fold.cuts.size(); ++k) {
      const Target target = fold.cuts[k].target;
      if (target.is_mesh() && needed[k] > 1) axes.insert(target.axis());
    }
  }
  return axes;
}

bool drives_two_axes(const Form& form) {
  for (int dim = 0; dim < static_cast<int>(form.shape.rank()); ++dim) {
    if (axes_of(form, dim).size() > 1) return true;
  }
  return false;
}

bool shares_axis(const Form& form) {
  std::set<int> seen;
  for (int dim = 0; dim < static_cast<int>(form.shape.rank()); ++dim) {
    for (const int axis : axes_of(form, dim)) {
      if (!seen.insert(axis).second) return true;
    }
  }
  return false;
}

/// A digit on the mesh below one in memory.
bool is_dealt(const Form& form) {
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = naive_needed(fold, form.shape);
    bool memory = false;
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (needed[k] < 2) continue;
      if (fold.cuts[k].target.is_mesh() && memory) return true;
      memory = memory || fold.cuts[k].target.is_memory();
    }
  }
  return false;
}

/// A digit on the mesh whose last piece is shorter than the others.
bool is_uneven(const Form& form) {
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = naive_needed(fold, form.shape);
    std::int64_t line = naive_extent(fold, form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      if (cut.target.is_mesh() && needed[k] > 1 && line % cut.width != 0) return true;
      line = std::min(line, cut.width);
    }
  }
  return false;
}

bool has_fill(const Form& form, Fill::Kind kind, std::int64_t least_stride) {
  return std::any_of(form.fills.begin(), form.fills.end(), [&](const Fill& fill) {
    if (fill.kind != kind) return false;
    return kind == Fill::Kind::kFixed ? fill.value > 0
                                      : fill.count > 1 && fill.stride >= least_stride;
  });
}

bool replicates_on_two_axes(const Form& form) {
  std::set<int> axes;
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kReplicate && fill.count > 1) axes.insert(fill.axis);
  }
  return axes.size() > 1;
}

bool copies_overlap(const Form& form) {
  std::int64_t said = 1;
  for (const Fill& fill : form.fills) said *= fill.kind == Fill::Kind::kFixed ? 1 : fill.count;
  if (form.shape.empty()) return false;
  return static_cast<std::int64_t>(
             naive_evaluate(form, Index(form.shape.rank(), 0)).places.size()) < said;
}

bool any_mirrored(const DeviceMap& map) {
  for (const Fold& fold : map.folds()) {
    for (const Term& term : fold.terms) {
      if (term.coef < 0) return true;
    }
  }
  return false;
}

bool any_cut(const DeviceMap& map, bool (*has)(const Cut& cut)) {
  for (const Fold& fold : map.folds()) {
    if (std::any_of(fold.cuts.begin(), fold.cuts.end(), has)) return true;
  }
  return false;
}

}  // namespace

void ReshardFeatures::add(const ReshardPair& pair, const NaiveReshard& moves) {
  ++pairs_;
  std::set<const char*> seen;
  for (const Placement* side : {&pair.from, &pair.to}) {
    for (const auto& [form, map] : rules_of(*side)) {
      const auto note = [&](const char* name, bool has) {
        if (has) seen.insert(name);
        counts_.emplace(name, 0);
      };
      note("splits: uneven", is_uneven(*form));
      note("splits: dealt out block by block", is_dealt(*form));
      note("splits: a dim over both axes", drives_two_axes(*form));
      note("splits: two dims on one axis", shares_axis(*form));
      note("fills: replicas", has_fill(*form, Fill::Kind::kReplicate, 1));
      note("fills: replicas with a stride", has_fill(*form, Fill::Kind::kReplicate, 2));
      note("fills: replicas on both axes", replicates_on_two_axes(*form));
      note("fills: replicas that overlap", copies_overlap(*form));
      note("fills: fixed beyond 0", has_fill(*form, Fill::Kind::kFixed, 1));
      note("mesh: rank 0", form->mesh.rank() == 0);
      note("mesh: device numbers",
           form->mesh.rank() == 1 && pair.physical.mesh.rank() > 1 &&
               (map == nullptr || map->kind() == DeviceMap::Kind::kIdentity));
      if (map == nullptr) continue;
      note("map: folded", map->kind() == DeviceMap::Kind::kFolded);
      note("map: table", map->kind() == DeviceMap::Kind::kTable);
      note("map: mirrored", any_mirrored(*map));
      note("map: strided", any_cut(*map, [](const Cut& cut) {
             return cut.target.is_mesh() && cut.stride > 1 && cut.count > 1;
           }));
      note("map: virtual grid", any_cut(*map, [](const Cut& cut) {
             return cut.target.is_mesh() && cut.width > 1 && cut.count > 1;
           }));
      note("map: stacked places",
           any_cut(*map, [](const Cut& cut) { return cut.target.is_memory() && cut.count > 1; }));
      note("map: staircase",
           any_cut(*map, [](const Cut& cut) { return cut.target.is_nothing() && cut.count > 1; }));
    }
  }
  for (const char* name : seen) ++counts_[name];
  const Form& a = *rules_of(pair.from).front().form;
  const Form& b = *rules_of(pair.to).front().form;
  bool exchanged = false;
  bool joint = false;
  for (int dim = 0; dim < static_cast<int>(pair.from.shape().rank()); ++dim) {
    std::set<int> axes = axes_of(a, dim);
    const std::set<int> others = axes_of(b, dim);
    exchanged = exchanged || (axes == std::set<int>{0} && others == std::set<int>{1}) ||
                (axes == std::set<int>{1} && others == std::set<int>{0});
    axes.insert(others.begin(), others.end());
    joint = joint || axes.size() > 1;
  }
  count("splits: dims on exchanged axes", exchanged);
  count("splits: one dim drives both axes", joint);
  count("mesh: different on the two sides", pair.from.mesh() != pair.to.mesh());
  count("pieces: source", pair.from.pieces() != nullptr);
  count("pieces: destination", pair.to.pieces() != nullptr);
  count("view: source", pair.from.view() != nullptr);
  count("view: destination", pair.to.view() != nullptr);
  std::set<std::pair<std::int64_t, std::int64_t>> slots;
  bool aliases = false;
  bool alike = false;
  bool reduces = false;
  bool born = false;
  std::set<std::int64_t> used;
  for (std::size_t x = 0; x < moves.from.size(); ++x) {
    const NaiveHome& home = moves.from[x];
    aliases = aliases || !slots.emplace(home.shares[0][0].place, home.slot).second;
    alike = alike || (home.shares.size() > 1 && naive_alike(home, moves.to[x]));
    reduces = reduces || naive_reduces(home, moves.to[x]);
    born = born || (moves.to[x].shares.size() > 1 && !naive_alike(home, moves.to[x]));
    for (const auto& share : moves.to[x].shares) {
      for (const NaivePlace& place : share) used.insert(place.place);
    }
  }
  count("view: source repeats elements", aliases);
  count("shares: alike", alike);
  count("shares: combined", reduces);
  count("shares: born", born);
  count("tensor: empty", pair.from.shape().empty());
  count("tensor: rank 0", pair.from.shape().rank() == 0);
  count("tensor: places without elements",
        static_cast<std::int64_t>(used.size()) < pair.to.places());
  count("tensor: padding", pair.to.slots() * static_cast<std::int64_t>(used.size()) >
                               static_cast<std::int64_t>(naive_contents(moves.to).size()));
  count(is_block_float(pair.from.atom().storage) ? "type: block float" : "type: scalar", true);
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kI8, DType::kI4}) {
    counts_[cat("type: ", dtype_name(dtype))] += pair.from.atom().storage == dtype ? 1 : 0;
  }
  count("physical: rank 1", pair.physical.mesh.rank() == 1);
  count("physical: no fabric", !pair.physical.fabric);
  count("physical: dead places", !pair.physical.dead.empty());
  count("physical: wavelets of other sizes",
        pair.physical.fabric && pair.physical.fabric->wavelet_bits != 32);
  bool multicast = false;
  for (const auto& [tree, elements] : moves.multicasts) {
    multicast = multicast || tree.second.size() > 1;
  }
  count("moves: messages", !moves.messages.empty());
  count("moves: multicasts", multicast);
  count("moves: local copies", !moves.local.empty());
  count("moves: nothing crosses", moves.messages.empty());
}

std::string ReshardFeatures::table() const {
  std::string text = cat(pairs_, " pairs\n");
  for (const auto& [name, number] : counts_) {
    text += cat("  ", name, std::string(std::max<std::size_t>(40, name.size()) - name.size(), ' '),
                number, "\n");
  }
  return text;
}

}  // namespace tessera::test
