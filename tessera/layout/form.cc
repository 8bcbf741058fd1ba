// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/form.h"

#include <array>
#include <cassert>

#include "tessera/base/checked.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 6> kReductionNames = {"sum", "product", "min",
                                                             "max", "and",     "or"};
constexpr std::size_t kMaxFolds = 256;
constexpr std::size_t kMaxDigits = 1024;  // of all folds together: far more than any machine needs

Status check_fill(const Fill& fill, std::size_t mesh_rank) {
  if (fill.axis < 0 || static_cast<std::size_t>(fill.axis) >= mesh_rank) {
    return Error{ErrorCode::kBadFill,
                 cat("a fill names mesh axis ", fill.axis, " of a mesh of rank ", mesh_rank),
                 std::nullopt, "mesh axes count from 0"};
  }
  if (fill.kind == Fill::Kind::kFixed) {
    if (fill.value < 0) {
      return Error{ErrorCode::kBadFill, cat("mesh axis ", fill.axis, " is fixed at ", fill.value),
                   std::nullopt, "coordinates are 0 or more"};
    }
  } else if (fill.count < 1 || fill.stride < 1) {
    return Error{
        ErrorCode::kBadFill,
        cat("mesh axis ", fill.axis, " has ", fill.count, " replicas ", fill.stride, " apart"),
        std::nullopt, "counts and strides of replicas are 1 or more"};
  }
  return ok_status();
}

}  // namespace

std::string_view reduction_name(Reduction reduction) {
  return kReductionNames[static_cast<std::size_t>(reduction)];
}

Fill Fill::replicate(int axis, std::int64_t count, std::int64_t stride) {
  Fill fill;
  fill.axis = axis;
  fill.kind = Kind::kReplicate;
  fill.count = count;
  fill.stride = stride;
  return fill;
}

Fill Fill::partial(int axis, std::int64_t count, Reduction reduction, std::int64_t stride) {
  Fill fill = replicate(axis, count, stride);
  fill.kind = Kind::kPartial;
  fill.reduction = reduction;
  return fill;
}

Fill Fill::fixed(int axis, std::int64_t value) {
  Fill fill;
  fill.axis = axis;
  fill.value = value;
  return fill;
}

