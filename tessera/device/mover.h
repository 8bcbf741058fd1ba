// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/device/device.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"

namespace tessera::device {

/// One side of a move: all of a buffer, or what a placement over the same memory says of it.
///
/// A part has the mesh, the slots and the element type of the buffer's placement: a slice, a
/// window or a broadcast (layout/view.h), or another reading of the same bytes. Views have no
/// device map, so a part takes that of the buffer.
/// Example: columns 8 to 15 of an operand, to be copied to a panel:
///     {a, *View::of(layout).slice(1, 8, 8)}
struct MoveSide {
  BufferId buffer = {};
  std::optional<Placement> part = std::nullopt;
};

struct MoveOptions {
  /// What is written to the padding of the destination. A part is written without padding.
  relayout::PaddingRule padding = relayout::PaddingRule::kPromised;
  /// Lists what moves with several threads; null: with the one that asks. The result is the same.
  ThreadPool* pool = nullptr;
};

/// What one run moves.
struct MoveTotals {
  std::int64_t messages = 0;        ///< ordered pairs of different parts
  std::int64_t crossing_bytes = 0;  ///< between parts
  std::int64_t local_bytes = 0;     ///< inside parts
};

/// A reshard carried out on a device, prepared once and run any number of times: between two
/// buffers in any memories of the machine, of the same shape and the same type in memory.
///
/// Law: afterwards the destination holds what carrying out the transfers of the reshard
/// (reshard/transfers.h) gives: every element of the source at each of its places, from the nearest
/// place that has it; partial sums combined in the order of their shares; where B keeps partial
/// sums that A does not have, share 0 is the value and the others are the neutral element. Nothing
/// else is written but padding. The result does not depend on the number of threads.
/// Example:
///     TESSERA_TRY(const Mover mover, Mover::make(*device, {x}, {y}));
///     TESSERA_CHECK_OK(mover.run(*device, x, y, pool));
class Mover {
 public:
  /// Errors: kBadBuffer; those of Reshard::make, and of combiner_of (relayout/jobs/combine.h) where
  /// partial sums are combined; kNotSupported for block floats whose tiles do not move as a whole,
  /// for a part that does not have the memory of its buffer, for pieces whose partial sums differ
  /// in kind, and for a destination that shares slots; kTooLarge for more than 2^23 transfers.
  static Result<Mover> make(const Device& device, const MoveSide& from, const MoveSide& to,
                            const MoveOptions& options = {});

  const MoveTotals& totals() const;

  /// Moves between these buffers, which have the placements, memories and parts of those for which
  /// the move was made (kBadBuffer otherwise) and do not overlap. Checked, kOutOfRange for elements
  /// of the source that were never written. After an error the destination counts as unwritten.
  Status run(Device& device, BufferId from, BufferId to, ThreadPool& pool) const;

 private:
  struct Body;
  explicit Mover(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  std::shared_ptr<const Body> body_;
};

}  // namespace tessera::device
