// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/ttnn/mesh.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/notation/raising/plain_memory.h"

namespace tessera::notation {
namespace {

Error cannot(Obstacle what, std::string_view help = "the native notation can") {
  return cannot_express("a mesh of TTNN tensors", std::move(what), help);
}

Status check_sayable(const LayoutSpec& spec) {
  const Shape& mesh = spec.form.mesh;
  if (mesh.rank() < 3) {
    return cannot(mesh_rank(cat("a mesh of rank ", mesh.rank()), mesh, 3, kMaxRank),
                  "devices, then a grid of rows and columns: rank 3 or more");
  }
  if (spec.device_map.kind() != DeviceMap::Kind::kIdentity) {
    return cannot(device_map(), "omit the device map");
  }
  for (const Fill& fill : spec.form.fills) {
    if (fill.kind == Fill::Kind::kPartial) return cannot(partial_result(fill), "divide a dim");
    if (fill.kind == Fill::Kind::kReplicate) return cannot(replicated(fill), "divide a dim");
    if (fill.value != 0) {
      return cannot(
          obstacle(why::kOneCoordinate, "all data on coordinate {coordinate} of mesh axis {axis}",
                   {fact("axis", fill.axis), fact("coordinate", fill.value)}),
          "divide a dim");
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
  const auto axis_obstacle = [&](std::string_view words, std::vector<Fact> more = {}) {
    std::vector<Fact> facts = {fact("axis", axis), fact("devices", devices)};
    facts.insert(facts.end(), more.begin(), more.end());
    return obstacle(why::kDeviceAxis, cat("axis {axis} of {devices} devices", words),
                    std::move(facts));
  };
  TESSERA_TRY(const Shape shape, Shape::make(extents));
  const auto line = std::find_if(lines.lines.begin(), lines.lines.end(), [&](const Line& each) {
    return reaches(each, shape, place_step);
  });
  if (line == lines.lines.end()) {
    return cannot(axis_obstacle(", which divides no dim"), "divide a leading dim over it");
  }
  if (line->terms.size() != 1 || line->terms[0].coef != 1 || line->start != 0) {
    return cannot(axis_obstacle(", which divides several dims together"), "divide one dim over it");
  }
  const int dim = line->terms[0].dim;
  const std::int64_t joined = place_step / line->cuts.front().move.place;
  const std::int64_t width = line->cuts.front().width * joined;  // less than the extent: it reaches
  std::int64_t& extent = extents[static_cast<std::size_t>(dim)];
  if (extent / width != devices || extent % width != 0) {
    return cannot(
        axis_obstacle(": d{dim} has {extent} elements, {per_device} per device",
                      {fact("dim", dim), fact("extent", extent), fact("per_device", width)}),
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
        return cannot(obstacle(why::kMixedStep, "a digit that moves places and slots at once"));
      }
      placed.target = Target::mesh(rows ? 0 : 1);
      placed.stride = rows ? cut.move.place / columns : cut.move.place;
      placed.cause = Cause::kGrid;
    } else if (cut.move.slot <= 0) {
      return cannot(obstacle(why::kRunsDownward, "dim {dim} running backwards",
                             {fact("dim", line.terms.front().dim)}));
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
    return cannot(obstacle(why::kFirstPlace, "data that begin on place {place} of the mesh",
                           {fact("place", mesh.delinear(lines.base.place))}),
                  "start them on the first device");
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
