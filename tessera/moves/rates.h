// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// A time and what determines it; without seconds where a figure is missing. Without a clock it may
/// still be known in cycles.
struct Timed {
  std::optional<double> seconds;
  std::optional<double> cycles;
  std::string term;     ///< "memory", "compute"
  std::string busiest;  ///< "l1", "elementwise"
};

/// The rates of a machine. It remembers which figures were missing, and which were used.
class Rates {
 public:
  explicit Rates(const Machine& machine) : machine_(machine) {}

  /// Cycles of the machine's clock.
  std::optional<double> seconds(double cycles);
  /// What one place, bank or shared memory takes to read and to write so many bytes. Reads and
  /// writes overlap, unless the memory says how fast both are together.
  Timed touch(std::size_t memory, std::int64_t read_bytes, std::int64_t written_bytes);
  /// Copying bytes inside a memory.
  Timed copy(std::size_t memory, std::int64_t bytes) { return touch(memory, bytes, bytes); }
  /// Changing the type of elements of one place: its arithmetic, or its memory if that is slower.
  struct Cast {
    std::int64_t elements = 0;
    std::int64_t read_bytes = 0;
    std::int64_t written_bytes = 0;
    DType from = DType::kF32;
    DType to = DType::kF32;
  };
  Timed cast(const Cast& cast, std::size_t memory);
  /// Elements that a place adds up per cycle.
  std::optional<double> reduced_per_cycle(DType dtype);

  /// Records a figure that is missing: a path and a reason.
  void lacks(std::string what);
  /// Records that the figures at a path, and below it, were used.
  void uses(const std::string& path);

  const std::vector<std::string>& missing() const { return missing_; }
  /// The paths that were used since the last call.
  std::vector<std::string> take_used() { return std::exchange(used_, {}); }

 private:
  /// How many elements one of the units handles per cycle, of one of the types; the first that the
  /// machine has.
  std::optional<double> per_cycle(std::initializer_list<std::string_view> units,
                                  std::initializer_list<std::string_view> dtypes, Timed& time);
  /// What so many bytes take, which are at least 1.
  Timed moved(double bytes, const target::Bandwidth& bandwidth, const std::string& path);
  /// A number of cycles as a time.
  Timed timed(double cycles);
  const Machine& machine_;
  std::vector<std::string> missing_;
  std::vector<std::string> used_;
};

}  // namespace tessera::moves
