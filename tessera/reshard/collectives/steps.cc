// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/layout/placement.h"
#include "tessera/reshard/collectives/collective.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {
namespace {

bool is_share(const Fill& fill) { return fill.kind == Fill::Kind::kPartial && fill.count > 1; }

bool uses_dim(const Fold& fold, int dim) {
  return std::any_of(fold.terms.begin(), fold.terms.end(),
                     [dim](const Term& term) { return term.dim == dim; });
}

/// The fold with the same line, of which only cut `kept` is placed.
Fold only_cut(const Fold& fold, std::size_t kept) {
  Fold result = fold;
  for (std::size_t i = 0; i < result.cuts.size(); ++i) {
    if (i != kept) result.cuts[i].target = Target::nothing();
  }
  return result;
}

/// B's cut along the axis of a share: the same coordinates, each with one part of the values.
std::optional<Fold> cut_of(const Form& b, const Fill& share) {
  std::optional<Fold> found;
  for (const Fold& fold : b.folds) {
    const std::vector<std::int64_t> needed = fold.needed(b.shape);
    for (std::size_t i = 0; i < fold.cuts.size(); ++i) {
      const Cut& cut = fold.cuts[i];
      if (!cut.target.is_mesh() || cut.target.axis() != share.axis) continue;
      if (found || cut.stride != share.stride || needed[i] > share.count) return std::nullopt;
      found = only_cut(fold, i);
      found->cuts[i].count = share.count;
    }
  }
  return found;
}

/// Cuts the tile that a place has of a fold's line into one part for each of the shares. Empty if
/// the tile is shorter than that.
std::optional<Fold> cut_tile(const Form& form, const Fold& fold, const std::vector<Fill>& shares) {
  std::size_t first_local = 0;
  for (std::size_t i = 0; i < fold.cuts.size(); ++i) {
    if (fold.cuts[i].target.is_mesh()) first_local = i + 1;
  }
  Fold result{fold.terms, fold.start, {}};
  std::int64_t tile = fold.extent(form.shape);
  for (std::size_t i = 0; i < first_local; ++i) {
    result.cuts.push_back(fold.cuts[i]);
    result.cuts.back().target = Target::nothing();
    tile = std::min(tile, fold.cuts[i].width);
  }
  Checked parts = 1;
  for (const Fill& share : shares) parts *= share.count;
  if (tile < parts.saturated()) return std::nullopt;
  for (const Fill& share : shares) {
    tile = ceil_div(tile, share.count);
    result.cuts.push_back(
        {tile, share.count, Target::mesh(share.axis), share.stride, Cause::kGrid});
  }
  if (tile > 1) result.cuts.push_back({1, tile, Target::nothing(), 1, Cause::kAlignment});
  return result;
}

/// The form with cuts in place of its shares: B's own cuts where `b` has them, and a dim of the
/// tile for all others. Empty if the dim cannot be cut.
std::optional<Form> without_shares(const Form& form, const Form* b, int dim) {
  std::vector<Fill> open;
  Form result = form;
  std::erase_if(result.fills, is_share);
  for (const Fill& fill : form.fills) {
    if (!is_share(fill)) continue;
    std::optional<Fold> cut = b != nullptr ? cut_of(*b, fill) : std::nullopt;
    if (cut) {
      result.folds.push_back(*std::move(cut));
    } else {
      open.push_back(fill);
    }
  }
  if (open.empty()) return result;
  for (const Fold& fold : form.folds) {
    if (!uses_dim(fold, dim)) continue;
    std::optional<Fold> cut = cut_tile(form, fold, open);
    if (!cut) return std::nullopt;
    result.folds.push_back(*std::move(cut));
    return result;
  }
  return std::nullopt;
}

std::optional<Layout> without_shares(const Layout& a, const Form* b, int dim) {
  std::optional<Form> form = without_shares(a.form(), b, dim);
  if (!form) return std::nullopt;
  LayoutSpec spec = a.spec();
  spec.form = *std::move(form);
  spec.slots = a.slots();
  Result<Layout> made = Layout::make(std::move(spec));
  if (!made) return std::nullopt;
  return *std::move(made);
}

/// B's form, if its places are numbered like those of A.
const Form* comparable_form(const Placement& a, const Placement& b) {
  if (a.layout() == nullptr || b.layout() == nullptr || a.mesh() != b.mesh()) return nullptr;
  const bool same = a.layout()->spec().device_map == b.layout()->spec().device_map;
  return same ? &b.layout()->form() : nullptr;
}

/// A with a dim cut in place of its shares; empty where that is not possible.
std::optional<Placement> without_shares(const Placement& a, const Placement& b, int dim) {
  if (const Layout* layout = a.layout()) {
    std::optional<Layout> made = without_shares(*layout, comparable_form(a, b), dim);
    if (!made) return std::nullopt;
    return Placement(*std::move(made));
  }
  if (const View* view = a.view()) {
    std::optional<Form> form = without_shares(view->form(), nullptr, dim);
    if (!form || !check_writable(*form).ok()) return std::nullopt;
    Result<View> made = View::make(*std::move(form), view->dtype(), view->atom(), view->slots());
    if (!made) return std::nullopt;
    return Placement(*std::move(made));
  }
  std::vector<LayoutPiece> pieces;
  for (const LayoutPiece& piece : a.pieces()->pieces()) {
    std::optional<Layout> made = without_shares(piece.layout, nullptr, dim);
    if (!made) return std::nullopt;
    pieces.push_back({piece.box, *std::move(made)});
  }
  Result<Piecewise> made = Piecewise::by_rule(a.shape(), std::move(pieces));
  if (!made) return std::nullopt;
  return Placement(*std::move(made));
}

/// True when every partial axis becomes cut in B already.
bool is_reduce_scatter(const Reshard& reshard) {
  const Result<std::optional<Collectives>> found = collectives_of(reshard);
  if (!found || !*found) return false;
  return std::none_of((*found)->steps.begin(), (*found)->steps.end(), [](const Collective& step) {
    return step.kind == CollectiveKind::kAllReduce || step.kind == CollectiveKind::kReduce;
  });
}

}  // namespace

Result<std::vector<Reshard>> steps_of(const Reshard& reshard) {
  const std::vector<Reshard> single = {reshard};
  bool reduces = false;
  bool keeps_shares = false;  // some box of B has the shares that A has
  for (const ReshardPart& part : reshard.parts()) {
    reduces = reduces || part.shares.reduces();
    keeps_shares = keeps_shares || (part.shares.alike && part.shares.from > 1);
  }
  if (!reduces || keeps_shares || is_reduce_scatter(reshard)) return single;
  std::optional<std::vector<Reshard>> best;
  std::int64_t fewest = 0;
  const auto rank = static_cast<int>(reshard.from().shape().rank());
  for (int dim = 0; dim < rank; ++dim) {
    const std::optional<Placement> middle = without_shares(reshard.from(), reshard.to(), dim);
    if (!middle) continue;
    TESSERA_TRY(Reshard first, Reshard::make(reshard.from(), *middle, reshard.physical()));
    TESSERA_TRY(Reshard second, Reshard::make(*middle, reshard.to(), reshard.physical()));
    TESSERA_TRY(const ReshardCost first_cost, cost_of(first));
    TESSERA_TRY(const ReshardCost second_cost, cost_of(second));
    const std::int64_t bytes = (Checked(first_cost.bytes) + second_cost.bytes).saturated();
    if (best && bytes >= fewest) continue;
    fewest = bytes;
    best = {std::move(first), std::move(second)};
  }
  return best ? *std::move(best) : single;
}

}  // namespace tessera::reshard