Status Form::check() const {
  if (folds.size() > kMaxFolds || fills.size() > kMaxFolds) {
    return Error{ErrorCode::kRankTooLarge,
                 cat(folds.size(), " folds and ", fills.size(), " fills are more than the ",
                     kMaxFolds, " supported")};
  }
  std::size_t digits = 0;
  for (const Fold& fold : folds) digits += fold.cuts.size();
  if (digits > kMaxDigits) {
    return Error{ErrorCode::kRankTooLarge,
                 cat(digits, " cuts are more than the ", kMaxDigits, " supported")};
  }
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    if (mesh[axis] < 1) {
      return Error{ErrorCode::kBadShape, cat("mesh axis ", axis, " has ", mesh[axis], " places"),
                   std::nullopt, "a mesh axis has 1 place or more"};
    }
  }
  if (offset < 0) {
    return Error{ErrorCode::kBadFold, cat("the offset is ", offset), std::nullopt,
                 "slots count from 0"};
  }
  std::vector<Checked> last_coordinate(mesh.rank(), Checked(0));
  std::vector<bool> said(mesh.rank(), false);
  Checked last_slot = offset;
  Checked copies = 1;
  for (const Fold& fold : folds) {
    TESSERA_CHECK_OK(fold.check(shape, mesh.rank()));
    for (const Cut& cut : fold.cuts) {
      const Checked reach = Checked(cut.count > 0 ? cut.count - 1 : 0) * cut.stride;
      if (cut.target.is_memory()) last_slot += reach;
      if (cut.target.is_mesh()) {
        const auto axis = static_cast<std::size_t>(cut.target.axis());
        last_coordinate[axis] += reach;
        said[axis] = true;
      }
    }
  }
  for (const Fill& fill : fills) {
    TESSERA_CHECK_OK(check_fill(fill, mesh.rank()));
    const auto axis = static_cast<std::size_t>(fill.axis);
    last_coordinate[axis] += fill.kind == Fill::Kind::kFixed
                                 ? Checked(fill.value)
                                 : Checked(fill.count - 1) * fill.stride;
    if (fill.kind != Fill::Kind::kFixed) copies *= fill.count;
    said[axis] = true;
  }
  TESSERA_TRY([[maybe_unused]] const std::int64_t slots,
              (last_slot + 1).value("the number of slots"));
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    const std::int64_t last = last_coordinate[axis].saturated();
    if (last >= mesh[axis]) {
      return Error{
          ErrorCode::kMeshTooSmall,
          cat("mesh axis ", axis, " has ", mesh[axis], " places but coordinate ", last, " is used"),
          std::nullopt, "enlarge the axis, or cut into wider pieces"};
    }
    if (!said[axis] && mesh[axis] > 1) {
      return Error{ErrorCode::kAxisUnsaid,
                   cat("the content of the ", mesh[axis], " places of mesh axis ", axis,
                       " is not specified"),
                   std::nullopt,
                   cat("place a digit on it, or add replicate(m", axis, "), partial(m", axis,
                       ", sum) or fixed(m", axis, "=0)")};
    }
  }
  if (copies.saturated() > mesh.elements()) {
    return Error{
        ErrorCode::kBadFill,
        cat("fills require more replicas than the mesh has places (", mesh.elements(), ")"),
        std::nullopt, "replicas of one element are on different places"};
  }
  // Replicas times elements, and digit boxes, are bounded by the product of places and slots.
  // Functions that count slots over all places need this product.
  TESSERA_TRY(
      [[maybe_unused]] const std::int64_t everything,
      (Checked(mesh.elements()) * (last_slot + 1)).value("the number of slots of all places"));
  return ok_status();
}

std::int64_t Form::reach() const {
  std::int64_t last = offset;
  for (const Fold& fold : folds) {
    for (const Cut& cut : fold.cuts) {
      if (!cut.target.is_memory()) continue;
      if (cut.count == 0) return 0;
      last += (cut.count - 1) * cut.stride;
    }
  }
  return last + 1;
}

std::int64_t Form::replicas() const {
  std::int64_t product = 1;
  for (const Fill& fill : fills) {
    if (fill.kind != Fill::Kind::kFixed) product *= fill.count;
  }
  return product;
}

void Form::evaluate(const Index& index, Place& place, std::int64_t& slot) const {
  assert(shape.contains(index));
  place.assign(mesh.rank(), 0);
  slot = offset;
  for (const Fold& fold : folds) {
    std::int64_t left = fold.start;
    for (const Term& term : fold.terms) {
      left += term.coef * index[static_cast<std::size_t>(term.dim)];
    }
    for (const Cut& cut : fold.cuts) {
      const std::int64_t digit = left / cut.width;
      left -= digit * cut.width;
      if (cut.target.is_memory()) slot += digit * cut.stride;
      if (cut.target.is_mesh()) {
        place[static_cast<std::size_t>(cut.target.axis())] += digit * cut.stride;
      }
    }
  }
  for (const Fill& fill : fills) {
    if (fill.kind == Fill::Kind::kFixed) place[static_cast<std::size_t>(fill.axis)] += fill.value;
  }
}

std::vector<Place> replica_places(const Form& form, const Place& first) {
  std::vector<Place> places = {first};
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed || fill.count == 1) continue;
    std::vector<Place> more;
    more.reserve(places.size() * static_cast<std::size_t>(fill.count));
    for (const Place& place : places) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        more.push_back(place);
        more.back()[static_cast<std::size_t>(fill.axis)] += i * fill.stride;
      }
    }
    places = std::move(more);
  }
  return places;
}

}  // namespace tessera
