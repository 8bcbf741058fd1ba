// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/notation/spyre/spyre.h"

/// Guesses a Spyre layout from the canonical lines of a layout. A guess may be wrong: the caller
/// lowers it and compares.
namespace tessera::notation::spyre {

/// A digit of a line as a device coordinate: coordinate = (remainder of the wider digits) div
/// width.
struct Step {
  std::int64_t dim = -1;   ///< the logical dim, if lines are single dims
  std::int64_t width = 1;  ///< in elements of the dim, or in host elements
  std::int64_t above = 0;  ///< the width of the next wider digit; 0 for none
  std::int64_t bound = 1;  ///< number of positions at this digit that hold data
  Position move;
  std::int64_t need() const;  ///< coordinates that hold data
};

/// A device tensor that is being constructed.
struct Guess {
  struct Dim {
    std::int64_t dim = -1;    ///< the logical dim; -1 is synthetic
    std::int64_t width = -1;  ///< -1 is synthetic
    std::int64_t extent = 1;
    std::int64_t cores = 1;
  };
  std::vector<Dim> dims;  ///< outermost first; the last is the stick
};

/// The size of the memory of a place and of the mesh, and how digits may use them.
struct Room {
  std::int64_t slots = 1;
  std::int64_t places = 1;
  std::int64_t per_stick = 1;
  bool exact = false;   ///< dim_map: a digit's extent is the next wider width divided by its own
  bool paired = false;  ///< a mesh digit and the memory digit below it form one divided device dim
};

/// Device dims in which every step, given in any order, has its `move`; or why there are none.
Result<Guess> arrange(const std::vector<Step>& steps, const Room& room);

/// One step for each digit of lines of single dims; nullopt when dims are fused or run backwards.
std::optional<std::vector<Step>> steps_of_dims(const Lines& lines);

/// One step for each digit of the line of host offsets; nullopt when the lines do not follow that
/// host. With `fused`, one step for each run of adjacent digits that act as one. Runs are cut finer
/// where the device has gaps; the host strides may be enlarged for these gaps.
std::optional<std::vector<Step>> steps_of_host(const Lines& lines,
                                               std::vector<std::int64_t>& host_stride,
                                               const Room& room, bool fused);

/// How the strides of a host are chosen from the device.
enum class HostGuess : std::uint8_t {
  kSlots,  ///< offsets are slots if that leaves room for the inner lines
  kSteps,  ///< dense, but a multiple of an inner digit if that leaves room
  kGaps,   ///< dense, but with room for the gaps of the device
  kDense,
};

/// A host in which lines with smaller slot strides are inside lines with larger ones, so that
/// unused slots can correspond to unused offsets. Lines are compared by the digit that moves the
/// fewest slots, or by their last digit. Nullopt when this is impossible for some line.
std::optional<std::vector<std::int64_t>> host_in_device_order(const Lines& lines, const Room& room,
                                                              HostGuess guess, bool by_last_digit);

}  // namespace tessera::notation::spyre
