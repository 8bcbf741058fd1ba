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
#include "tessera/memory/liveness.h"
#include "tessera/memory/mesh_plan.h"
#include "tessera/pyflame/memory_plan.h"
#include "tessera/pyflame/pe_graph.h"
#include "tessera/target/machine.h"

namespace tessera::pyflame {

/// Plans the memory of every PE of a wafer: a facade over memory/.
///
/// All figures are the target's: wse2 has 48 KB a PE, of which 8 KB are for code (with the routing
/// tables) and 4 KB for the stack, and 36 KB for data. What else a target reserves (receive queues,
/// double buffers, ..) is no longer for data; a Scratch that names the reserve then lives there as
/// long as all of its op that do fit it together, else among the data.
/// Buffers begin at multiples of the target's alignment, of a wavelet and of their element.
class PEMemoryPlanner {
 public:
  struct Options {
    memory::OffsetMode mode = memory::OffsetMode::kLockStep;
    bool quick = false;      ///< the first plan that fits will do; else a low one is looked for
    bool minimize = false;   ///< search for the lowest plan there is
    bool allocated = false;  ///< give every PE of a layout a whole tile, as ragged ones too
    /// For each exact search that is needed (one more where small outputs may be in place of large
    /// inputs), and for finer grids as advice.
    double seconds = 1;
    bool advise = true;  ///< when it does not fit, find out what would help
  };

  /// For wse2.
  PEMemoryPlanner();
  explicit PEMemoryPlanner(Machine machine) : machine_(std::move(machine)) {}

  // NOLINTBEGIN(readability-identifier-naming): PyFlame's own spelling.
  std::size_t PE_MEMORY_SIZE() const;  ///< 0 where it is not published
  std::size_t RESERVED_FOR_CODE() const { return reserved_for("code"); }
  std::size_t RESERVED_FOR_STACK() const { return reserved_for("stack"); }
  std::size_t AVAILABLE_FOR_DATA() const;
  // NOLINTEND(readability-identifier-naming)
  std::size_t reserved_for(std::string_view name) const;
  const Machine& machine() const { return machine_; }

  /// Offsets for all PEs. Every tensor has a layout, and every tensor gets memory, or the plan is
  /// not valid and says why: errors of layouts and lifetimes with the tensor's name, kDoesNotFit
  /// with the worst PEs, the moment, what lives then and what would help, dead PEs that would hold
  /// data. A plan without errors but that does not fit still answers all questions.
  MemoryPlan plan(const PEGraph& graph, const std::map<TensorId, MeshLayout>& layouts,
                  const Options& options) const;
  MemoryPlan plan(const PEGraph& graph, const std::map<TensorId, MeshLayout>& layouts) const {
    return plan(graph, layouts, Options());
  }

  /// What an advice of a plan changes: the ops, the layouts (all tensors with the layout of
  /// advice.output get the finer grid), the target.
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
