// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/spyre/restickify.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/spyre/lines.h"
#include "tessera/notation/spyre/nests.h"

namespace tessera::notation {
namespace spyre {
namespace {

constexpr std::int64_t kMaxWalk = std::int64_t{1} << 18;
constexpr std::int64_t kStickBytes = 128;

/// One side of the change.
struct Side {
  Layout layout;
  DeviceLines device;
  std::int64_t sticks = 0;

  std::size_t rank() const { return device.device_size.size(); }
  /// The lines that some element moves along inside its stick.
  std::vector<const DeviceLine*> stick_lines() const {
    std::vector<const DeviceLine*> lines;
    for (const DeviceLine& line : device.lines) {
      const std::optional<std::size_t> stick = line.stick(rank());
      if (!stick) continue;
      std::int64_t left = line_extent(line.terms, device.shape);
      if (*stick > 0) left = std::min(left, line.digits[*stick - 1].width);
      if (left > line.digits[*stick].width) lines.push_back(&line);
    }
    return lines;
  }
};

Result<Side> side_of(SpyreLayout words, const Shape& shape, DType dtype) {
  words.cores.clear();
  TESSERA_TRY(Layout layout, lower(words, shape, dtype));
  TESSERA_TRY(DeviceLines device, device_lines(words, shape, dtype, Spans()));
  TESSERA_TRY(const std::int64_t sticks, covered_sticks(words, shape, dtype));
  return Side{std::move(layout), std::move(device), sticks};
}

/// Where an element is: its stick, and its lane inside it.
struct Lane {
  std::int64_t stick = 0;
  std::int64_t lane = 0;
};

Lane lane_of(const Side& side, const Index& index) {
  Place place;
  std::int64_t slot = 0;
  side.layout.form().evaluate(index, place, slot);
  const std::int64_t per_stick = side.device.device_size.back();
  return {slot / per_stick, slot % per_stick};
}

Error unaligned(const Side& from, const Side& to, const Index& index, std::size_t dim) {
  const Lane old_lane = lane_of(from, index);
  const Lane new_lane = lane_of(to, index);
  return Error{
      ErrorCode::kInvalidShape,
      cat("unaligned sticks along dim ", dim, ": element ", bracketed(index), " moves from lane ",
          old_lane.lane, " of stick ", old_lane.stick, " to lane ", new_lane.lane, " of stick ",
          new_lane.stick),
      std::nullopt,
      "a new stick must be an old one, or one lane of several; go through the host, or pad the "
      "dim so that its sticks are aligned"};
}

/// Only the lane of each element, as a function of a line that ends with the stick.
Form lane_form(const DeviceLine& line, const Shape& shape) {
  Form form;
  form.shape = shape;
  Fold fold;
  fold.terms = line.terms;
  for (const Digit& digit : line.digits) {
    fold.cuts.push_back({digit.width, digit.extent, Target::nothing(), 1});
  }
  fold.cuts.back().target = Target::memory();
  form.folds.push_back(std::move(fold));
  return form;
}

/// Whether sticks follow the same line on both sides.
bool same_line(const Side& from, const DeviceLine& a, const Side& to, const DeviceLine& b) {
  return a.terms == b.terms && *a.stick(from.rank()) + 1 == a.digits.size() &&
         *b.stick(to.rank()) + 1 == b.digits.size();
}

std::vector<std::size_t> dims_of(const std::vector<const DeviceLine*>& lines) {
  std::vector<std::size_t> dims;
  for (const DeviceLine* line : lines) {
    for (const Term& term : line->terms) dims.push_back(static_cast<std::size_t>(term.dim));
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

/// Visits every element along the dims that move inside sticks on either side. The other dims only
/// choose between sticks, in the same way for all elements of a stick.
Result<RestickifyKind> by_walk(const Side& from, const Side& to,
                               const std::vector<std::size_t>& dims) {
  const Shape& shape = from.device.shape;
  Checked elements = 1;
  for (const std::size_t dim : dims) elements *= shape[dim];
  if (elements.saturated() > kMaxWalk) {
    return Error{ErrorCode::kTooLarge,
                 cat("comparing the sticks of ", elements.saturated(), " elements of fused dims"),
                 std::nullopt, cat("at most ", kMaxWalk)};
  }
  // Where the first element of each stick is on the other side.
  std::map<std::int64_t, Lane> new_sticks;
  std::map<std::int64_t, Lane> old_sticks;
  bool keeps_lanes = true;
  bool moves = true;
  bool transposes = true;
  std::optional<Index> culprit;
  Index index(shape.rank(), 0);
  for (std::int64_t n = 0; n < elements.raw(); ++n) {
    const Lane old_lane = lane_of(from, index);
    const Lane new_lane = lane_of(to, index);
    keeps_lanes = keeps_lanes && old_lane.lane == new_lane.lane;
    if (old_lane.lane != new_lane.lane && !culprit) culprit = index;
    for (const bool side : {true, false}) {
      auto& sticks = side ? new_sticks : old_sticks;
      const Lane& here = side ? new_lane : old_lane;
      const Lane& there = side ? old_lane : new_lane;
      const Lane& first = sticks.try_emplace(here.stick, there).first->second;
      moves = moves && first.stick == there.stick;
      transposes = transposes && first.lane == there.lane;
    }
    for (std::size_t i = dims.size(); i-- > 0;) {
      if (++index[dims[i]] < shape[dims[i]]) break;
      index[dims[i]] = 0;
    }
  }
  if (keeps_lanes && moves) return RestickifyKind::kMove;
  if (transposes) return RestickifyKind::kTranspose;
  return unaligned(from, to, culprit.value_or(Index(shape.rank(), 0)), dims.back());
}

Result<RestickifyKind> kind_of(const Side& from, const Side& to) {
  const Shape& shape = from.device.shape;
  if (shape.empty()) return RestickifyKind::kNothing;
  TESSERA_TRY(const Comparison same, same_function(from.layout, to.layout));
  if (same.equal && from.layout.slots() == to.layout.slots()) return RestickifyKind::kNothing;
  const std::vector<const DeviceLine*> old_lines = from.stick_lines();
  const std::vector<const DeviceLine*> new_lines = to.stick_lines();
  if (new_lines.empty()) {
    return old_lines.empty() ? RestickifyKind::kMove : RestickifyKind::kSpread;
  }
  if (old_lines.empty()) {
    const std::size_t dim = dims_of(new_lines).back();
    return Error{ErrorCode::kNotSupported,
                 cat("a gather: from sparse sticks of one element each to sticks of ",
                     std::min(shape[dim], to.device.device_size.back()), " elements of dim ", dim),
                 std::nullopt, "go through the host, or keep the tensor sparse"};
  }
  const std::vector<std::size_t> old_dims = dims_of(old_lines);
  const std::vector<std::size_t> new_dims = dims_of(new_lines);
  std::vector<std::size_t> both;
  std::set_intersection(old_dims.begin(), old_dims.end(), new_dims.begin(), new_dims.end(),
                        std::back_inserter(both));
  if (both.empty()) return RestickifyKind::kTranspose;
  if (old_lines.size() == 1 && new_lines.size() == 1 &&
      same_line(from, *old_lines[0], to, *new_lines[0])) {
    // Along one line, elements that keep their lanes also keep their neighbours.
    TESSERA_TRY(const Comparison lanes,
                same_function(lane_form(*old_lines[0], shape), lane_form(*new_lines[0], shape)));
    if (lanes.equal) return RestickifyKind::kMove;
    return unaligned(from, to, *lanes.first_difference, new_dims.back());
  }
  std::vector<std::size_t> either;
  std::set_union(old_dims.begin(), old_dims.end(), new_dims.begin(), new_dims.end(),
                 std::back_inserter(either));
  return by_walk(from, to, either);
}

}  // namespace
}  // namespace spyre

Result<Restickify> restickify(const SpyreLayout& from, const SpyreLayout& to, const Shape& shape,
                              DType dtype) {
  TESSERA_TRY(const spyre::Side source, spyre::side_of(from, shape, dtype));
  TESSERA_TRY(const spyre::Side target, spyre::side_of(to, shape, dtype));
  Restickify result;
  TESSERA_TRY(result.kind, spyre::kind_of(source, target));
  if (result.kind == RestickifyKind::kNothing) return result;
  result.sticks_read = source.sticks;
  result.sticks_written = target.sticks;
  result.bytes_read = source.sticks * spyre::kStickBytes;
  result.bytes_written = target.sticks * spyre::kStickBytes;
  result.storage_bytes = target.layout.allocated_bytes();
  return result;
}

}  // namespace tessera::notation
