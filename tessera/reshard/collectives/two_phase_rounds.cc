// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/reshard/collectives/schedule_parts.h"

// Members are numbered row-major: member r·C + c is in row r and column c.

namespace tessera::reshard {
namespace {

using Blocks = BlockRanges;

/// Phases of rows and of columns, each by the inner algorithm.
class RowsAndColumns {
 public:
  RowsAndColumns(std::int64_t members, std::int64_t root, const AlgorithmChoice& choice)
      : rows_(choice.rows),
        columns_(members / choice.rows),
        root_(root),
        inner_{choice.inner, choice.segments, 1, choice.inner} {}

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

  using BlockMap = std::function<Blocks(std::int64_t group, std::int64_t block)>;
  /// Every row carries out the collective.
  Result<Phase> in_rows(CollectiveKind kind, BlockMap blocks) const {
    TESSERA_TRY(Schedule schedule, schedule_of(kind, columns_, root_ % columns_, inner_));
    return Phase{std::move(schedule), rows_,
                 [c = columns_](std::int64_t row, std::int64_t m) { return row * c + m; },
                 std::move(blocks)};
  }
  /// Every column does.
  Result<Phase> in_columns(CollectiveKind kind, BlockMap blocks) const {
    TESSERA_TRY(Schedule schedule, schedule_of(kind, rows_, root_ / columns_, inner_));
    return Phase{std::move(schedule), columns_,
                 [c = columns_](std::int64_t column, std::int64_t m) { return m * c + column; },
                 std::move(blocks)};
  }
  /// Only the column of the root does.
  Result<Phase> in_root_column(CollectiveKind kind, BlockMap blocks) const {
    TESSERA_TRY(Phase phase, in_columns(kind, std::move(blocks)));
    phase.groups = 1;
    phase.member = [c = columns_, column = root_ % columns_](std::int64_t, std::int64_t m) {
      return m * c + column;
    };
    return phase;
  }

  /// The block of a member of a row, and all blocks of a row.
  BlockMap own() const {
    return [c = columns_](std::int64_t row, std::int64_t b) { return Blocks{{row * c + b, 1}}; };
  }
  BlockMap of_row() const {
    return [c = columns_](std::int64_t, std::int64_t row) { return Blocks{{row * c, c}}; };
  }
  static BlockMap same() {
    return [](std::int64_t, std::int64_t block) { return Blocks{{block, 1}}; };
  }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t root_;
  AlgorithmChoice inner_;
};

/// First to the right column, then to the right row.
Result<Schedule> exchange(std::int64_t members, const RowsAndColumns& grid) {
  const std::int64_t rows = grid.rows();
  const std::int64_t columns = grid.columns();
  // In row r, what member c has for column d is for all rows of that column.
  TESSERA_TRY(Phase first,
              grid.in_rows(CollectiveKind::kAllToAll, [=](std::int64_t r, std::int64_t block) {
                const std::int64_t source = r * columns + block / columns;
                Blocks blocks;
                for (std::int64_t row = 0; row < rows; ++row) {
                  blocks.push_back({source * members + row * columns + block % columns, 1});
                }
                return blocks;
              }));
  // In column d, what member r has for row s came from all columns of row r.
  TESSERA_TRY(Phase second,
              grid.in_columns(CollectiveKind::kAllToAll, [=](std::int64_t d, std::int64_t block) {
                const std::int64_t destination = block % rows * columns + d;
                Blocks blocks;
                for (std::int64_t column = 0; column < columns; ++column) {
                  const std::int64_t source = block / rows * columns + column;
                  blocks.push_back({source * members + destination, 1});
                }
                return blocks;
              }));
  return in_phases(CollectiveKind::kAllToAll, members, members * members, 0,
                   {std::move(first), std::move(second)});
}

/// Members of a row share the work of combining; each column combines one part.
Result<Schedule> all_reduce(std::int64_t members, const RowsAndColumns& grid) {
  TESSERA_TRY(Phase middle, grid.in_columns(CollectiveKind::kAllReduce, {}));
  const std::int64_t parts = middle.schedule.blocks();
  middle.blocks = [parts](std::int64_t column, std::int64_t block) {
    return Blocks{{column * parts + block, 1}};
  };
  const auto of_column = [parts](std::int64_t, std::int64_t column) {
    return Blocks{{column * parts, parts}};
  };
  TESSERA_TRY(Phase first, grid.in_rows(CollectiveKind::kReduceScatter, of_column));
  TESSERA_TRY(Phase last, grid.in_rows(CollectiveKind::kAllGather, of_column));
  return in_phases(CollectiveKind::kAllReduce, members, grid.columns() * parts, 0,
                   {std::move(first), std::move(middle), std::move(last)});
}

}  // namespace

Result<Schedule> two_phase_rounds(CollectiveKind kind, std::int64_t members, std::int64_t root,
                                  const AlgorithmChoice& choice) {
  const RowsAndColumns grid(members, root, choice);
  const auto two = [&](std::int64_t blocks, Phase first, Phase second) {
    return in_phases(kind, members, blocks, root, {std::move(first), std::move(second)});
  };
  switch (kind) {
    case CollectiveKind::kAllToAll:
      return exchange(members, grid);
    case CollectiveKind::kAllReduce:
      return all_reduce(members, grid);
    case CollectiveKind::kAllGather: {
      TESSERA_TRY(Phase rows, grid.in_rows(kind, grid.own()));
      TESSERA_TRY(Phase columns, grid.in_columns(kind, grid.of_row()));
      return two(members, std::move(rows), std::move(columns));
    }
    case CollectiveKind::kReduceScatter: {
      TESSERA_TRY(Phase columns, grid.in_columns(kind, grid.of_row()));
      TESSERA_TRY(Phase rows, grid.in_rows(kind, grid.own()));
      return two(members, std::move(columns), std::move(rows));
    }
    case CollectiveKind::kScatter:
    case CollectiveKind::kBroadcast: {
      const bool scatters = kind == CollectiveKind::kScatter;
      TESSERA_TRY(Phase column, grid.in_root_column(kind, scatters ? grid.of_row() : grid.same()));
      TESSERA_TRY(Phase rows, grid.in_rows(kind, scatters ? grid.own() : grid.same()));
      const std::int64_t blocks = scatters ? members : rows.schedule.blocks();
      return two(blocks, std::move(column), std::move(rows));
    }
    default: {  // gather and reduce
      const bool gathers = kind == CollectiveKind::kGather;
      TESSERA_TRY(Phase rows, grid.in_rows(kind, gathers ? grid.own() : grid.same()));
      TESSERA_TRY(Phase column, grid.in_root_column(kind, gathers ? grid.of_row() : grid.same()));
      const std::int64_t blocks = gathers ? members : rows.schedule.blocks();
      return two(blocks, std::move(rows), std::move(column));
    }
  }
}

}  // namespace tessera::reshard
