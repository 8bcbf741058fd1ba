// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/program/position_list.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::relayout {
namespace {

Status check_partials(const Form& form, std::string_view which) {
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kPartial && fill.count > 1) {
      return Error{ErrorCode::kNotSupported,
                   cat("the ", which, " keeps ", reduction_name(fill.reduction), " shares on ",
                       fill.count, " places of mesh axis ", fill.axis),
                   std::nullopt, "only whole values can be moved: combine the shares first"};
    }
  }
  return ok_status();
}

Status check_size(const Placement& placement, std::string_view which) {
  const std::int64_t positions = (Checked(placement.places()) * placement.slots()).saturated();
  const std::int64_t elements = placement.shape().elements();
  if (positions <= kMostListed && elements <= kMostListed) return ok_status();
  return Error{ErrorCode::kTooLarge,
               cat("the ", which, " has ", elements, " elements and ", positions,
                   " slots; at most ", kMostListed, " are examined one by one"),
               std::nullopt, "use a smaller tensor of the same kind"};
}

/// The distances between the replicas of an element, in positions.
std::vector<std::int64_t> replica_distances(const Form& form, std::int64_t slots) {
  std::vector<std::int64_t> distances;
  for (const Place& place : replica_places(form, Place(form.mesh.rank(), 0))) {
    distances.push_back(form.mesh.linear(place) * slots);
  }
  std::sort(distances.begin(), distances.end());
  distances.erase(std::unique(distances.begin(), distances.end()), distances.end());
  return distances;
}

}  // namespace

Result<PositionList> PositionList::make(const Placement& placement, std::string_view which) {
  const std::vector<FormPiece> boxes = form_pieces(placement);
  for (const FormPiece& box : boxes) TESSERA_CHECK_OK(check_partials(*box.form, which));
  TESSERA_CHECK_OK(check_size(placement, which));
  PositionList list;
  const Shape& shape = placement.shape();
  const auto elements = static_cast<std::size_t>(shape.elements());
  list.first_.resize(elements);
  if (boxes.size() > 1) list.box_.resize(elements);
  Place place;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const Form& form = *boxes[b].form;
    list.copies_.push_back(replica_distances(form, placement.slots()));
    if (form.shape.empty()) continue;
    Index index(form.shape.rank(), 0);
    std::size_t element = 0;  // a box that is the whole shape visits it in order
    do {
      std::int64_t slot = 0;
      form.evaluate(index, place, slot);
      if (boxes.size() > 1) {
        element = static_cast<std::size_t>(shape.linear(plus(index, boxes[b].box.from)));
        list.box_[element] = static_cast<std::uint16_t>(b);
      }
      list.first_[element++] =
          static_cast<std::int32_t>(form.mesh.linear(place) * placement.slots() + slot);
    } while (form.shape.next(index));
  }
  return list;
}

bool PositionList::holds(std::int64_t element, std::int64_t position) const {
  const std::int64_t distance = position - first(element);
  if (distance == 0) return true;
  const std::vector<std::int64_t>& distances = copies(element);
  return std::binary_search(distances.begin(), distances.end(), distance);
}

}  // namespace tessera::relayout
