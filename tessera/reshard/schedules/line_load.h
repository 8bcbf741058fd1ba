// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/fabric/mesh.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

// =================================================================================================
// Rows, then columns
//
// Most schedules move data in two phases: along rows to the columns of their destinations, then
// along columns. In either phase the lines (rows, or columns) are independent, and all data that
// start at one position of a line can be packed together. What a line costs depends on a few
// numbers per position only, and not on the messages one by one.
// =================================================================================================

/// A direction of lines: rows, along which columns count, or columns, along which rows count.
enum class Axis : std::uint8_t { kAlongRows, kAlongColumns };

/// The lines of a mesh along one axis.
struct Lines {
  Axis axis = Axis::kAlongRows;
  std::int32_t lines = 1;
  std::int32_t length = 1;

  static Lines of(const fabric::FabricMesh& mesh, Axis axis) {
    return axis == Axis::kAlongRows ? Lines{axis, mesh.rows, mesh.cols}
                                    : Lines{axis, mesh.cols, mesh.rows};
  }
  /// The router at a position of a line.
  std::int32_t node(std::int32_t line, std::int32_t position) const {
    return axis == Axis::kAlongRows ? line * length + position : position * lines + line;
  }
};

/// What a place has to send along its line, in elements. "Up" is towards larger positions: east or
/// south. An element may go both ways.
struct LineSender {
  std::int32_t position = 0;
  std::int32_t up_reach = 0;    ///< the farthest position to which elements go upwards, and
  std::int32_t down_reach = 0;  ///< downwards; the position itself if none does
  std::int64_t up = 0;
  std::int64_t down = 0;
};

/// A position at which elements end.
struct LineReceiver {
  std::int32_t position = 0;
  bool from_below = false;
  bool from_above = false;
};

/// What one line has to carry. All elements count `scale` times.
struct LineLoad {
  std::int64_t scale = 1;
  std::vector<LineSender> senders;      ///< by position; each sends something
  std::vector<LineReceiver> receivers;  ///< by position
};

/// The most elements of one starting position that pass the link `steps` away from it: steps[d] for
/// the link from d - 1 to d steps, d from 1 on.
struct StepLoads {
  std::vector<std::int64_t> up;
  std::vector<std::int64_t> down;
};

/// The loads of all lines of one phase, however they are known.
class LineLoads {
 public:
  virtual ~LineLoads() = default;
  /// False stops.
  using Visit = std::function<bool(const LineLoad&)>;
  /// Visits each line that carries something; of lines that are alike, only one.
  virtual void for_each_line(const Visit& visit) const = 0;
  /// The maximum over all lines.
  virtual StepLoads steps() const = 0;
};

}  // namespace tessera::reshard
