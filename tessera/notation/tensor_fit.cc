// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/tensor_fit.h"

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/spyre/cores.h"
#include "tessera/notation/terms.h"
#include "tessera/target/fit.h"

namespace tessera::notation {
namespace {

/// Pages of a tensor that is interleaved in the places' own memory are distributed over its grid.
void check_interleaved_grid(const Tensor& tensor, const Machine& machine, target::Fit& fit) {
  const auto* const words = std::get_if<TtnnLayout>(&terms_of(tensor));
  if (words == nullptr || words->memory != TtnnLayout::Memory::kInterleaved ||
      fit.owner != target::MemorySpace::Owner::kPlace) {
    return;
  }
  const Shape there = machine.shape();
  if (there.rank() != words->grid.size()) return;
  for (std::size_t axis = 0; axis < there.rank(); ++axis) {
    if (words->grid[axis] <= there[axis]) continue;
    fit.reasons.push_back({target::Misfit::Code::kMeshTooLarge,
                           cat("a grid of ", join(words->grid, "x"), " > ", there.to_string(),
                               " (axis ", axis, ": ", words->grid[axis], " > ", there[axis], ")")});
    return;
  }
}

/// Pieces of a Spyre tensor stay where they are in the undivided one, so the span of a core is that
/// of its piece there, which is longer than the piece itself.
Status check_spyre_span(const Tensor& tensor, std::optional<std::int64_t> limit, target::Fit& fit) {
  const auto* const words = std::get_if<SpyreLayout>(&terms_of(tensor));
  if (words == nullptr || words->cores.empty() || !limit) return ok_status();
  TESSERA_TRY(const std::vector<SpyreSpan> spans,
              core_spans(*words, tensor.shape(), tensor.dtype()));
  const auto longest =
      std::max_element(spans.begin(), spans.end(),
                       [](const SpyreSpan& a, const SpyreSpan& b) { return a.bytes < b.bytes; });
  if (longest == spans.end() || longest->bytes <= *limit) return ok_status();
  std::erase_if(fit.reasons, [](const target::Misfit& reason) {
    return reason.code == target::Misfit::Code::kSpanTooLong;
  });
  fit.reasons.push_back({target::Misfit::Code::kSpanTooLong,
                         cat("core ", longest->core, " spans ", target::size_text(longest->bytes),
                             " > ", target::size_text(*limit))});
  return ok_status();
}

/// Pieces share mesh and memory, and every place has room for the largest shard: if that one fits,
/// all do. Only the elements are those of all pieces.
Result<target::Fit> fits_in_pieces(const Piecewise& pieces, const Machine& machine) {
  const LayoutPiece* largest = &pieces.pieces().front();
  for (const LayoutPiece& piece : pieces.pieces()) {
    if (piece.layout.spec().device_map.kind() != DeviceMap::Kind::kIdentity) {
      return Error{ErrorCode::kNotSupported,
                   "boxes with separate device maps cannot be fitted on a machine", std::nullopt,
                   "omit the device maps, or --target"};
    }
    if (piece.layout.shard_bytes() > largest->layout.shard_bytes()) largest = &piece;
  }
  TESSERA_TRY(target::Fit fit, target::fits(largest->layout, machine));
  const auto bytes = dtype_bytes(pieces.atom().storage, pieces.shape().elements());
  fit.needed_places = std::nullopt;
  if (bytes && fit.owner == target::MemorySpace::Owner::kPlace && fit.usable_bytes) {
    fit.needed_places = std::max<std::int64_t>(1, ceil_div(*bytes, *fit.usable_bytes));
  }
  return fit;
}

}  // namespace

target::Spread spread_of(const Tensor& tensor) {
  const auto* const words = std::get_if<TtnnLayout>(&terms_of(tensor));
  const bool interleaved = words != nullptr && words->memory == TtnnLayout::Memory::kInterleaved;
  return interleaved ? target::Spread::kInterleaved : target::Spread::kWhole;
}

std::string space_of(const Tensor& tensor) {
  if (const Layout* layout = tensor.placement.layout()) return layout->spec().space;
  const Piecewise* const pieces = tensor.placement.pieces();
  return pieces == nullptr ? "" : pieces->pieces().front().layout.spec().space;
}

Result<target::Fit> fits(const Tensor& tensor, const Machine& machine) {
  if (const Piecewise* pieces = tensor.placement.pieces()) {
    return fits_in_pieces(*pieces, machine);
  }
  const Layout* layout = tensor.placement.layout();
  if (layout == nullptr) {
    return Error{ErrorCode::kNotSupported,
                 "a view owns no memory, so it cannot be fitted on a machine", std::nullopt,
                 "use the underlying layout, or omit --target"};
  }
  TESSERA_TRY(target::Fit fit, target::fits(*layout, machine, spread_of(tensor)));
  check_interleaved_grid(tensor, machine, fit);
  if (fit.owner == target::MemorySpace::Owner::kShared) {
    TESSERA_CHECK_OK(check_spyre_span(tensor, machine.rules.span_limit_bytes, fit));
  }
  return fit;
}

}  // namespace tessera::notation
