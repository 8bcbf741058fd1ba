// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/metal/form.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::notation {

std::int64_t tile_extent(const Atom& element, std::size_t line, std::size_t lines) {
  if (line + 1 == lines) return element.cols;
  return line + 2 == lines ? element.rows : 1;
}

std::string counted(std::size_t count, std::string_view noun) {
  return cat(count, " ", noun, count == 1 ? "" : "s");
}

std::string say_shape(const std::vector<std::int64_t>& extents) {
  return extents.empty() ? "a scalar" : join(extents, "x");
}

Result<LayoutSpec> metal_spec(const Shape& shape, DType dtype, const Atom& element,
                              const std::vector<MetalLine>& lines, Cause past_the_end) {
  LayoutSpec spec;
  spec.form.shape = shape;
  spec.dtype = dtype;
  spec.atom = element;
  std::vector<std::int64_t> grid;
  for (const MetalLine& line : lines) grid.push_back(line.grid);
  TESSERA_TRY(spec.form.mesh, Shape::make(std::move(grid)));
  spec.form.folds.resize(lines.size());
  // Row-major: the last line moves by single atoms, and each line before it by all atoms of the
  // lines after it.
  Checked stride = element.elements();
  for (std::size_t axis = lines.size(); axis-- > 0;) {
    const MetalLine& line = lines[axis];
    TESSERA_TRY(const std::int64_t atom_stride, stride.value("the slots of a place"));
    std::vector<Cut> cuts = {{std::max<std::int64_t>(line.shard, 1), line.grid,
                              Target::mesh(static_cast<int>(axis)), 1, past_the_end}};
    if (line.tile > 1) {
      const std::int64_t inside = axis + 1 == lines.size() ? 1 : element.cols;
      cuts.push_back({line.tile, line.atoms, Target::memory(), atom_stride, Cause::kTile});
      cuts.push_back({1, line.tile, Target::memory(), inside, Cause::kTile});
    } else {
      cuts.push_back({1, line.atoms, Target::memory(), atom_stride, past_the_end});
    }
    TESSERA_TRY(spec.form.folds[axis], fold_of(line.value, shape, std::move(cuts)));
    // An empty line must not make the stride of the other lines 0.
    stride *= std::max<std::int64_t>(line.atoms, 1);
  }
  TESSERA_TRY(const std::int64_t slots, stride.value("the slots of a place"));
  const bool empty = std::any_of(lines.begin(), lines.end(),
                                 [](const MetalLine& line) { return line.atoms == 0; });
  spec.slots = empty ? 0 : slots;
  return spec;
}

}  // namespace tessera::notation
