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
#include "tessera/memory/mesh_plan.h"
#include "tessera/memory/shortfall.h"
#include "tessera/pyflame/mesh_layout.h"

namespace tessera::pyflame {

/// A tensor of a graph, by its position.
using TensorId = std::size_t;

/// Bytes [offset, offset + size) of a PE's memory.
struct MemoryRegion {
  std::size_t offset = 0;
  std::size_t size = 0;
  std::string name;

  /// Whether some byte is in both; a region without bytes overlaps nothing.
  bool overlaps(const MemoryRegion& other) const;
};

/// The memory of one PE. Data begin at offset 0; tensors whose lives do not meet share bytes.
struct PEMemoryPlan {
  PECoord pe;
  std::size_t total_used = 0;       ///< one past the highest byte of data
  std::size_t total_available = 0;  ///< the target's data budget
  std::vector<MemoryRegion> regions;
  std::map<TensorId, std::size_t> tensor_regions;  ///< of tensors that this PE holds a part of

  bool fits() const { return total_used <= total_available; }
  /// What is left; 0 when it does not fit.
  std::size_t free_bytes() const { return fits() ? total_available - total_used : 0; }
};

/// PEs whose memory is planned alike.
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
  std::string op;              ///< that runs at the moment
  memory::Shortfall at;        ///< buffers are tensors, then scratches
};

/// The memory of all PEs. One PE's is made when it is asked for: a wafer has 745,500 of them, but a
/// handful of classes.
class MemoryPlan {
 public:
  bool valid = false;         ///< every PE fits
  std::string error_message;  ///< why not
  std::optional<Error> error;
  std::optional<PEShortfall> shortfall;    ///< when memory is the reason
  std::vector<memory::Advice> advice;      ///< what would help, the best first
  std::vector<MemoryRegion> reservations;  ///< of the target, from the end of the data budget on

  /// The plan of a PE; kOutOfRange off the wafer, and the plan's error when there are no offsets.
  Result<PEMemoryPlan> plan_for(PECoord pe) const;
  /// Every class, also that of PEs that hold nothing.
  std::vector<PEClass> classes() const;

  /// Of all PEs together; saturates.
  std::size_t total_memory_used() const;
  std::size_t max_pe_memory_used() const;
  /// Used over available, the average of all PEs that hold something; 0 when none does.
  double average_utilization() const;

  /// What the fullest PE needs when nothing is reused, as PyFlame's own planner has it: every
  /// tensor after the one before, at multiples of 4 bytes; and room for the scratch of one op.
  std::size_t bump_max_pe() const;
  /// Bytes that reuse saves on the fullest PE, and their share of what there would be without.
  std::size_t saved_bytes() const;
  double saved_percent() const;

  /// The most that lives at one moment on one PE: no plan needs less.
  std::size_t lower_bound() const;
  /// What the numbers come from; null when there are no offsets.
  const memory::PlaceSizes* sizes() const;
  const memory::MeshPlan* offsets() const;
  const memory::Lifetimes* lifetimes() const;

 private:
  friend class PEMemoryPlanner;
  struct State {
    memory::PlaceSizes sizes;
    memory::Lifetimes lives;
    memory::MeshPlan plan;
    std::size_t tensors = 0;  ///< buffers after these are scratches
    std::int64_t available = 0;
    std::int64_t bump = 0;
  };
  std::shared_ptr<const State> state_;
};

}  // namespace tessera::pyflame
