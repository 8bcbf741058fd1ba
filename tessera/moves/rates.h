// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// A time and what determines it; without seconds where a figure is missing.
struct Timed {
  std::optional<double> seconds;
  std::string term;     ///< "memory", "compute"
  std::string busiest;  ///< "l1", "elementwise"
};

/// The rates of a machine. It remembers which figures were missing, and which were used.
class Rates {
 public:
  explicit Rates(const Machine& machine) : machine_(machine) {}

  /// Cycles of the machine's clock.
  std::optional<double> seconds(double cycles);
  /// Reading `bytes` from one place, bank or shared memory and writing them to the same memory.
  /// Reads and writes overlap, unless the memory says how fast both are together.
  Timed copy(std::size_t memory, std::int64_t bytes);
  /// Changing the type of `elements` elements on one place.
  Timed cast(std::int64_t elements, DType from, DType to);

  /// Records a figure that is missing: a path and a reason.
  void lacks(std::string what);
  /// Records that the figures at a path, and below it, were used.
  void uses(const std::string& path);

  const std::vector<std::string>& missing() const { return missing_; }
  /// The paths that were used since the last call.
  std::vector<std::string> take_used() { return std::exchange(used_, {}); }

 private:
  std::optional<double> bytes_per_second(const target::Bandwidth& bandwidth,
                                         const std::string& path);
  const Machine& machine_;
  std::vector<std::string> missing_;
  std::vector<std::string> used_;
};

}  // namespace tessera::moves
