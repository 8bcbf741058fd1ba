// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/fabric/mesh.h"
#include "tessera/reshard/schedules/line_load.h"
#include "tessera/reshard/simulation/dispatch.h"

namespace tessera::reshard {

/// An item that is carried along a line: from `start` to the positions `ends`, none of which is the
/// start.
struct Carry {
  std::uint32_t item = 0;  ///< a dispatch
  std::int32_t line = 0;
  std::int32_t start = 0;
  std::uint32_t first_end = 0;  ///< in Carries::ends, ascending
  std::uint32_t end_count = 0;
};

/// Everything that is carried along one axis when data go first along rows to the column of their
/// destination, then along columns.
///
///     along rows      a dispatch from (r, c) is carried on line r from c to the columns of its set
///     along columns   and on each of these columns (and on c, if its set has places there) from r
///                     to the rows of its set there
///
/// Law: a dispatch ends at each place of its set exactly once.
struct Carries {
  Lines lines;
  std::vector<Carry> list;  ///< by line, then start
  std::vector<std::int32_t> ends;

  std::span<const std::int32_t> ends_of(const Carry& carry) const {
    return std::span(ends).subspan(carry.first_end, carry.end_count);
  }
  /// Visits the carries of each line.
  template <typename Visit>
  void for_each_line(const Visit& visit) const {
    for_each_run(list, [](const Carry& x, const Carry& y) { return x.line == y.line; }, visit);
  }
  /// Visits the carries of a line with the same start, by ascending start.
  template <typename Visit>
  static void for_each_start(std::span<const Carry> line, const Visit& visit) {
    for_each_run(line, [](const Carry& x, const Carry& y) { return x.start == y.start; }, visit);
  }

 private:
  template <typename Same, typename Visit>
  static void for_each_run(std::span<const Carry> list, const Same& same, const Visit& visit) {
    for (std::size_t begin = 0; begin < list.size();) {
      std::size_t end = begin;
      while (end < list.size() && same(list[end], list[begin])) ++end;
      visit(list.subspan(begin, end - begin));
      begin = end;
    }
  }
};

Carries carries_of(const Dispatches& dispatches, const fabric::FabricMesh& mesh, Axis axis);

/// The loads of lines, from a list of what is carried.
class CarriedLoads : public LineLoads {
 public:
  CarriedLoads(const Carries& carries, const Dispatches& dispatches)
      : carries_(carries), dispatches_(dispatches) {}
  void for_each_line(const Visit& visit) const override;
  StepLoads steps() const override;
  /// The load of one line.
  LineLoad load_of(std::span<const Carry> line) const;

 private:
  const Carries& carries_;
  const Dispatches& dispatches_;
};

}  // namespace tessera::reshard
