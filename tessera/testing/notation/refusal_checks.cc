// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/refusal_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include "tessera/base/text.h"
#include "tessera/testing/notation/rule_spyre.h"

namespace tessera::test {
namespace {

std::int64_t reach(const Positions& positions) {
  std::int64_t last = -1;
  for (const RulePosition& position : positions.positions) last = std::max(last, position.slot);
  return last + 1;
}

std::int64_t empty_slots(const Positions& positions) {
  return positions.slots * positions.places() - static_cast<std::int64_t>(positions.held.size());
}

Mistake allocates(const Refused& refused, const Facts& facts) {
  return refused.positions.slots == facts["slots"] ? "" : cat("it has ", refused.positions.slots);
}

/// The number of coordinates on a mesh axis that each element is on; 0 when elements differ.
std::int64_t coordinates_on(const Positions& positions, std::size_t axis,
                            const RulePosition& position) {
  std::set<std::int64_t> coordinates;
  if (axis >= positions.mesh.size()) return 0;
  for (const Numbers& place : position.places) coordinates.insert(place[axis]);
  return static_cast<std::int64_t>(coordinates.size());
}

/// Whether the element at `position` is on this place of the mesh, or of the device if the device
/// map moves places.
bool is_held_on(const Positions& positions, const RulePosition& position, const Numbers& place) {
  if (std::binary_search(position.places.begin(), position.places.end(), place)) return true;
  if (!positions.is_mapped()) return false;
  const auto number = static_cast<std::size_t>(&position - positions.positions.data());
  return std::any_of(positions.on_device[number].begin(), positions.on_device[number].end(),
                     [&](const Numbers& there) {  // the last number is the layer
                       return std::equal(there.begin(), there.end() - 1, place.begin(),
                                         place.end());
                     });
}

bool has_element(const Positions& positions, const Numbers& index) {
  if (index.size() != positions.shape.size()) return false;
  for (std::size_t dim = 0; dim < index.size(); ++dim) {
    if (index[dim] < 0 || index[dim] >= positions.shape[dim]) return false;
  }
  return true;
}

}  // namespace

void Facts::note(std::string_view name) const {
  if (missing_.empty()) missing_ = cat("no fact ", name);
}

std::int64_t Facts::operator[](std::string_view name) const {
  const std::optional<std::int64_t> found = reason_.number(name);
  if (!found) note(name);
  return found.value_or(1);
}

std::size_t Facts::dim(std::string_view name) const {
  return static_cast<std::size_t>((*this)[name]);
}

Numbers Facts::numbers(std::string_view name) const {
  const std::optional<Numbers> found = reason_.numbers(name);
  if (!found) note(name);
  return found.value_or(Numbers());
}

std::string Facts::text(std::string_view name) const {
  const std::optional<std::string> found = reason_.text(name);
  if (!found) note(name);
  return found.value_or("");
}

Mistake is_padded(const Refused& refused, const Facts& facts) {
  const Positions& positions = refused.positions;
  const std::size_t dim = facts.dim("dim");
  if (dim >= positions.shape.size()) return cat("there is no dim ", dim);
  if (positions.shape[dim] != facts["extent"])
    return cat("dim ", dim, " is ", positions.shape[dim]);
  if (facts["padded_extent"] <= facts["extent"]) return "that is no padding";
  return empty_slots(positions) == 0 ? "no slot is empty" : "";
}

Mistake has_empty_slots(const Refused& refused, const Facts& facts) {
  const Positions& positions = refused.positions;
  const std::int64_t slots = positions.slots * positions.places();
  const auto held = static_cast<std::int64_t>(positions.held.size());
  if (slots != facts["slots"]) return cat("there are ", slots, " slots");
  // Copies of an empty tensor hold nothing.
  if (held != facts["elements"]) return cat(held, " slots are held");
  return slots > held ? "" : "no slot is empty";
}

Mistake has_another_mesh_rank(const Refused& refused, const Facts& facts) {
  const Numbers& mesh = refused.positions.mesh;
  if (mesh != facts.numbers("mesh")) return cat("the mesh is ", bracketed(mesh));
  const auto axes = static_cast<std::int64_t>(mesh.size());
  const bool inside = axes >= facts["least_axes"] && axes <= facts["most_axes"];
  return inside || axes == 0 ? cat("it has ", axes, " axes") : "";
}

Mistake has_another_mesh(const Refused& refused, const Facts& facts) {
  const Numbers mesh = facts.numbers("mesh");
  const Numbers& is = refused.positions.mesh;
  if (is.empty() ? product(mesh) != 1 : mesh != is) return cat("the mesh is ", bracketed(is));
  return mesh == facts.numbers("expected_mesh") ? "they are the same" : "";
}

Mistake has_another_rank(const Refused& refused, const Facts& facts) {
  const auto rank = static_cast<std::int64_t>(refused.positions.shape.size());
  if (rank != facts["rank"]) return cat("it is of rank ", rank);
  if (facts["least_rank"] != 1 || facts["most_rank"] != 12) return "there are letters for 1 to 12";
  return rank == 0 || rank > 12 ? "" : "there are letters for it";
}

Mistake has_shares(const Refused& refused, const Facts& facts) {
  if (facts["axis"] >= static_cast<std::int64_t>(refused.positions.mesh.size()))
    return "no such axis";
  return refused.positions.shares.empty() ? "no element is a share" : "";
}

Mistake is_partial(const Refused& refused, const Facts& facts) {
  const Shares& shares = refused.positions.shares;
  if (shares.empty()) return "no element is a share";
  const std::vector<std::string>& names = shares.reductions;
  if (std::find(names.begin(), names.end(), facts.text("reduction")) == names.end()) {
    return cat("shares are a ", shares.text());
  }
  return facts["places"] > 1 && shares.places % facts["places"] == 0 ? "" : shares.text();
}

Mistake is_replicated(const Refused& refused, const Facts& facts) {
  const std::size_t axis = facts.dim("axis");
  if (axis >= refused.positions.mesh.size()) return cat("there is no axis ", axis);
  for (const RulePosition& position : refused.positions.positions) {
    const std::int64_t coordinates = coordinates_on(refused.positions, axis, position);
    if (coordinates % facts["places"] != 0) {
      return cat("an element has ", coordinates, " coordinates on axis ", axis);
    }
  }
  return facts["places"] > 1 ? "" : "one copy is no copy";
}

Mistake is_partly_repeated(const Refused& refused, const Facts& facts) {
  const std::size_t axis = facts.dim("axis");
  if (axis >= refused.positions.mesh.size()) return cat("there is no axis ", axis);
  if (refused.positions.mesh[axis] != facts["of"])
    return cat("it has ", refused.positions.mesh[axis]);
  for (const RulePosition& position : refused.positions.positions) {
    const std::int64_t coordinates = coordinates_on(refused.positions, axis, position);
    if (coordinates != facts["coordinates"]) return cat("an element is on ", coordinates);
  }
  return {};
}

Mistake is_empty_with_copies(const Refused& refused, const Facts& facts) {
  if (!refused.positions.positions.empty()) return "it has elements";
  return facts["copies"] <= refused.positions.places() ? "" : "there are not so many places";
}

Mistake is_tiled(const Refused& refused, const Facts& facts) {
  return refused.positions.tile == Numbers{facts["rows"], facts["cols"]} ? "" : "no such tiles";
}

Mistake is_stored_as(const Refused& refused, const Facts& facts) {
  const Positions& positions = refused.positions;
  if (positions.dtype != facts.text("dtype")) return cat("it is of ", positions.dtype);
  if (positions.kept != facts.text("storage")) return cat("it is stored as ", positions.kept);
  return facts.text("expected_storage") == positions.kept ? "so it should be" : "";
}

Mistake shares_slots(const Refused& refused, const Facts&) {
  const auto& held = refused.positions.held;
  const bool any = std::any_of(held.begin(), held.end(),
                               [](const auto& cell) { return cell.second.size() > 1; });
  return any ? "" : "no two elements share a slot";
}

Mistake has_boxes(const Refused& refused, const Facts& facts) {
  const Piecewise* pieces = refused.tensor.placement.pieces();
  if (pieces == nullptr) return "it is no tensor of boxes";
  const auto count = static_cast<std::int64_t>(pieces->pieces().size());
  return count == facts["boxes"] ? "" : cat("it has ", count, " boxes");
}

Mistake is_moved_on_device(const Refused& refused, const Facts& facts) {
  const Positions& positions = refused.positions;
  if (facts.has("index") && !has_element(positions, facts.numbers("index"))) {
    return "no such element";
  }
  if (facts.has("places") && facts["places"] != positions.places()) {
    return cat("it is on ", positions.places(), " places");
  }
  const auto rank = static_cast<std::int64_t>(positions.device.size());
  if (facts.has("rank") && rank > 0 && facts["rank"] != rank) {
    return cat("the device is of rank ", rank);
  }
  return positions.is_mapped() ? "" : "the device map moves no place";
}

Mistake has_no_sticks(const Refused& refused, const Facts& facts) {
  const std::string dtype = facts.text("dtype");
  if (refused.positions.dtype != dtype) return cat("it is of ", refused.positions.dtype);
  return spyre_stick(dtype) == 0 ? "" : "there are such sticks";
}

Mistake is_elsewhere(const Refused& refused, const Facts& facts) {
  const Positions& positions = refused.positions;
  const Numbers index = facts.numbers("index");
  if (!has_element(positions, index)) return "no such element";
  const RulePosition& position = positions.at(index);
  if (position.slot != facts["slot"]) return cat("it is in slot ", position.slot);
  const Numbers place = facts.has("place") ? facts.numbers("place") : Numbers();
  const Numbers other = facts.has("expected_place") ? facts.numbers("expected_place") : Numbers();
  bool same = facts["slot"] == facts["expected_slot"] && place == other;
  if (!positions.mesh.empty() && !place.empty() && !is_held_on(positions, position, place)) {
    return "it is on another place";
  }
  if (facts.has("copies")) {
    const auto copies = static_cast<std::int64_t>(position.places.size());
    if (copies != facts["copies"]) return cat("it is on ", copies, " places");
    same = same && copies == facts["expected_copies"];
  }
  return same ? "they are the same" : "";
}

/// The elements that the nearest text would put in one slot are in two.
Mistake does_not_share_slot(const Refused& refused, const Facts& facts) {
  const Numbers first = facts.numbers("first");
  const Numbers second = facts.numbers("second");
  if (!has_element(refused.positions, first) || !has_element(refused.positions, second) ||
      first == second) {
    return "no such elements";
  }
  return refused.positions.at(first) == refused.positions.at(second) ? "so they do" : "";
}

Mistake begins_in_slot(const Refused& refused, const Facts& facts) {
  if (refused.positions.positions.empty()) return "there are no elements";
  const std::int64_t slot = refused.positions.positions.front().slot;
  return slot == facts["slot"] ? "" : cat("they begin in slot ", slot);
}

Mistake begins_on_place(const Refused& refused, const Facts& facts) {
  if (refused.positions.positions.empty()) return "there are no elements";
  const Numbers& place = refused.positions.positions.front().places.front();
  return place == facts.numbers("place") ? "" : cat("they begin on ", bracketed(place));
}

Mistake is_on_one_coordinate(const Refused& refused, const Facts& facts) {
  const std::size_t axis = facts.dim("axis");
  if (axis >= refused.positions.mesh.size()) return cat("there is no axis ", axis);
  for (const RulePosition& position : refused.positions.positions) {
    for (const Numbers& place : position.places) {
      if (place[axis] != facts["coordinate"]) return cat("some are on ", place[axis]);
    }
  }
  return {};
}

Mistake is_scalar_on_mesh(const Refused& refused, const Facts& facts) {
  if (!refused.positions.shape.empty()) return "it is no scalar";
  const std::size_t axis = facts.dim("axis");
  if (axis >= refused.positions.mesh.size()) return cat("there is no axis ", axis);
  for (const Numbers& place : refused.positions.positions.front().places) {
    if (place[axis] != 0) return cat("it is on ", place[axis]);
  }
  return {};
}

Mistake has_other_devices(const Refused& refused, const Facts& facts) {
  const std::int64_t places = refused.positions.places();
  if (places != facts["devices"]) return cat("it has ", places);
  return places == facts["expected_devices"] ? "they are as many" : "";
}

Mistake allocates_otherwise(const Refused& refused, const Facts& facts) {
  if (facts["slots"] == facts["expected_slots"]) return "they are the same";
  return allocates(refused, facts);
}

Mistake allocates_beyond_reach(const Refused& refused, const Facts& facts) {
  if (!refused.positions.positions.empty() && reach(refused.positions) != facts["reach"]) {
    return cat("they reach ", reach(refused.positions));
  }
  if (facts["slots"] == facts["reach"]) return "they are the same";
  return allocates(refused, facts);
}

Mistake allocates_for_nothing(const Refused& refused, const Facts& facts) {
  if (!refused.positions.positions.empty()) return "it has elements";
  return allocates(refused, facts);
}

Mistake allocates_for_one(const Refused& refused, const Facts& facts) {
  std::map<Numbers, std::int64_t> elements;
  for (const auto& [cell, held] : refused.positions.held) {
    if (++elements[cell.first] > 1) return cat(bracketed(cell.first), " has more than one");
  }
  return facts["slots"] == 1 ? "that is enough" : allocates(refused, facts);
}

Mistake allocates_less_than_steps(const Refused& refused, const Facts& facts) {
  if (facts["steps"] * facts["step"] != facts["taken"]) return "that is another product";
  if (facts["taken"] <= facts["slots"]) return "that is enough";
  return allocates(refused, facts);
}

Mistake allocates_part_of_stick(const Refused& refused, const Facts& facts) {
  const Positions& positions = refused.positions;
  if (positions.dtype != facts.text("dtype")) return cat("it is of ", positions.dtype);
  if (spyre_stick(positions.dtype) != facts["per_stick"]) return "sticks hold another number";
  if (positions.slots % facts["per_stick"] == 0) return "those are whole sticks";
  return allocates(refused, facts);
}

Mistake allocates_for_dim(const Refused& refused, const Facts& facts) {
  const std::size_t dim = facts.dim("dim");
  if (dim >= refused.positions.shape.size()) return cat("there is no dim ", dim);
  if (refused.positions.shape[dim] != facts["extent"])
    return cat("it is ", refused.positions.shape[dim]);
  return facts["allocated"] == facts["extent"] ? "they are the same" : "";
}

Mistake allocates_for_blocks(const Refused& refused, const Facts& facts) {
  const std::size_t dim = facts.dim("dim");
  if (dim >= refused.positions.shape.size()) return cat("there is no dim ", dim);
  const std::int64_t blocks = ceil_divide(refused.positions.shape[dim], facts["block"]);
  const std::int64_t takes = ceil_divide(blocks, facts["places"]) * facts["block"];
  if (takes != facts["expected"]) return cat("they take ", takes);
  return takes == facts["allocated"] ? "that is the allocation" : "";
}

Mistake allocates_another_shape(const Refused& refused, const Facts& facts) {
  const Numbers shape = facts.numbers("shape");
  const std::int64_t atom = std::max<std::int64_t>(product(refused.positions.tile), 1);
  // The last attempt is without tiles, where the elements are stored consecutively.
  if (product(shape) * atom != refused.positions.slots &&
      product(shape) != refused.positions.slots) {
    return cat(refused.positions.slots, " are allocated");
  }
  return shape == facts.numbers("expected_shape") ? "they are the same" : "";
}

Mistake divides_otherwise(const Refused& refused, const Facts& facts) {
  const std::size_t axis = facts.dim("axis");
  const Numbers& mesh = refused.positions.mesh;
  const std::int64_t places = axis < mesh.size() ? mesh[axis] : 1;
  if (places != facts["places"]) return cat("grid axis ", axis, " is ", places, " long");
  return facts["shard"] == facts["expected"] ? "they are the same" : "";
}

}  // namespace tessera::test
