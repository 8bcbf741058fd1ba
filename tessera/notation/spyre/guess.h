// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/lines.h"
#include "tessera/notation/spyre/spyre.h"

/// Words that might say a layout, read off its canonical lines. A guess is only a guess: whoever
/// asks for one lowers it and compares.
namespace tessera::notation::spyre {

/// A digit of a line, seen from the device: coordinate = (what is left) div width.
struct Step {
  std::int64_t dim = -1;   ///< the logical dim, where lines are single dims
  std::int64_t width = 1;  ///< in elements of the dim, or in host elements
  std::int64_t above = 0;  ///< the width of the next wider digit that it is cut from; 0 for none
  std::int64_t bound = 1;  ///< positions that are left at this digit; data end there
  Spot move;
  std::int64_t need() const;  ///< coordinates that hold data
};

/// A device tensor under construction.
struct Guess {
  struct Dim {
    std::int64_t dim = -1;    ///< the logical dim; -1 is synthetic
    std::int64_t width = -1;  ///< -1 is synthetic
    std::int64_t extent = 1;
    std::int64_t cores = 1;
  };
  std::vector<Dim> dims;  ///< outermost first; the last is the stick
};

/// How the memory of a place and the places of a mesh are used up.
struct Room {
  std::int64_t slots = 1;
  std::int64_t places = 1;
  std::int64_t per_stick = 1;
  bool exact = false;   ///< dim_map: a digit's extent is what it is cut from, over its width
  bool paired = false;  ///< a mesh digit and the memory digit below it are one divided device dim
};

/// Device dims such that the steps, in any order, move as they say; or why they cannot.
Result<Guess> arrange(const std::vector<Step>& steps, const Room& room);

/// One step for each digit of lines of single dims; nothing when dims are fused or run backwards.
std::optional<std::vector<Step>> steps_of_dims(const Lines& lines);

/// One step for each digit of the line of host offsets; nothing when the lines do not run along
/// that host. When fused, one for each run of neighbours that act as one, cut finer where the
/// device has gaps, for which the host may be stretched.
std::optional<std::vector<Step>> steps_of_host(const Lines& lines,
                                               std::vector<std::int64_t>& host_stride,
                                               const Room& room, bool fused);

/// How the strides of a host may follow the device.
enum class HostGuess : std::uint8_t {
  kSlots,  ///< offsets are slots wherever that leaves room for the lines inside
  kSteps,  ///< dense, but in step with a digit inside where that leaves room
  kGaps,   ///< dense, but with room for the gaps of the device
  kDense,
};

/// A host in which lines of smaller slot strides lie inside those of larger ones, so that slots
/// that no element uses can be offsets that no element has. Lines are compared by the digit that
/// moves fewest slots, or by their last one. Nothing when some line cannot.
std::optional<std::vector<std::int64_t>> host_in_device_order(const Lines& lines, const Room& room,
                                                              HostGuess guess, bool by_last_digit);

}  // namespace tessera::notation::spyre
