// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/program.h"
#include "tessera/memory/advice.h"
#include "tessera/memory/liveness.h"
#include "tessera/memory/mesh_plan.h"
#include "tessera/pyflame/mesh_layout.h"
#include "tessera/target/machine.h"

namespace tessera::pyflame {

/// A tensor of a graph, identified by its position.
using TensorId = std::size_t;

/// Bytes [offset, offset + size) of a PE's memory.
struct MemoryRegion {
  std::size_t offset = 0;
  std::size_t size = 0;
  std::string name;

  /// Whether some byte is in both; a region without bytes overlaps nothing.
  bool overlaps(const MemoryRegion& other) const;
};

/// The memory of one PE. Data begins at offset 0; tensors whose lifetimes do not overlap may share
/// bytes.
struct PEMemoryPlan {
  PECoord pe;
  std::size_t total_used = 0;       ///< one past the highest byte of data
  std::size_t total_available = 0;  ///< the target's data budget
  std::vector<MemoryRegion> regions;
  std::map<TensorId, std::size_t> tensor_regions;  ///< tensors of which this PE holds a part

  bool fits() const { return total_used <= total_available; }
  /// The unused bytes; 0 if the data does not fit.
  std::size_t free_bytes() const { return fits() ? total_available - total_used : 0; }
};

/// PEs with the same memory plan.
struct PEClass {
  PECoord example;
  std::int64_t pes = 0;
  std::size_t used = 0;
};

/// Why a graph does not fit.
struct PEShortfall {
  PECoord example;             ///< one of the worst PEs
  std::int64_t pes = 0;        ///< PEs of its class
  std::int64_t pes_short = 0;  ///< PEs of any class that lack memory
  std::string op;              ///< the op that runs when memory is short
  memory::Shortfall at;        ///< buffers are first tensors, then scratch buffers
};

/// The memory of all PEs. The plan of one PE is computed on request: a wafer has 745,500 PEs, but
/// only a few classes.
class MemoryPlan {
 public:
  bool valid = false;         ///< every PE fits
  std::string error_message;  ///< why not
  std::optional<Error> error;
  std::optional<PEShortfall> shortfall;    ///< if the reason is memory
  std::vector<memory::Advice> advice;      ///< what would help, best first
  std::vector<MemoryRegion> reservations;  ///< of the target, after the data budget

  /// The plan of a PE. kOutOfRange for a PE outside the wafer; the plan's error if there are no
  /// offsets.
  Result<PEMemoryPlan> plan_for(PECoord pe) const;
  /// All classes, including that of PEs that hold nothing.
  std::vector<PEClass> classes() const;

  /// Sum over all PEs; saturates.
  std::size_t total_memory_used() const;
  std::size_t max_pe_memory_used() const;
  /// Used divided by available, averaged over all PEs that hold data; 0 if none does.
  double average_utilization() const;

  /// What the fullest PE needs without reuse, as in PyFlame's own planner: tensors one after
  /// another, at multiples of 4 bytes, plus room for the scratch of one op.
  std::size_t bump_max_pe() const;
  /// Bytes that reuse saves on the fullest PE, and their percentage of the bytes without reuse.
  std::size_t saved_bytes() const;
  double saved_percent() const;

  /// The most bytes that are live at one time on one PE: no plan needs less.
  std::size_t lower_bound() const;
  /// The data behind the numbers; null if there are no offsets.
  const memory::PlaceSizes* sizes() const;
  const memory::MeshPlan* offsets() const;
  const memory::Lifetimes* lifetimes() const;

 private:
  friend class PEMemoryPlanner;
  struct State {
    memory::PlaceSizes sizes;
    memory::Lifetimes lives;
    memory::MeshPlan plan;
    std::size_t tensors = 0;  ///< buffers after these are scratch buffers
    std::int64_t available = 0;
    std::int64_t bump = 0;
  };
  std::shared_ptr<const State> state_;
};

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
