// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/memory/liveness.h"
#include "tessera/memory/shortfall.h"

namespace tessera::memory {

/// The kinds of changes that make a program need less memory.
enum class Remedy : std::uint8_t {
  kInPlace,         ///< compute an output in the memory of an input that dies there
  kSmallerPanel,    ///< fewer steps of K at a time
  kSmallerBuffers,  ///< smaller parts that are filled while others are used, or fewer of them
  kFinerGrid,       ///< more places for a tensor
  kSmallerReserve,  ///< less of the target's memory reserved
};
std::string_view remedy_name(Remedy remedy);  ///< "in_place", "smaller_panel", ..

/// A change that would help. Every number was verified: after the change, that many bytes less are
/// live at the moment of the shortfall (with a finer grid: at the worst moment of the worst place;
/// with a smaller reserve: that many less are missing there).
struct Advice {
  Remedy remedy = Remedy::kInPlace;
  std::int64_t saves_bytes = 0;
  bool enough = false;  ///< this change alone makes the program fit
  std::string text;     ///< what to do

  // The change, as far as the remedy defines it.
  std::size_t op = 0;
  std::size_t output = 0;      ///< in place: this value ..
  std::size_t input = 0;       ///< .. in the memory of this one
  std::int64_t panel = 0;      ///< new number of steps of K per panel of the op
  std::int64_t panel_was = 0;  ///< old number of steps
  std::size_t scratch = 0;     ///< the scratch of the op whose buffers change
  std::int64_t buffers = 0;    ///< new number of buffers
  std::int64_t bytes = 0;      ///< new bytes per buffer; or bytes of a reserve
  std::int64_t rows = 0;       ///< of the finer grid
  std::int64_t cols = 0;

  /// The change and what it saves: "block K: panels of 42 steps instead of 64 in 'matmul' (2112
  /// bytes less)".
  std::string sentence() const;
};

/// The program after following an advice; remedies that do not concern programs change nothing.
Program followed(const Program& program, const Advice& advice, std::int64_t align_bytes);

/// Bytes that are live at a moment; shared memory counts once. sizes[i] is the size of buffer i.
std::int64_t live_at(const Lifetimes& lives, std::span<const std::int64_t> sizes,
                     std::int64_t moment);

/// Changes to the op of that moment, on a place where value and scratch sizes are `sizes` (indices
/// as in Lifetimes). In-place is advised only where liveness would allow it; whether the op
/// supports it is for its author to decide. `enough` means enough at this moment; only a new plan
/// shows the rest.
std::vector<Advice> advise(const Program& program, const FitsInside& inside,
                           std::span<const std::int64_t> sizes, const Shortfall& shortfall,
                           std::int64_t align_bytes);

}  // namespace tessera::memory
