// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
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
  memory::Value::Kind kind = memory::Value::Kind::kComputed;
  bool output = false;  ///< must be in memory at the end
  bool stays = false;   ///< an input that stays in memory throughout
};

/// What the planner needs of a graph: tensors, and ops in the order in which they run. A model
/// comes from graph::Graph through `of`; programs that only plan memory may also fill it
/// themselves, with ops of any name. Transforms between layouts are ops too, so memory is planned
/// after they are inserted, and one that several consumers share is planned once.
struct PEGraph {
  std::vector<PETensor> tensors;
  std::vector<memory::Op> ops;  ///< inputs and outputs are TensorIds

  /// The tensors and ops of a graph, as graph::program_of derives them. TensorIds are ValueIds.
  static PEGraph of(const graph::Graph& graph);

  TensorId add(PETensor tensor);
  /// Adds an op with one output; both have the name `name`.
  TensorId compute(std::string name, std::vector<TensorId> inputs, std::vector<std::int64_t> shape,
                   DType dtype = DType::kF32);
  /// The same, in place of the first input if that is proven to be possible.
  TensorId compute_in_place(std::string name, std::vector<TensorId> inputs,
                            std::vector<std::int64_t> shape, DType dtype = DType::kF32);

  /// The values and ops without shapes, for computing lifetimes.
  memory::Program program() const;
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
