// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxCompared = std::int64_t{1} << 20;

Error bad_pieces(std::string message, std::string help) {
  return Error{ErrorCode::kBadPieces, std::move(message), std::nullopt, std::move(help)};
}

/// Smallest and largest slot, and coordinate on each axis, that a layout's elements use.
struct Bounds {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  // axes, then the slot
  bool meets(const Bounds& other) const {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].second < other.ranges[i].first || other.ranges[i].second < ranges[i].first) {
        return false;
      }
    }
    return true;
  }
};

Bounds bounds_of(const Layout& layout) {
  const Form& form = layout.form();
  Bounds bounds;
  for (int axis = 0; axis < static_cast<int>(form.mesh.rank()); ++axis) {
    const Reach reach = mesh_reach(form, axis);
    std::int64_t last = reach.first;
    for (const Reach::Weight& weight : reach.weights) last += (weight.count - 1) * weight.stride;
    bounds.ranges.emplace_back(reach.first, last);
  }
  bounds.ranges.emplace_back(form.offset, form.reach() - 1);
  return bounds;
}

/// Whether the slots of two layouts differ modulo a stride of either: interleaved blocks of rows,
/// such as the columns of one shard beside those of another.
bool take_turns(const Layout& a, const Layout& b) {
  const Reach reach[2] = {memory_reach(a.form(), a.slots()), memory_reach(b.form(), b.slots())};
  for (const Reach& either : reach) {
    for (const Reach::Weight& period : either.weights) {
      std::int64_t low[2];
      std::int64_t high[2];
      for (int i = 0; i < 2; ++i) {
        low[i] = high[i] = reach[i].first % period.stride;
        for (const Reach::Weight& weight : reach[i].weights) {
          if (weight.stride % period.stride != 0) high[i] += (weight.count - 1) * weight.stride;
        }
      }
      const bool within = high[0] < period.stride && high[1] < period.stride;
      if (within && (high[0] < low[1] || high[1] < low[0])) return true;
    }
  }
  return false;
}

/// Like `meet`, without making the box, because it is called for every pair.
bool overlap(const Box& a, const Box& b) {
  for (std::size_t dim = 0; dim < a.from.size(); ++dim) {
    if (std::max(a.from[dim], b.from[dim]) >= std::min(a.to[dim], b.to[dim])) return false;
  }
  return true;
}

/// For two pieces whose bounds intersect: looks up each element of the smaller piece in the other.
/// `left` is how many lookups remain for the tensor.
Status check_apart(const LayoutPiece& a, const LayoutPiece& b, std::int64_t& left) {
  if (a.box.elements() > b.box.elements()) return check_apart(b, a, left);
  const Checked work = Checked(a.box.elements()) * a.layout.form().replicas();
  if (work.saturated() > left) {
    return Error{ErrorCode::kTooLarge,
                 cat("pieces use the same range of places and slots, and more than ", kMaxCompared,
                     " elements would have to be compared"),
                 std::nullopt, "give pieces separate ranges of places or slots"};
  }
  left -= work.raw();
  Index index(a.box.from.size(), 0);
  do {
    TESSERA_TRY(const Location location, a.layout.locate(index));
    for (const Place& place : location.places) {
      if (location.slot >= b.layout.slots()) continue;
      TESSERA_TRY(const Slot held, b.layout.element_at(place, location.slot));
      if (const Index* other = std::get_if<Index>(&held)) {
        return bad_pieces(
            cat("elements ", bracketed(plus(index, a.box.from)), " and ",
                bracketed(plus(*other, b.box.from)), " of two pieces share one slot of one place"),
            "give pieces separate places or slots");
      }
    }
  } while (a.layout.shape().next(index));
  return ok_status();
}

}  // namespace

Result<Piecewise> Piecewise::make(Shape shape, std::vector<LayoutPiece> pieces) {
  return make(std::move(shape), std::move(pieces), kMaxCompared);
}

Result<Piecewise> Piecewise::by_rule(Shape shape, std::vector<LayoutPiece> pieces) {
  return make(std::move(shape), std::move(pieces), std::nullopt);
}

