// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/place_array.h"

#include <utility>
#include <vector>

namespace tessera::device {
namespace {

/// How far apart places are along each axis of a mesh, in bytes: 0 where an axis has one place.
std::optional<std::vector<std::int64_t>> steps_between(const PinnedBuffer& buffer,
                                                       const Shape& mesh) {
  const std::vector<std::int64_t> strides = mesh.row_major_strides();
  const std::byte* const first = buffer.address(0);
  std::vector<std::int64_t> steps(mesh.rank(), 0);
  for (std::size_t a = 0; a < mesh.rank(); ++a) {
    if (mesh[a] > 1) steps[a] = buffer.address(strides[a]) - first;
  }
  Place place(mesh.rank(), 0);
  for (std::int64_t number = 0; number < mesh.elements(); ++number, mesh.next(place)) {
    std::int64_t expected = 0;
    for (std::size_t a = 0; a < mesh.rank(); ++a) expected += place[a] * steps[a];
    if (buffer.address(number) - first != expected) return std::nullopt;
  }
  return steps;
}

/// A mesh on which places that follow each other are equally many slots apart.
struct WideMesh {
  std::vector<std::int64_t> extents;
  std::int64_t place_slots = 0;
};

std::optional<WideMesh> widened(const Shape& mesh, const std::vector<std::int64_t>& steps,
                                std::int64_t slots, std::int64_t element_bytes) {
  WideMesh wide{mesh.extents(), slots};
  std::optional<std::size_t> below;  // the axis whose steps are the next smaller ones
  for (std::size_t a = mesh.rank(); a-- > 0;) {
    if (mesh[a] == 1) continue;
    const std::int64_t unit = below ? steps[*below] : element_bytes;
    const std::int64_t least = below ? mesh[*below] : slots;
    if (steps[a] <= 0 || steps[a] % unit != 0 || steps[a] / unit < least) return std::nullopt;
    (below ? wide.extents[*below] : wide.place_slots) = steps[a] / unit;
    below = a;
  }
  return wide;
}

/// The same program with one side as an array without places.
relayout::Program flattened(relayout::Program program, Position PositionPair::* side,
                            std::int64_t place_slots) {
  const auto flatten = [&](PositionPair& pair) {
    Position& at = pair.*side;
    at = Position{0, at.place} * place_slots + Position{0, at.slot};
  };
  for (Refinement& copy : program.copies) {
    PositionPair base = copy.base();
    flatten(base);
    std::vector<Factor> factors = copy.factors();
    for (Factor& factor : factors) {
      for (Piece& piece : factor.pieces) {
        flatten(piece.at);
        for (Loop& loop : piece.loops) flatten(loop.move);
      }
    }
    const bool is_a = side == &PositionPair::a;
    copy = Refinement(copy.shape(), is_a ? Shape() : copy.mesh_a(), is_a ? copy.mesh_b() : Shape(),
                      base, std::move(factors));
  }
  return program;
}

}  // namespace

Result<Placement> with_changed_layouts(const Placement& placement,
                                       const std::function<void(LayoutSpec&)>& change) {
  const auto changed = [&](const Layout& layout) {
    LayoutSpec spec = layout.spec();
    spec.slots = layout.slots();
    change(spec);
    return Layout::make(std::move(spec));
  };
  if (const Layout* layout = placement.layout()) {
    TESSERA_TRY(Layout made, changed(*layout));
    return Placement(std::move(made));
  }
  const Piecewise* const parts = placement.pieces();
  if (parts == nullptr) {
    return Error{ErrorCode::kNotSupported, "a view has no layout that could be changed"};
  }
  std::vector<LayoutPiece> pieces;
  for (const LayoutPiece& piece : parts->pieces()) {
    TESSERA_TRY(Layout made, changed(piece.layout));
    pieces.push_back({piece.box, std::move(made)});
  }
  TESSERA_TRY(Piecewise all, Piecewise::by_rule(placement.shape(), std::move(pieces)));
  return Placement(std::move(all));
}

std::optional<PlaceArray> PlaceArray::find(const PinnedBuffer& buffer, const Placement& placement) {
  const std::optional<std::int64_t> bits = dtype_bits(placement.atom().storage);
  const Shape& mesh = placement.mesh();
  if (!bits || *bits < 8 || mesh.elements() == 0) return std::nullopt;
  const std::int64_t width = *bits / 8;
  const auto steps = steps_between(buffer, mesh);
  if (!steps) return std::nullopt;
  const auto wide = widened(mesh, *steps, placement.slots(), width);
  if (!wide) return std::nullopt;
  const Result<Shape> wide_mesh = Shape::make(wide->extents);
  if (!wide_mesh) return std::nullopt;
  Result<Placement> widened_placement = with_changed_layouts(placement, [&](LayoutSpec& spec) {
    spec.form.mesh = *wide_mesh;
    spec.device_map = DeviceMap::identity();
    spec.padding = PaddingValue::undef();
    spec.slots = wide->place_slots;
  });
  if (!widened_placement) return std::nullopt;
  PlaceArray made;
  made.placement_ = *std::move(widened_placement);
  made.place_slots_ = wide->place_slots;
  const std::int64_t last = buffer.address(mesh.elements() - 1) - buffer.address(0);
  made.memory_ = {Shape(), last / width + placement.slots(), placement.atom(),
                  last + placement.slots() * width};
  return made;
}

Result<relayout::Program> PlaceArray::from_host(const Placement& host) const {
  TESSERA_TRY(relayout::Program program,
              relayout::make_program(host, *placement_, relayout::PaddingRule::kLeave));
  program = flattened(std::move(program), &PositionPair::b, place_slots_);
  program.to = memory_;
  return program;
}

Result<relayout::Program> PlaceArray::to_host(const Placement& host) const {
  TESSERA_TRY(relayout::Program program,
              relayout::make_program(*placement_, host, relayout::PaddingRule::kLeave));
  program = flattened(std::move(program), &PositionPair::a, place_slots_);
  program.from = memory_;
  return program;
}

}  // namespace tessera::device
