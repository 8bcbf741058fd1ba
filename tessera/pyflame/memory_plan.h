// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/advice.h"
#include "tessera/memory/mesh_plan.h"
#include "tessera/pyflame/mesh_layout.h"

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

}  // namespace tessera::pyflame
