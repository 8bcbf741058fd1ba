// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/ttnn/mesh.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/lines.h"

namespace tessera::notation {
namespace {

Error cannot_say(std::string what, std::string help) {
  return Error{ErrorCode::kNotSupported, cat("a mesh of TTNN tensors cannot say ", what),
               std::nullopt, std::move(help)};
}

Status check_sayable(const LayoutSpec& spec) {
  const Shape& mesh = spec.form.mesh;
  if (mesh.rank() < 3) {
    return cannot_say(cat("a mesh of rank ", mesh.rank()),
                      "devices, then a grid of rows and columns: rank 3 or more");
  }
  if (spec.device_map.kind() != DeviceMap::Kind::kIdentity) {
    return cannot_say("a device map", "leave the device map out");
  }
  for (const Fill& fill : spec.form.fills) {
    if (fill.kind != Fill::Kind::kFixed || fill.value != 0) {
      return cannot_say("replicas, partial results or fixed places", "divide a dim instead");
    }
  }
  return ok_status();
}

/// Whether the first digit of a line reaches as far as `place_step`. It may be joined with digits
/// on later axes: 12 elements, 6 per device and 3 per row of its grid, are one digit of width 3.
bool reaches(const Line& line, const Shape& shape, std::int64_t place_step) {
  const Position move = line.cuts.front().move;
  if (move.slot != 0 || move.place < 1 || place_step % move.place != 0) return false;
  const Fold fold{line.terms, line.start, {{line.cuts.front().width, 1}, {1, 1}}};
  return fold.needed(shape).front() > place_step / move.place;
}

/// Removes an axis of devices from the lines: its dim is reduced to the part of one device.
Result<int> take_device_axis(Lines& lines, std::vector<std::int64_t>& extents, int axis,
                             std::int64_t devices, std::int64_t place_step) {
  const std::string where = cat("axis ", axis, " of ", devices, " devices");
  TESSERA_TRY(const Shape shape, Shape::make(extents));
  const auto line = std::find_if(lines.lines.begin(), lines.lines.end(), [&](const Line& each) {
    return reaches(each, shape, place_step);
  });
  if (line == lines.lines.end()) {
    return cannot_say(cat(where, ", which divides no dim"), "divide a leading dim over it");
  }
  if (line->terms.size() != 1 || line->terms[0].coef != 1 || line->start != 0) {
    return cannot_say(cat(where, ", which divides several dims together"),
                      "divide one dim over it");
  }
  const int dim = line->terms[0].dim;
  const std::int64_t joined = place_step / line->cuts.front().move.place;
  const std::int64_t width = line->cuts.front().width * joined;  // less than the extent: it reaches
  std::int64_t& extent = extents[static_cast<std::size_t>(dim)];
  if (extent / width != devices || extent % width != 0) {
    return cannot_say(cat(where, ": d", dim, " has ", extent, " elements, ", width, " a device"),
                      "devices hold equal tensors: pad the dim, or use a divisor of it");
  }
  extent = width;
  if (joined == 1) line->cuts.erase(line->cuts.begin());
  if (line->cuts.empty()) lines.lines.erase(line);
  return dim;
}

/// A line on one device as a fold. A step is along the rows of the grid, its columns, or slots.
Result<Fold> fold_of_line(const Line& line, const Shape& shape, std::int64_t columns) {
  Fold fold{line.terms, line.start, {}};
  for (const LineCut& cut : line.cuts) {
    Cut placed{cut.width, 1, Target::memory(), cut.move.slot, Cause::kAlignment};
    if (cut.move.place != 0) {
      const bool rows = cut.move.place % columns == 0;
      if (cut.move.slot != 0 || cut.move.place < 0) {
        return cannot_say("a digit that moves places and slots at once", "the native notation can");
      }
      placed.target = Target::mesh(rows ? 0 : 1);
      placed.stride = rows ? cut.move.place / columns : cut.move.place;
      placed.cause = Cause::kGrid;
    } else if (cut.move.slot <= 0) {
      return cannot_say("a line that runs backward", "the native notation can");
    }
    fold.cuts.push_back(placed);
  }
  const std::vector<std::int64_t> needed = fold.needed(shape);
  for (std::size_t i = 0; i < needed.size(); ++i) fold.cuts[i].count = needed[i];
  return fold;
}

}  // namespace

Result<TtnnMesh> raise_ttnn_mesh(const Layout& layout) {
  TESSERA_CHECK_OK(check_sayable(layout.spec()));
  const Shape& mesh = layout.mesh();
  const std::size_t axes = mesh.rank() - 2;
  TESSERA_TRY(Lines lines, canonical(layout.form()));
  if (lines.base.place != 0) {
    return cannot_say("data that do not start on the first device", "start them there");
  }
  TtnnMesh result;
  std::vector<std::int64_t> extents = layout.shape().extents();
  const std::vector<std::int64_t> steps = mesh.row_major_strides();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    result.devices.push_back(mesh[axis]);
    result.dims.push_back(-1);
    if (mesh[axis] == 1) continue;
    TESSERA_TRY(result.dims.back(),
                take_device_axis(lines, extents, static_cast<int>(axis), mesh[axis], steps[axis]));
  }
  TESSERA_TRY(result.shape, Shape::make(std::move(extents)));
  LayoutSpec spec = layout.spec();
  spec.slots = layout.slots();
  spec.form = Form{};
  spec.form.shape = result.shape;
  TESSERA_TRY(spec.form.mesh, Shape::make({mesh[axes], mesh[axes + 1]}));
  spec.form.offset = lines.base.slot;
  for (const Line& line : lines.lines) {
    TESSERA_TRY(Fold fold, fold_of_line(line, result.shape, mesh[axes + 1]));
    spec.form.folds.push_back(std::move(fold));
  }
  for (int axis = 0; axis < 2; ++axis) {
    const bool used =
        std::any_of(spec.form.folds.begin(), spec.form.folds.end(), [&](const Fold& fold) {
          return std::any_of(fold.cuts.begin(), fold.cuts.end(),
                             [&](const Cut& cut) { return cut.target == Target::mesh(axis); });
        });
    if (!used) spec.form.fills.push_back(Fill::fixed(axis, 0));
  }
  TESSERA_TRY(const Layout device, Layout::make(std::move(spec)));
  TESSERA_TRY(result.layout, raise_ttnn(device));
  return result;
}

}  // namespace tessera::notation
