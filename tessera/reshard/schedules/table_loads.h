// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/schedules/line_load.h"

namespace tessera::reshard {

/// The loads of lines, from the product form.
///
/// Three coordinates matter, and each is decided by one block of the tables:
///
///     line    the source's row; along columns: each of the destination columns
///     start   the source's column; or its row
///     end     the destination columns; or rows
///
/// When the line has a block of its own, all lines are multiples of one, and few of them differ.
/// Otherwise each line is computed, from the flows of its own and from what all lines share: if
/// start and end come from different blocks, the elements that leave position c upwards are
/// (those that start at c) · (those whose last end is beyond c). So the work is that of one line,
/// or of all links where one dim drives both axes.
class TableLoads : public LineLoads {
 public:
  TableLoads(const FlowTables& tables, const fabric::FabricMesh& mesh, Axis axis);
  void for_each_line(const Visit& visit) const override;
  StepLoads steps() const override;

 private:
  /// A flow of one line.
  struct Part {
    std::int32_t start = 0;
    Span1D ends;
    std::int64_t elements = 0;
  };
  /// Parts by line, one list behind the other.
  struct ByLine {
    std::vector<std::size_t> first;  ///< one more than lines
    std::vector<Part> parts;
  };
  /// Elements by position.
  using Tally = std::vector<std::pair<std::int32_t, std::int64_t>>;
  struct Ends;
  class Marks;

  const std::vector<Flow>& block(std::size_t i) const { return tables_.blocks[i].flows; }
  Part part(const Flow& flow) const {
    return lines_.axis == Axis::kAlongRows ? Part{flow.col, flow.cols, flow.elements}
                                           : Part{flow.row, flow.rows, flow.elements};
  }
  Span1D lines_of(const Flow& flow) const {
    return lines_.axis == Axis::kAlongRows ? Span1D{flow.row, 1, 1} : flow.cols;
  }
  bool is_separate() const { return line_ != start_ && line_ != end_; }
  std::vector<Part> parts_of(std::size_t i) const;
  /// How often the elements of start and end count on each line, without zeros and repetitions.
  std::vector<std::int64_t> multiples() const;
  ByLine by_line() const;
  template <typename OnParts, typename OnProduct>
  void for_each_form(const OnParts& on_parts, const OnProduct& on_product) const;

  static void set_starts(std::span<const Part> parts, Tally& starts);
  static void set_product(const Tally& starts, const Ends& ends, Marks& marks, LineLoad& load);
  static void set_parts(std::vector<Part>& parts, Marks& marks, LineLoad& load);
  static void product_steps(const Tally& starts, const Ends& ends, StepLoads& loads);
  static void sort_by_start(std::vector<Part>& parts);
  static void part_steps(std::vector<Part>& parts, StepLoads& loads);

  const FlowTables& tables_;
  Lines lines_;
  std::size_t line_ = 0;  ///< the blocks that decide line, start and end
  std::size_t start_ = 0;
  std::size_t end_ = 0;
  std::int64_t rest_ = 1;  ///< elements of the other blocks
};

}  // namespace tessera::reshard
