// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/liveness.h"
#include "tessera/memory/problem.h"

namespace tessera::memory {

/// Why the buffers of one place do not fit.
struct Shortfall {
  std::int64_t capacity = 0;
  std::int64_t needed = 0;  ///< above the capacity
  std::int64_t moment = 0;  ///< the first moment at which that much is needed
  /// True when no plan can fit. Otherwise the live bytes would fit at every moment, but no fitting
  /// plan was found, and `needed` is the peak of the best plan.
  bool certain = true;
  struct Live {
    std::size_t buffer = 0;  ///< the one that is live then, of those that share its memory
    std::int64_t bytes = 0;  ///< of all buffers that share it; in a gap, those that it keeps
  };
  std::vector<Live> live;  ///< at that moment, by descending bytes

  std::int64_t missing() const { return needed - capacity; }
};

/// The shortfall of a problem that has no plan within `capacity`: at the moment with the most live
/// bytes or, when those would fit, where `offsets`, the best plan found, is highest. Empty when the
/// plan is within the capacity.
/// Law: if it is certain and alignment costs no bytes, the bytes of `live` sum up to `needed`.
Result<std::optional<Shortfall>> shortfall(const Problem& problem, std::int64_t capacity,
                                           std::span<const std::int64_t> offsets);

/// The shortfall as a sentence. `names` are the names of the buffers, `when` the name of the
/// moment, and `where` the place:
///     "at 'softmax', 40960 bytes are live, 4096 more than the capacity of 36864: 'scores' 16384,
///     'q' 8192 and 2 more of 16384"
std::string describe(const Shortfall& shortfall, const std::vector<std::string>& names,
                     std::string_view when, std::string_view where = "");

/// The same as an error, kDoesNotFit.
Error does_not_fit(const Shortfall& shortfall, const std::vector<std::string>& names,
                   std::string_view when, std::string_view where = "");

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
