// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"
#include "tessera/run/local_boxes.h"
#include "tessera/target/machine.h"

/// run/: carries out a graph on a device. In: a graph, a layout for each of its values, a machine;
/// elements for its inputs. Out: the elements of its outputs, what moved, and what each place
/// needed of its memory. It chooses no layouts but a simple default, and computes only with
/// kernels/.
namespace tessera::run {

// clang-format off
// =================================================================================================
// What an execution is
//
// A graph with a layout per value becomes a list of steps, one per node. Nothing in a step is
// particular to an op: everything follows from its loops (ops/loops.h) and from a division of the
// work that follows the layouts of its outputs first, then those of its inputs (ops/divide_like.h).
//
//   bring     Each operand is read where it is, if its layout has on every place what the place
//             reads. Otherwise it is moved to a buffer that has (ops/layouts_for.h), and under
//             windows to one with halos around the blocks (ops/halo_exchange.h).
//   compute   Every place that has work runs a kernel on its iterations. Places that divide a
//             reduced factor leave shares; those without iterations leave neutral elements.
//   settle    Where the outputs are not yet as their layouts say, they are moved there, and shares
//             are combined in their order. Shares of narrow floats are kept as f32 until then, and
//             rounded where kernels run before they are delivered to another memory.
//
// Kernels stop at extents, so padding is never read, and needs no number.
//
// Values may be stored as another float type than their own, such as the block floats of a tile:
// kernels unpack what they read of them and pack what they make. What has to move is unpacked first,
// in the memory where it is.
//
// Each buffer has a lifetime in moments (step k has the moments 4k to 4k + 3: bring, compute, move,
// retype), a box of places that have memory for it, and an offset that is the same on all of them.
// Buffers that are on no place together may have the same bytes. The offsets are planned before
// anything runs: an execution that does not fit is an error, which names the place, the moment and
// the tensors.
//
// Worked example: y = matmul(x, w) with x, w and y on Grid(2, 2). The work is divided as y is: i by
// 2 rows of places, j by 2 columns.
//     bring     x -> rows on mesh rows, replicated along mesh columns;  w -> columns, replicated
//     compute   4 places, each [i/2, k]·[k, j/2], into y
//     settle    nothing
// If two operands of k columns and rows do not fit a place, the work is divided as the largest
// operand is, which then stays where it is; if that does not fit either, k is cut into 2, 4, 8, ..
// panels. The sum over a panel is added to that of those before: results depend on the number of
// panels, which is part of the step, and not on threads. Of an operand that is only read in part,
// as by slice, no more than that part is brought then.
// With y on a single place and x cut by columns over 4 places, k is divided: every place computes a
// share of all of y, and settle sums the 4 shares on that place.
// =================================================================================================
// clang-format on

using BufferNumber = std::size_t;

/// Memory for a tensor, on the places of the mesh that have a part of it, and those between them.
struct Buffer {
  std::string name;
  Layout layout;  ///< on the mesh of the execution
  std::string space;
  std::int64_t from = 0;    ///< the first moment at which it is needed
  std::int64_t to = 0;      ///< one past the last
  std::int64_t bytes = 0;   ///< on each part of the memory
  std::int64_t offset = 0;  ///< in its memory
  Box places = {};          ///< coordinates; in a memory of places, only these have it
};

/// Elements [start, start + count) of a dim.
struct Slice {
  std::size_t dim = 0;
  std::int64_t start = 0;
  std::int64_t count = 0;
};

/// A reshard between buffers, or between parts of them.
struct Move {
  BufferNumber from = 0;
  BufferNumber to = 0;
  std::optional<Placement> from_part = {};
  std::optional<Placement> to_part = {};
  std::optional<Slice> slice = {};  ///< of the source, which becomes the first of the destination
};

/// Elements of one type become those of another. Both buffers have the same places and slots.
struct Retype {
  BufferNumber from = 0;
  BufferNumber to = 0;
};

/// Where the places find what they read of an input.
struct OperandSource {
  BufferNumber buffer = 0;
  std::shared_ptr<const Extended> extended = nullptr;  ///< null: as the buffer's layout says
  /// Of an operand that is brought in panels: the dim that they cut. Even panels are in `buffer`,
  /// odd ones in `second`.
  std::optional<std::size_t> panel_dim = {};
  BufferNumber second = 0;
  /// Of an operand of which only a part is brought: that part, from which the buffer begins.
  std::optional<Slice> part = {};
};

/// A sum that is taken part by part, so that a place needs only a panel of each operand at a time:
/// C[i, j] = Σ over panels p of (Σ over the k of p: A[i, k]·B[k, j]), panel after panel. Operands
/// have room for two panels: while one is read, the next one arrives.
struct Panels {
  /// An operand, and the layout in which it would be brought as a whole.
  struct Operand {
    BufferNumber source = 0;
    Layout whole;
  };
  std::size_t factor = 0;   ///< in loops.factors: reduced, and divided over no places
  std::int64_t length = 0;  ///< values of the factor in each panel but perhaps the last
  std::vector<std::vector<Move>> bring = {};  ///< per panel, in their order
  std::vector<Operand> operands = {};
};

/// What is done for one node.
struct Step {
  std::size_t node = 0;  ///< in graph.nodes
  ops::Loops loops;
  ops::WorkMap work;
  Layout iterations;                  ///< the work map as a layout
  std::vector<Retype> unpack = {};    ///< operands that are stored as another type and have to move
  std::vector<Move> bring = {};       ///< after that
  std::optional<Panels> panels = {};  ///< further operands are brought while kernels run
  std::vector<std::optional<OperandSource>> inputs = {};  ///< empty where an input is not read
  std::vector<BufferNumber> results = {};                 ///< where kernels leave what they make
  std::vector<Move> settle = {};
  std::vector<Retype> retype = {};  ///< after these moves
  std::vector<Move> deliver = {};   ///< at last: to memories other than that of kernels
};

/// What the execution needs of one memory.
struct SpaceNeed {
  std::string space;
  std::int64_t peak_bytes = 0;   ///< of each part
  std::int64_t lower_bound = 0;  ///< no plan needs less
  std::optional<std::int64_t> capacity_bytes = {};
};

struct Execution {
  graph::Graph graph;
  Machine machine;
  Shape mesh;                   ///< of all buffers: coordinates of the machine
  std::vector<Buffer> buffers;  ///< buffer v is value v of the graph; others follow
  std::vector<Step> steps;
  std::vector<SpaceNeed> spaces;
};

/// How a step is made.
struct StepChoice {
  /// The work, if it is not given, follows the largest operand first, which then stays where it is,
  /// and not the outputs.
  bool largest_first = false;
  std::int64_t panels = 1;  ///< into which a sum is cut, where one can be
  /// An operand that has to move is brought without the elements of a dim before the first and
  /// after the last that is read. Such a move has no price where a memory is in banks.
  bool parts = false;
};

struct CompileOptions {
  /// Positions in graph.nodes, in the order in which they run; empty: as they are.
  std::vector<std::size_t> order = {};
  /// By position in graph.nodes: how its work is divided over places, on a mesh of the machine's
  /// rank; empty: as its operands are.
  std::vector<std::optional<ops::WorkMap>> work = {};
  /// By position in graph.nodes; empty: what fits, as fitting_step.h says, and no panels where work
  /// is given.
  std::vector<std::optional<StepChoice>> choices = {};
  /// False: a step whose operands do not fit a place as its outputs are divided is kDoesNotFit.
  bool may_divide_otherwise = true;
  /// False: offsets are left to plan_memory (memory_plan.h), and nothing says whether it fits.
  bool offsets = true;
};

/// Plans the execution of a graph with these layouts, one per value. Layouts may be on meshes of
/// their own (common_mesh.h); values whose layout names no memory are in the machine's data_space.
/// Errors name the value or the node: kShapeMismatch and kBadDType for a layout of another tensor;
/// those of on_coordinates; kNotSupported for an op without a kernel, and for elements that are not
/// floats of at most 32 bits, or are shares, and are stored as another type; kUnknownName for a
/// memory that the machine does not have; kBadGraph for an order in which nodes cannot run;
/// kMeshMismatch, kMeshTooSmall and kNotSupported for work that the machine or the op cannot have;
/// kDoesNotFit.
Result<Execution> compile(const graph::Graph& graph, const Machine& machine,
                          const std::vector<Layout>& layouts, const CompileOptions& options = {});

}  // namespace tessera::run
