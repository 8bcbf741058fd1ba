// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/pyflame/ir_graph.h"
#include "tessera/pyflame/mesh_layout.h"
#include "tessera/target/machine.h"

namespace tessera::pyflame {

/// What a planned layout has to observe. Figures that are not given are those of the machine.
struct LayoutConstraints {
  std::optional<std::size_t> max_memory_per_pe = {};  ///< bytes; else the data budget
  std::size_t min_tile_elements = 64;                 ///< of every tile, if there are several
  std::optional<std::int32_t> max_pe_rows = {};       ///< else those of the innermost mesh
  std::optional<std::int32_t> max_pe_cols = {};
  bool prefer_square_tiles = true;  ///< else only memory counts in a score
};

/// Chooses layouts: for one tensor by a score, for a graph by what plan/model/ predicts.
///
///     const LayoutPlanner planner;                                          // wse2
///     planner.plan_layout({1048, 1024}, DType::kF32);                       // a grid of PEs
///     planner.plan_layout({8388608}, DType::kF32);                          // dim_to_pe=[[0, 1]]
class LayoutPlanner {
 public:
  /// For wse2.
  explicit LayoutPlanner(LayoutConstraints constraints = {});
  LayoutPlanner(const LayoutConstraints& constraints, Machine machine);

  /// SinglePE if the tensor fits there, else the layout with the best score of all that are valid:
  /// every grid of PEs, any dim on the rows and any other on the columns, or one dim over both. Of
  /// equal scores the one with fewer PEs, then the first: dim after dim, on the rows alone, on the
  /// columns alone, over both, and with another dim. kDoesNotFit if none is valid.
  Result<MeshLayout> plan_layout(const std::vector<std::int64_t>& shape, DType dtype) const;

  /// A layout for the result of every node, chosen together: those of plan::plan_model. Where that
  /// is not valid, or PyFlame cannot express it, the node has the layout of plan_layout and the
  /// others are planned again. Errors: those of Graph::lower, plan_model and plan_layout.
  Result<std::map<ir::NodeId, MeshLayout>> plan_graph_layouts(const ir::Graph& graph) const;

  /// Whether the tensor fits this layout, the layout the wafer, its tile the memory of a PE, and no
  /// tile is smaller than it may be. check_layout says what is wrong: kOutOfRange, kDoesNotFit, or
  /// an error of the layout itself.
  bool validate_layout(const MeshLayout& layout, const std::vector<std::int64_t>& shape,
                       DType dtype) const {
    return check_layout(layout, shape, dtype).ok();
  }
  Status check_layout(const MeshLayout& layout, const std::vector<std::int64_t>& shape,
                      DType dtype) const;

  /// The fewest PEs of a valid layout, of those that plan_layout looks at. kDoesNotFit.
  Result<std::int64_t> min_pes_required(const std::vector<std::int64_t>& shape, DType dtype) const;

  /// How good a layout is, lower is better: the part of a PE's memory that its tile leaves over,
  /// and for square tiles |log(rows / columns)| of the tile. Its rows are the dim on the PE rows,
  /// its columns that on the PE columns; for a PE axis without a dim the longest local one.
  /// Example: [64, 32] f32 on one PE of 36 KB: (1 - 8192 / 36864) + log 2.
  Result<double> score_layout(const MeshLayout& layout, const std::vector<std::int64_t>& shape,
                              DType dtype) const;

  const Machine& machine() const { return machine_; }

 private:
  std::int64_t max_rows() const;
  std::int64_t max_cols() const;
  Result<std::int64_t> budget() const;

  LayoutConstraints constraints_;
  Machine machine_;
};

/// The layout of an input with which the op of a node, each PE on what it has, makes its result in
/// this layout: ops::propagate, asked backwards. kNotSupported where the op cannot, or where
/// PyFlame cannot express it.
/// Example: MATMUL with a result on Grid(r, c): the rows of A over the PE rows, replicated along
/// the PE columns; the columns of B over the PE columns, replicated along the PE rows.
Result<MeshLayout> get_required_input_layout(const ir::Node& node, std::size_t input,
                                             const MeshLayout& output_layout);

/// Gives every node its layout and inserts a LAYOUT_TRANSFORM before each input that is in another
/// layout than its op requires; consumers that require the same layout share one. Its metadata
/// "transform_type" is the TransformType. An op that cannot make its result in the layout that its
/// node should have makes it in one that it can: the one that follows from inputs as they are, or
/// from those that have to change least, or a single PE. That is then the layout of the node, and
/// where the graph gives it as an output a transform takes it to the layout that was asked for.
/// Returns how many transforms were inserted. On an error (those of get_required_input_layout;
/// kBadGraph for a cycle or a node without a layout) the graph stays as it was.
/// Law: afterwards every input of every op is in the layout that it requires, and every output in
/// the layout that was asked for.
Result<std::size_t> insert_transforms(ir::Graph& graph,
                                      const std::map<ir::NodeId, MeshLayout>& target_layouts);

}  // namespace tessera::pyflame
