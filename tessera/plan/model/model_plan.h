// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/regions.h"
#include "tessera/ops/work_map.h"
#include "tessera/run/execution.h"
#include "tessera/target/machine.h"

/// plan/model/: how a whole model runs on a machine. In: a graph, a machine, layouts that are
/// pinned. Out: a plan, which says how the work of each op is divided over places and where each
/// value is stored, what that takes, and how far from the best it can be. It may not touch files,
/// know notations, or have a cost of its own: every price is that of run/, which carries plans out.
namespace tessera::plan {

// clang-format off
// =================================================================================================
// What a plan decides, and why pairs of decisions are enough
//
// There are two kinds of decisions: a *work map* for each op, and a *stored layout* (with its
// memory) for each value. An op is a step of run/execution.h, and its three phases each depend on
// one pair of decisions, or on a single one:
//
//     bring     of an input:    the work map of the op and the layout of that value
//     compute                   the work map
//     settle    of an output:   the work map and the layout of that value
//
// So the cycles of a plan, one op after the other, are a sum over nodes and edges of a graph of
// decisions:
//
//     x: layout ---- bring ---- matmul: work ---- settle ---- h: layout ---- bring ---- relu: work ..
//     w: layout ---- bring ------'
//
// which is what plan/choose/ solves, with a proven bound. A value that several ops read is stored
// once, so one move serves all of them if the layout suits them all. Other memories (banks, host)
// are layouts too: a value that is kept there is brought each time it is read.
//
// The law: the cycles of a plan are what run::predict says of run::compile with the plan's layouts
// and work. The sum of prices and the prediction of the whole are different computations, and tests
// compare them.
//
// Candidates (candidates.h) come from the loops of each op: mesh axes of the machine drive factors,
// on grids of several sizes, and values may be where some op around them makes or reads them. What
// the simple default of run/ chooses is always a candidate, if it fits.
//
// Memory: choose/ keeps the values that are live at a moment within the memory of a place. Copies
// that a step needs for itself depend on three decisions or more, so they come from the finished
// choice: if run/ finds no offsets, each op's work maps are charged the copies that they need beside
// the layouts as chosen, and the choice is made again, until it fits or nothing fits.
//
// Worked example: y = relu(matmul(x, w)), f32 [32, 1024]·[1024, 512] on wse2. The matmul divided as
// i over axis 0 and j over axis 1 needs x by rows, replicated along axis 1. x is an input, which is
// written in any layout, so x is stored that way if it fits: 32 rows of places, 4096 bytes each.
// h is made in blocks, and relu runs on the same blocks: no moves at all.
// =================================================================================================
// clang-format on

enum class Objective : std::uint8_t {
  kTime,    ///< the fewest cycles within the memory
  kMemory,  ///< the least memory per place that the values need, then the fewest cycles
};

struct PlanOptions {
  Objective objective = Objective::kTime;
  /// Per value of the graph: a layout that it must have. Empty: none at all.
  std::vector<std::optional<Layout>> pins = {};
  double seconds = 10;              ///< for choices; the search ends after this time,
  double enough_gap = 0.001;        ///< or with a choice that is proven to be this near the best
  std::int64_t rounds = INT64_MAX;  ///< of choose/: the same plan on every machine
  std::uint64_t seed = 1;
  int threads = 2;
  std::size_t most_work = 20;     ///< work maps of an op
  std::size_t most_layouts = 16;  ///< layouts of a value
  /// Per node of the graph: work maps that are considered besides. Empty: none at all.
  std::vector<std::vector<ops::WorkMap>> more_work = {};
};

/// Another work map for an op, with everything else as it is.
struct RunnerUp {
  std::string work;        ///< as PlannedOp::work_text
  double more_cycles = 0;  ///< that the whole plan would take
};

/// A move of a step.
struct PlannedMove {
  std::string from;  ///< names of buffers
  std::string to;
  std::string algorithm;  ///< of the exchange; "copy" for a move inside places
  std::optional<double> cycles;
};

struct PlannedOp {
  std::size_t node = 0;  ///< in graph.nodes
  std::optional<ops::WorkMap> work;
  std::string work_text;  ///< "i/32 on axis 0, j/16 on axis 1"; "one place"
  double bring_cycles = 0;
  double compute_cycles = 0;
  double settle_cycles = 0;
  std::vector<PlannedMove> moves;
  std::optional<RunnerUp> runner_up;

  double cycles() const { return bring_cycles + compute_cycles + settle_cycles; }
};

/// Memory that the plan uses: of a value, or a copy that a step needs.
struct PlannedBuffer {
  std::string name;
  std::string space;
  std::int64_t from = 0;  ///< the first moment at which it is needed (run/execution.h)
  std::int64_t to = 0;    ///< one past the last
  std::int64_t bytes = 0;
  std::int64_t offset = 0;  ///< the same in each part of the memory
  Box places = {};  ///< the coordinates whose places have it; without axes, all parts have it
};

/// What another way of planning takes; empty where it cannot be carried out or priced.
struct Baseline {
  std::string name;  ///< "max_grid", "each_op_alone", "greedy_forward"
  std::optional<double> cycles;
};

/// How a model runs on a machine. A value; the execution follows from it (execution_of).
struct ModelPlan {
  std::string model_hash;       ///< of the graph (graph::hash)
  std::string target;           ///< the name of the machine
  std::string target_hash;      ///< of its description
  std::vector<Layout> layouts;  ///< per value, each with its memory
  std::vector<PlannedOp> ops;   ///< in the order in which they run
  double cycles = 0;            ///< of all ops, one after the other, and the gaps between them
  std::optional<double> seconds;
  /// No plan of these candidates takes fewer cycles; of Objective::kTime.
  double lower_bound_cycles = 0;
  double gap = 0;  ///< (cycles - lower_bound_cycles) / cycles
  bool is_optimal = false;
  std::vector<PlannedBuffer> buffers;  ///< buffer v is that of value v; copies follow
  std::vector<run::SpaceNeed> spaces;
  std::int64_t moves = 0;
  std::int64_t moved_bytes = 0;  ///< that cross between places or memories
  std::vector<Baseline> baselines;
  /// Figures that the machine lacks and that were assumed.
  std::vector<std::string> assumed;
  std::int64_t work_candidates = 0;  ///< of all ops
  std::int64_t layout_candidates = 0;
  std::int64_t moves_priced = 0;   ///< different ones
  std::int64_t memory_rounds = 1;  ///< choices that were made until one fitted
  double plan_seconds = 0;
};

/// Plans a model. Every plan that is returned fits: run::compile has found its offsets.
/// Errors: those of graph::check and Machine::check; kNotSupported for ops that run/ cannot carry
/// out, all of them by name; kShapeMismatch, kBadDType and those of on_coordinates for pins, by the
/// name of the value;
/// kDoesNotFit, with what is missing where.
/// Example: an MLP on wse2 gets the work of each matmul divided by rows and columns, weights stored
/// where they are read, and activations that stay in place between ops.
Result<ModelPlan> plan_model(const graph::Graph& graph, const Machine& machine,
                             const PlanOptions& options = {});

/// The execution of a plan. kContradiction for a plan of another model or machine; the errors of
/// run::compile.
Result<run::Execution> execution_of(const ModelPlan& plan, const graph::Graph& graph,
                                    const Machine& machine);

/// What a plan says of a buffer.
PlannedBuffer planned(const run::Buffer& buffer, const Machine& machine);

/// A hash of a machine's description, 16 hexadecimal digits.
std::string target_hash(const Machine& machine);

}  // namespace tessera::plan
