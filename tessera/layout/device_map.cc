// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/device_map.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/repeats.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"

namespace tessera {
namespace {

Error bad(std::string message, std::string help) {
  return Error{ErrorCode::kBadDeviceMap, std::move(message), std::nullopt, std::move(help)};
}

}  // namespace

Form form_of(const DeviceMap& map, const Shape& mesh) {
  Form form;
  form.shape = mesh;
  form.mesh = map.physical();
  form.folds = map.folds();
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    const std::int64_t origin = axis < map.origin().size() ? map.origin()[axis] : 0;
    form.fills.push_back(Fill::fixed(static_cast<int>(axis), origin));
  }
  return form;
}

DeviceMap DeviceMap::folded(Shape physical, std::vector<Fold> folds, Place origin) {
  DeviceMap map;
  map.kind_ = Kind::kFolded;
  map.physical_ = std::move(physical);
  map.folds_ = std::move(folds);
  map.origin_ = std::move(origin);
  return map;
}

DeviceMap DeviceMap::table(Shape physical, std::vector<Place> places) {
  DeviceMap map;
  map.kind_ = Kind::kTable;
  map.physical_ = std::move(physical);
  map.places_ = std::move(places);
  return map;
}

Status DeviceMap::check(const Shape& mesh) const {
  if (kind_ == Kind::kIdentity) return ok_status();
  if (kind_ == Kind::kFolded) {
    if (!origin_.empty() && origin_.size() != physical_.rank()) {
      return bad(cat("an origin of ", origin_.size(), " coordinates on a physical mesh of rank ",
                     physical_.rank()),
                 "one coordinate per physical axis");
    }
    const Form form = form_of(*this, mesh);
    if (const Status status = form.check(); !status) {
      return bad(cat("the device map is malformed: ", status.error().message), status.error().help);
    }
    TESSERA_TRY(const Injectivity injectivity, is_injective(form));
    if (!injectivity.injective) {
      return bad(cat("virtual places ", bracketed(injectivity.collision->first), " and ",
                     bracketed(injectivity.collision->second), " share one physical place"),
                 "place a digit in memory (the layer) where places are intended to stack");
    }
    return ok_status();
  }
  if (static_cast<std::int64_t>(places_.size()) != mesh.elements()) {
    return bad(cat("a table of ", places_.size(), " places for a mesh of ", mesh.elements()),
               "one physical place for each virtual place");
  }
  std::vector<std::int64_t> numbers;
  numbers.reserve(places_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!physical_.contains(places_[i])) {
      return bad(cat("entry ", i, " of the table is ", bracketed(places_[i]),
                     ", outside the physical mesh ", physical_.to_string()),
                 "coordinates count from 0");
    }
    numbers.push_back(physical_.linear(places_[i]));
  }
  if (const std::optional<Repeat> repeat = first_repeat(numbers)) {
    return bad(cat("entries ", repeat->first, " and ", repeat->second, " of the table are both ",
                   bracketed(places_[repeat->second])),
               "a table has no repeats");
  }
  return ok_status();
}

PhysicalPlace DeviceMap::map(const Shape& mesh, const Place& place) const {
  if (kind_ == Kind::kIdentity) return {place, 0};
  if (kind_ == Kind::kTable) return {places_[static_cast<std::size_t>(mesh.linear(place))], 0};
  PhysicalPlace physical;
  form_of(*this, mesh).evaluate(place, physical.place, physical.layer);
  return physical;
}

}  // namespace tessera
