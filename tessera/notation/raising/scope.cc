// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/scope.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

const Fill* spreading_fill(const Placement& placement, Fill::Kind kind) {
  for (const FormPiece& piece : form_pieces(placement)) {
    for (const Fill& fill : piece.form->fills) {
      if (fill.kind == kind && fill.count > 1) return &fill;
    }
  }
  return nullptr;
}

/// "on one place", "on a mesh of 2 axes", "on a mesh of 1 to 3 axes".
std::string mesh_words(const Scope& scope) {
  if (scope.most_axes == 0) return "has one place";
  const std::string axes =
      scope.least_axes == scope.most_axes
          ? cat(scope.most_axes)
          : cat(std::max<std::size_t>(scope.least_axes, 1), " to ", scope.most_axes);
  return cat("has a mesh of ", axes, axes == "1" ? " axis" : " axes");
}

/// The first dim that is a separate line and has room for more than its elements, and its padded
/// extent.
std::optional<std::pair<int, std::int64_t>> padded_dim(const Layout& layout) {
  for (const Fold& fold : layout.form().folds) {
    if (fold.terms.size() != 1) continue;
    Checked room = 1;
    for (const Cut& cut : fold.cuts) room *= cut.count;
    const int dim = fold.terms.front().dim;
    if (room.saturated() > layout.shape()[static_cast<std::size_t>(dim)]) {
      return std::pair(dim, room.saturated());
    }
  }
  return std::nullopt;
}

std::optional<std::string> beyond_padding(const Placement& placement) {
  const Layout* layout = placement.layout();
  if (layout == nullptr) return std::nullopt;
  const Checked slots = Checked(layout->slots()) * layout->places();
  const Checked held = Checked(layout->shape().elements()) * layout->form().replicas();
  if (slots.saturated() <= held.saturated()) return std::nullopt;
  if (const auto padded = padded_dim(*layout)) {
    const auto [dim, room] = *padded;
    return cat("cannot pad: dim ", dim, " is ", layout->shape()[static_cast<std::size_t>(dim)],
               ", padded to ", room);
  }
  return cat("cannot leave slots empty: ", slots.saturated(), " slots for ", held.saturated(),
             " elements");
}

std::optional<std::string> beyond_mesh(const Placement& placement, const Scope& scope) {
  const Shape& mesh = placement.mesh();
  if (mesh.elements() == 1) return std::nullopt;  // [] and [0, 0] both denote one place
  if (mesh.rank() >= scope.least_axes && mesh.rank() <= scope.most_axes) return std::nullopt;
  return cat(mesh_words(scope), ": the tensor is on ", mesh.to_string(), " places");
}

}  // namespace

std::optional<std::string> outside_scope(const Placement& placement, std::string_view notation,
                                         const Scope& scope) {
  std::vector<std::string> reasons;
  if (!scope.pads) {
    if (auto what = beyond_padding(placement)) reasons.push_back(*std::move(what));
  }
  if (auto what = beyond_mesh(placement, scope)) reasons.push_back(*std::move(what));
  const Fill* const partial = spreading_fill(placement, Fill::Kind::kPartial);
  if (!scope.partial && partial != nullptr) {
    reasons.push_back(cat("cannot say a partial ", reduction_name(partial->reduction), " on ",
                          partial->count, " places"));
  }
  const Fill* const replicated = spreading_fill(placement, Fill::Kind::kReplicate);
  if (!scope.replicates && replicated != nullptr) {
    reasons.push_back(cat("cannot replicate: each element is on ", replicated->count,
                          " places along mesh axis ", replicated->axis));
  }
  const Atom& atom = placement.atom();
  if (!scope.tiles && atom.is_tile()) {
    reasons.push_back(
        cat("cannot say tiles: elements are kept in tiles of ", atom.rows, "x", atom.cols));
  }
  if (!scope.shares && placement.view() != nullptr) {
    reasons.emplace_back("cannot say elements that share a slot");
  }
  if (!scope.pieces && placement.pieces() != nullptr) {
    reasons.push_back(cat("has one rule for all elements: the tensor is ",
                          placement.pieces()->pieces().size(), " boxes with a layout each"));
  }
  if (reasons.empty()) return std::nullopt;
  return cat(notation, " ", join(reasons, "; "));
}

}  // namespace tessera::notation
