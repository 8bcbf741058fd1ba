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

/// Why buffers do not fit, on one place.
struct Shortfall {
  std::int64_t capacity = 0;
  std::int64_t needed = 0;  ///< above the capacity
  std::int64_t moment = 0;  ///< the first at which so much is needed
  /// No plan can fit. Else the buffers would fit one by one, but no plan was found in which they
  /// do: `needed` is the peak of the best.
  bool certain = true;
  struct Live {
    std::size_t buffer = 0;  ///< the one that lives then, of those that share its memory
    std::int64_t bytes = 0;  ///< of all that share it
  };
  std::vector<Live> live;  ///< at the moment, by falling bytes

  std::int64_t missing() const { return needed - capacity; }
};

/// The shortfall of a problem that has no plan within `capacity`: where most lives at once, or,
/// when that much would fit, where `offsets`, the best plan that was found, is highest. Nothing
/// when the plan is within the capacity.
/// Law: where it is certain and no alignment is lost, the bytes of `live` sum up to `needed`.
Result<std::optional<Shortfall>> shortfall(const Problem& problem, std::int64_t capacity,
                                           std::span<const std::int64_t> offsets);

/// The shortfall as a sentence. `names` are those of the buffers, `when` is what the moment is
/// called, and `where` the place:
///     "at 'softmax' 40960 bytes live at once, 4096 more than the 36864 there are: 'scores' 16384,
///     'q' 8192 and 2 more of 16384"
std::string describe(const Shortfall& shortfall, const std::vector<std::string>& names,
                     std::string_view when, std::string_view where = "");

/// The same as an error, kDoesNotFit.
Error does_not_fit(const Shortfall& shortfall, const std::vector<std::string>& names,
                   std::string_view when, std::string_view where = "");

enum class Remedy : std::uint8_t {
  kInPlace,         ///< compute an output in the memory of an input that dies there
  kSmallerPanel,    ///< fewer steps of K at a time
  kSmallerBuffers,  ///< smaller parts to fill while others are used, or fewer of them
  kFinerGrid,       ///< more places for a tensor
  kSmallerReserve,  ///< less of the target's memory set aside
};
std::string_view remedy_name(Remedy remedy);  ///< "in_place", "smaller_panel", ..

/// Something that would help. Every number has been tried out: with the change made, that many
/// bytes less live at the moment of the shortfall (with a finer grid: at the worst moment of the
/// worst place; with a smaller reserve: that many less are missing there).
struct Advice {
  Remedy remedy = Remedy::kInPlace;
  std::int64_t saves_bytes = 0;
  bool enough = false;  ///< with this alone the program fits
  std::string text;     ///< what to do

  // What is changed, as far as the remedy says.
  std::size_t op = 0;
  std::size_t output = 0;      ///< in place: a value ..
  std::size_t input = 0;       ///< .. in the memory of this one
  std::int64_t panel = 0;      ///< steps of K ..
  std::int64_t panel_was = 0;  ///< .. of the op's panels that had so many
  std::size_t scratch = 0;     ///< of the op: buffers ..
  std::int64_t buffers = 0;    ///< .. so many ..
  std::int64_t bytes = 0;      ///< .. of so many bytes each; or bytes of a reserve
  std::int64_t rows = 0;       ///< of the finer grid
  std::int64_t cols = 0;

  /// What to do and what it saves: "block K: panels of 42 steps instead of 64 in 'matmul' (2112
  /// bytes less)".
  std::string sentence() const;
};

/// The program with an advice followed; remedies that are no matter of programs change nothing.
Program followed(const Program& program, const Advice& advice, std::int64_t align_bytes);

/// Bytes that live at a moment, memory that is shared counted once; sizes[i] is of buffer i.
std::int64_t live_at(const Lifetimes& lives, std::span<const std::int64_t> sizes,
                     std::int64_t moment);

/// What the op of the moment could do, on a place where value and scratch sizes are `sizes`
/// (positions as in Lifetimes). In-place is only advised where liveness would grant it; whether the
/// op can do it is for its author to know. `enough` means enough at this moment: planning again
/// tells the rest.
std::vector<Advice> advise(const Program& program, const FitsInside& inside,
                           std::span<const std::int64_t> sizes, const Shortfall& shortfall,
                           std::int64_t align_bytes);

}  // namespace tessera::memory