Result<Piecewise> Piecewise::make(Shape shape, std::vector<LayoutPiece> pieces,
                                  std::optional<std::int64_t> comparisons) {
  if (pieces.empty() || pieces.size() > kMaxPieces) {
    return bad_pieces(cat(pieces.size(), " pieces"), cat("from 1 to ", kMaxPieces, " pieces"));
  }
  Checked covered = 0;
  std::int64_t slots = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const LayoutPiece& piece = pieces[i];
    const Layout& first = pieces.front().layout;
    for (const std::size_t rank : {piece.box.from.size(), piece.box.to.size()}) {
      if (rank == shape.rank()) continue;
      return bad_pieces(
          cat("the box of piece ", i, " has rank ", rank, " (expected ", shape.rank(), ")"),
          "one range per dim");
    }
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      const std::int64_t from = piece.box.from[dim];
      const std::int64_t to = piece.box.to[dim];
      if (from < 0 || to < from || to > shape[dim]) {
        return bad_pieces(cat("piece ", i, " covers [", from, ", ", to, ") of dim ", dim,
                              " of extent ", shape[dim]),
                          "boxes lie inside the tensor");
      }
      if (piece.layout.shape().rank() != shape.rank() || piece.layout.shape()[dim] != to - from) {
        return bad_pieces(
            cat("the layout of piece ", i, " has the shape ",
                bracketed(piece.layout.shape().extents()), ", which is not that of its box"),
            "a piece's layout has the shape of its box");
      }
    }
    if (piece.layout.mesh() != first.mesh() || piece.layout.dtype() != first.dtype() ||
        piece.layout.atom() != first.atom() || piece.layout.spec().space != first.spec().space) {
      return bad_pieces(cat("piece ", i,
                            " differs from piece 0 in mesh, element type, atom or "
                            "memory space"),
                        "pieces share these");
    }
    covered += piece.box.elements();
    slots = std::max(slots, piece.layout.slots());
    bytes = std::max(bytes, piece.layout.shard_bytes());
  }
  std::vector<Bounds> bounds;
  for (const LayoutPiece& piece : pieces) bounds.push_back(bounds_of(piece.layout));
  const auto is_empty = [](const LayoutPiece& piece) { return piece.layout.shape().empty(); };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (is_empty(pieces[i])) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (is_empty(pieces[j])) continue;
      if (overlap(pieces[i].box, pieces[j].box)) {
        return bad_pieces(cat("pieces ", j, " and ", i, " overlap"), "boxes are disjoint");
      }
      if (!comparisons || !bounds[i].meets(bounds[j]) ||
          take_turns(pieces[i].layout, pieces[j].layout)) {
        continue;
      }
      TESSERA_CHECK_OK(check_apart(pieces[j], pieces[i], *comparisons));
    }
  }
  if (covered.saturated() != shape.elements()) {
    return bad_pieces(
        cat("pieces cover ", covered.saturated(), " of ", shape.elements(), " elements"),
        "boxes cover the tensor");
  }
  Piecewise whole;
  whole.shape_ = std::move(shape);
  whole.pieces_ = std::move(pieces);
  whole.slots_ = slots;
  whole.shard_bytes_ = bytes;
  return whole;
}

Result<Location> Piecewise::locate(const Index& index) const {
  if (shape_.contains(index)) {
    for (const LayoutPiece& piece : pieces_) {
      if (piece.box.contains(index)) return piece.layout.locate(minus(index, piece.box.from));
    }
  }
  return Error{
      ErrorCode::kOutOfRange,
      cat("index ", bracketed(index), " is outside the shape ", bracketed(shape_.extents())),
      std::nullopt, "one number per dim, counted from 0"};
}

Result<Slot> Piecewise::element_at(const Place& place, std::int64_t slot) const {
  TESSERA_CHECK_OK(check_position(mesh(), slots_, place, slot));
  std::optional<Cause> cause;
  for (const LayoutPiece& piece : pieces_) {
    if (slot >= piece.layout.slots()) continue;
    TESSERA_TRY(Slot held, piece.layout.element_at(place, slot));
    if (const Index* index = std::get_if<Index>(&held)) return Slot{plus(*index, piece.box.from)};
    const Cause here = std::get<Padding>(held).cause;
    if (here != Cause::kGap && (!cause || here < *cause)) cause = here;
  }
  return Slot{Padding{cause.value_or(Cause::kGap)}};
}

}  // namespace tessera
