// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/program.h"
#include "tessera/memory/liveness.h"
#include "tessera/memory/mesh_plan.h"
#include "tessera/pyflame/memory_plan.h"
#include "tessera/target/machine.h"

namespace tessera::pyflame {

/// A tensor of a graph.
struct PETensor {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kF32;
  graph::Kind kind = graph::Kind::kComputed;
  bool output = false;  ///< must be in memory at the end
  bool stays = false;   ///< an input that stays in memory throughout
};

/// What the planner plans for: a graph::Graph, and what its nodes need of memory besides their
/// values. A model comes through `of`; programs that only plan memory may also build one here, with
/// ops of any name, which are opaque nodes of the graph. Transforms between layouts are ops too, so
/// memory is planned after they are inserted, and one that several consumers share is planned once.
///
///     PEGraph graph;
///     const TensorId x = graph.add({"x", {64, 64}, DType::kF32, graph::Kind::kInput});
///     const TensorId y = graph.compute("fft", {x}, {64, 64});
///     graph.memory(0).scratch = {{"twiddles", 512}};
///     graph.set_output(y);
class PEGraph {
 public:
  PEGraph() = default;
  /// TensorIds are ValueIds.
  static PEGraph of(graph::Graph graph);

  TensorId add(PETensor tensor);
  /// Adds an op with one output; both have the name `name`.
  TensorId compute(std::string name, const std::vector<TensorId>& inputs,
                   std::vector<std::int64_t> shape, DType dtype = DType::kF32);
  /// The same, in place of the first input if that is proven to be possible.
  TensorId compute_in_place(std::string name, const std::vector<TensorId>& inputs,
                            std::vector<std::int64_t> shape, DType dtype = DType::kF32);
  /// Adds an op without outputs, such as one that changes its first input.
  void run(std::string name, const std::vector<TensorId>& inputs);
  void set_output(TensorId tensor);

  /// The graph: tensor i is value i, op k is node k. Names need not be unique, nor ops in an order
  /// in which they can run: the planner reports the latter.
  const graph::Graph& graph() const { return graph_; }
  const graph::Value& tensor(TensorId id) const { return graph_.values[id]; }
  std::size_t tensors() const { return graph_.values.size(); }
  std::size_t ops() const { return graph_.nodes.size(); }
  /// What op k needs besides its tensors.
  graph::NodeMemory& memory(std::size_t op) { return memory_.nodes[op]; }
  graph::NodeMemory& last_memory() { return memory(ops() - 1); }

  /// The first shape or TensorId that cannot be one; the planner returns it.
  const std::optional<Error>& error() const { return error_; }
  /// Values and ops without shapes, for computing lifetimes: graph::program_of.
  memory::Program program() const { return graph::program_of(graph_, memory_); }

 private:
  void add_node(std::string name, const std::vector<TensorId>& inputs,
                std::vector<graph::ValueId> outputs);

  graph::Graph graph_;
  graph::ProgramOptions memory_;
  std::optional<Error> error_;
};

/// Plans the memory of every PE of a wafer: a facade over memory/.
///
/// All figures come from the target: wse2 has 48 KB per PE, of which 8 KB are for code (with the
/// routing tables), 4 KB for the stack, and 36 KB for data. Other reserves of a target (receive
/// queues, double buffers, ..) reduce the data budget. A Scratch that names a reserve is stored
/// there if all scratches of its op that name it fit together, else it is stored with the data.
/// Buffers begin at multiples of the target's alignment, of a wavelet and of their element.
class PEMemoryPlanner {
 public:
  struct Options {
    memory::OffsetMode mode = memory::OffsetMode::kLockStep;
    bool quick = false;      ///< accept the first plan that fits, else look for a low one
    bool minimize = false;   ///< search for the lowest possible plan
    bool allocated = false;  ///< give every PE of a layout a whole tile, even at ragged edges
    /// Time limit for each exact search (one more search if small outputs may be in place of large
    /// inputs), and for trying finer grids as advice.
    double seconds = 1;
    bool advise = true;  ///< if it does not fit, find out what would help
  };

  /// For wse2.
  PEMemoryPlanner();
  explicit PEMemoryPlanner(Machine machine) : machine_(std::move(machine)) {}

  // NOLINTBEGIN(readability-identifier-naming): PyFlame's own spelling.
  std::size_t PE_MEMORY_SIZE() const;  ///< 0 if not published
  std::size_t RESERVED_FOR_CODE() const { return reserved_for("code"); }
  std::size_t RESERVED_FOR_STACK() const { return reserved_for("stack"); }
  std::size_t AVAILABLE_FOR_DATA() const;
  // NOLINTEND(readability-identifier-naming)
  std::size_t reserved_for(std::string_view name) const;
  const Machine& machine() const { return machine_; }

  /// Offsets for all PEs. Every tensor needs a layout. Either every tensor gets memory, or the plan
  /// is not valid and states why: errors of layouts and lifetimes with the tensor's name;
  /// kDoesNotFit with the worst PEs, the time, what is live then and what would help; dead PEs that
  /// would hold data. If memory is the only problem, all functions of the plan still work.
  MemoryPlan plan(const PEGraph& graph, const std::map<TensorId, MeshLayout>& layouts,
                  const Options& options) const;
  MemoryPlan plan(const PEGraph& graph, const std::map<TensorId, MeshLayout>& layouts) const {
    return plan(graph, layouts, Options());
  }

  /// The ops, the layouts and the target after following an advice of a plan. All tensors with the
  /// layout of advice.output get the finer grid.
  PEGraph followed(const PEGraph& graph, const memory::Advice& advice) const;
  static std::map<TensorId, MeshLayout> followed(const std::map<TensorId, MeshLayout>& layouts,
                                                 const memory::Advice& advice);
  PEMemoryPlanner followed(const memory::Advice& advice) const;

 private:
  struct Planned {
    memory::Lifetimes lives;
    memory::MeshPlan plan;
  };
  Result<Planned> plan_program(const PEGraph& graph, const memory::Program& program,
                               const memory::PlaceSizes& sizes, const Options& options) const;
  Result<MemoryPlan> attempt(const PEGraph& graph, const std::map<TensorId, MeshLayout>& layouts,
                             const Options& options) const;
  void explain(const PEGraph& graph, MemoryPlan& plan) const;
  void advise(const PEGraph& graph, const std::map<TensorId, MeshLayout>& layouts,
              const Options& options, MemoryPlan& plan) const;
  std::int64_t align_bytes() const;

  Machine machine_;
};

}  // namespace tessera::pyflame
