// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/auto_layout.h"

#include <optional>

#include "tessera/base/text.h"
#include "tessera/run/default_layouts.h"

namespace tessera::frontend {
namespace {

constexpr std::int64_t kTileElements = 4096;
constexpr std::size_t kGridRank = 2;

pyflame::MeshLayout grid_of(const graph::TensorType& type, std::int32_t rows, std::int32_t cols) {
  if (rows == 1 && cols == 1) return pyflame::MeshLayout::SinglePE();
  pyflame::MeshLayout layout = pyflame::MeshLayout::Grid(rows, cols);
  const std::size_t rank = type.shape.rank();
  if (rank == kGridRank) return layout;
  // The last dim is along the columns and the one before along the rows.
  layout.dim_to_pe.assign(rank, -1);
  layout.dim_to_pe[rank - 1] = 1;
  if (rank > kGridRank) layout.dim_to_pe[rank - kGridRank] = 0;
  return layout;
}

}  // namespace

Result<pyflame::MeshLayout> auto_layout(const graph::TensorType& type, const Machine& machine) {
  if (machine.shape().rank() != kGridRank) {
    return Error{ErrorCode::kNotSupported,
                 cat(machine.name, " has a mesh of ", machine.shape().rank(), " axes"),
                 std::nullopt, "name a machine that is a grid of PEs, such as wse2"};
  }
  const graph::Value value{"tensor", type, graph::Kind::kComputed, {}};
  TESSERA_TRY(const Layout layout, run::default_layout(value, machine, kTileElements));
  const std::optional<std::int64_t> most = machine.default_space().data_bytes();
  if (most && layout.shard_bytes() > *most) {
    return Error{ErrorCode::kDoesNotFit,
                 cat(type.to_string(), " in tiles of ", layout.shard_bytes(), " bytes on ",
                     layout.mesh().to_string(), " PEs: a PE has ", *most, " for data"),
                 std::nullopt, "reshape it, so that two long dims can be divided"};
  }
  return grid_of(type, static_cast<std::int32_t>(layout.mesh()[0]),
                 static_cast<std::int32_t>(layout.mesh()[1]));
}

}  // namespace tessera::frontend
