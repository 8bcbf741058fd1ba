// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/scope.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/raising/plain_memory.h"

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

std::optional<Obstacle> beyond_padding(const Placement& placement) {
  const Layout* layout = placement.layout();
  if (layout == nullptr) return std::nullopt;
  const Checked slots = Checked(layout->slots()) * layout->places();
  const Checked held = Checked(layout->shape().elements()) * layout->form().replicas();
  if (slots.saturated() <= held.saturated()) return std::nullopt;
  if (const auto padded = padded_dim(*layout)) {
    const auto [dim, room] = *padded;
    return obstacle(
        why::kPaddedDim, "cannot pad: dim {dim} is {extent}, padded to {padded_extent}",
        {fact("dim", dim), fact("extent", layout->shape()[static_cast<std::size_t>(dim)]),
         fact("padded_extent", room)});
  }
  return obstacle(why::kEmptySlots,
                  "cannot leave slots empty: {slots} slots for {elements} elements",
                  {fact("slots", slots.saturated()), fact("elements", held.saturated())});
}

std::optional<Obstacle> beyond_mesh(const Placement& placement, const Scope& scope) {
  const Shape& mesh = placement.mesh();
  if (mesh.elements() == 1) return std::nullopt;  // [] and [0, 0] both denote one place
  if (mesh.rank() >= scope.least_axes && mesh.rank() <= scope.most_axes) return std::nullopt;
  return mesh_rank(cat(mesh_words(scope), ": the tensor is on {mesh:x} places"), mesh,
                   scope.least_axes, scope.most_axes);
}

/// The same obstacle in a sentence that begins with the name of the notation.
Obstacle reworded(const Obstacle& what, std::string_view words) {
  return obstacle(what.reason.name, words, what.reason.facts);
}

}  // namespace

std::optional<Error> outside_scope(const Placement& placement, std::string_view notation,
                                   const Scope& scope) {
  std::vector<Obstacle> found;
  if (!scope.pads) {
    if (auto what = beyond_padding(placement)) found.push_back(*std::move(what));
  }
  if (auto what = beyond_mesh(placement, scope)) found.push_back(*std::move(what));
  const Fill* const partial = spreading_fill(placement, Fill::Kind::kPartial);
  if (!scope.partial && partial != nullptr) {
    found.push_back(reworded(partial_result(*partial),
                             "cannot express a partial {reduction} on {places} places"));
  }
  const Fill* const copied = spreading_fill(placement, Fill::Kind::kReplicate);
  if (!scope.replicates && copied != nullptr) {
    found.push_back(
        reworded(replicated(*copied),
                 "cannot replicate: each element is on {places} places along mesh axis {axis}"));
  }
  if (!scope.tiles && placement.atom().is_tile()) {
    found.push_back(
        reworded(tiles(placement.atom()),
                 "cannot express tiles: elements are stored in tiles of {rows}x{cols}"));
  }
  if (!scope.shares && placement.view() != nullptr) {
    found.push_back(obstacle(why::kSharedSlots, "cannot express elements that share a slot"));
  }
  if (!scope.pieces && placement.pieces() != nullptr) {
    found.push_back(
        obstacle(why::kBoxes,
                 "has one rule for all elements: the tensor has {boxes} boxes, each with a layout",
                 {fact("boxes", placement.pieces()->pieces().size())}));
  }
  if (found.empty()) return std::nullopt;
  Error error{ErrorCode::kNotSupported, std::string(notation), std::nullopt,
              "the native notation can express it"};
  for (Obstacle& what : found) {
    error.message += cat(error.reasons.empty() ? " " : "; ", what.words);
    error.reasons.push_back(std::move(what.reason));
  }
  return error;
}

}  // namespace tessera::notation
