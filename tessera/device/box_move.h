// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/device/cells.h"
#include "tessera/device/device.h"
#include "tessera/layout/layout.h"
#include "tessera/relayout/jobs/combine.h"
#include "tessera/relayout/plan.h"
#include "tessera/reshard/transfers.h"

namespace tessera::device {

/// A box of elements that moves between two memories with plain strides, prepared once for all
/// boxes of its form. Slots are counted from those of the box's first element.
///
/// Law: `copy` sets the slot Σ i·destination_stride to the bits of the slot Σ i·source_stride, for
/// all counters i of the loops, and changes nothing else.
class BoxMove {
 public:
  /// Error kNotSupported for block floats whose tiles do not move as a whole.
  static Result<BoxMove> make(std::span<const reshard::BoxLoop> loops, const Atom& atom);

  /// A position in the memory of a place: the address of its slot 0, and a slot.
  template <typename Byte>
  struct At {
    Byte* memory = nullptr;
    std::int64_t slot = 0;
  };
  /// `is_streaming`: long runs bypass the caches, and the caller ends with
  /// relayout::finish_streaming().
  Status copy(At<const std::byte> from, At<std::byte> to, ThreadPool& pool,
              bool is_streaming = false) const;
  /// Combines instead: to = combine(to, from).
  void combine(At<const std::byte> from, At<std::byte> to,
               const relayout::Combiner& combiner) const;
  /// Sets all slots of the destination to an element with these bits. Not for block floats.
  void fill(At<std::byte> to, std::uint64_t bits) const;

  /// The slots on both sides.
  SlotBox source(std::int64_t first) const { return {first, source_}; }
  SlotBox destination(std::int64_t first) const { return {first, destination_}; }
  std::int64_t elements() const { return destination(0).elements(); }
  const std::vector<reshard::BoxLoop>& loops() const { return loops_; }

  /// Loops in the order in which they are stored: the largest steps in the destination first, and
  /// those that continue each other joined.
  static std::vector<reshard::BoxLoop> sorted(std::span<const reshard::BoxLoop> loops);

 private:
  template <typename Visit>
  void walk(std::size_t loops, std::int64_t from, std::int64_t to, const Visit& visit) const;
  void stream(At<const std::byte> from, At<std::byte> to) const;

  Cells cells_;
  std::vector<reshard::BoxLoop> loops_;
  std::vector<SlotLoop> source_;
  std::vector<SlotLoop> destination_;
  std::int64_t run_ = 1;   // contiguous slots on both sides
  std::size_t outer_ = 0;  // loops around runs
  // For short runs, a plan between the slots [low, low + slots) that both sides reach.
  std::optional<relayout::Plan> plan_;
  std::int64_t from_low_ = 0;
  std::int64_t to_low_ = 0;
};

}  // namespace tessera::device
