// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/calibration/parties.h"

#include <algorithm>
#include <optional>

#include "tessera/base/text.h"

namespace tessera::fabric {
namespace {

/// Places of rows [row, row + rows) and columns [column, column + columns).
struct Rectangle {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};

class Grid {
 public:
  Grid(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}

  bool contains(const Rectangle& r) const {
    return r.row + r.rows <= rows_ && r.column + r.columns <= columns_;
  }

  std::vector<std::int32_t> places(const Rectangle& r) const {
    std::vector<std::int32_t> list;
    for (std::int64_t row = r.row; row < r.row + r.rows; ++row) {
      for (std::int64_t column = r.column; column < r.column + r.columns; ++column) {
        list.push_back(static_cast<std::int32_t>(row * columns_ + column));
      }
    }
    return list;
  }

  /// The rectangle at (0, 0) of `count` places, or of the whole side for 0.
  std::optional<Rectangle> corner(Side side, std::int64_t count) const {
    if (side == Side::kOne) return Rectangle{};
    if (side == Side::kRow || side == Side::kColumn) {
      const std::int64_t most = side == Side::kRow ? columns_ : rows_;
      if (count > most) return std::nullopt;
      const std::int64_t length = count == 0 ? most : count;
      return side == Side::kRow ? Rectangle{0, 0, 1, length} : Rectangle{0, 0, length, 1};
    }
    if (count == 0) return Rectangle{0, 0, rows_, columns_};
    for (std::int64_t g = 1; g <= std::min(rows_, columns_); ++g) {
      if (g * g == count) return Rectangle{0, 0, g, g};
    }
    if (count % columns_ == 0 && count / columns_ <= rows_) {
      return Rectangle{0, 0, count / columns_, columns_};
    }
    if (count % rows_ == 0 && count / rows_ <= columns_) {
      return Rectangle{0, 0, rows_, count / rows_};
    }
    return std::nullopt;
  }

  /// Where masters outside of a rectangle are, if there is room: those of `size` beside it.
  std::optional<Rectangle> beside(Side side, const Rectangle& r, const Rectangle& size) const {
    const Rectangle right{0, r.columns, size.rows, size.columns};
    const Rectangle below{r.rows, 0, size.rows, size.columns};
    if (side != Side::kRow && contains(right)) return right;
    if (side != Side::kColumn && contains(below)) return below;
    return std::nullopt;
  }

  std::int64_t columns() const { return columns_; }
  std::int64_t rows() const { return rows_; }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
};

Error no_rectangle(const Measurement& m, const Grid& grid) {
  return Error{ErrorCode::kOutOfRange,
               cat(pattern_name(m.pattern), " with ", m.subordinates, " subordinates",
                   m.loopback ? " and loopback" : "", ": the machine's ", grid.rows(), "x",
                   grid.columns(), " places have no such rectangle"),
               std::nullopt,
               "subordinates are a square, whole rows or whole columns, with room for a master "
               "outside them; unicast from inside does not count the master"};
}

/// Masters, and the places that all of them move data to or from.
struct Sides {
  std::vector<std::int32_t> masters;
  std::vector<std::int32_t> subordinates;
};

Result<Sides> one_master(const Grid& grid, const Measurement& m) {
  const Side side = m.pattern.subordinates;
  if (side == Side::kOne) {
    const std::int64_t step = m.same_axis ? 0 : 1;
    const Rectangle other{1, step, 1, 1};
    if (m.subordinates > 1 || !grid.contains(other)) return no_rectangle(m, grid);
    return Sides{grid.places({}), grid.places(m.loopback ? Rectangle{} : other)};
  }
  const std::optional<Rectangle> exact =
      m.subordinates == 0 && !m.loopback ? std::nullopt : grid.corner(side, m.subordinates);
  if (m.loopback) {
    if (!exact) return no_rectangle(m, grid);
    return Sides{grid.places({}), grid.places(*exact)};
  }
  // Writes and reads one by one to a row or column begin inside of it; all others prefer outside.
  const bool inside = m.method == Method::kUnicast;
  const bool prefers_inside = inside && side != Side::kAll;
  const auto around = [&]() -> std::optional<Sides> {
    const std::int64_t count = m.subordinates == 0 ? 0 : m.subordinates + 1;
    const std::optional<Rectangle> larger = grid.corner(side, count);
    if (!larger || larger->rows * larger->columns < 2) return std::nullopt;
    Sides sides{grid.places({}), grid.places(*larger)};
    sides.subordinates.erase(sides.subordinates.begin());
    return sides;
  };
  if (prefers_inside) {
    if (const std::optional<Sides> sides = around()) return *sides;
  }
  if (exact) {
    const std::optional<Rectangle> master = grid.beside(side, *exact, Rectangle{});
    if (master) return Sides{grid.places(*master), grid.places(*exact)};
  }
  if (inside) {
    if (const std::optional<Sides> sides = around()) return *sides;
  }
  return no_rectangle(m, grid);
}

Result<Sides> many_masters(const Grid& grid, const Measurement& m) {
  const Side side = m.pattern.masters;
  const std::optional<Rectangle> all = grid.corner(side, m.subordinates);
  if (!all) return no_rectangle(m, grid);
  if (m.method == Method::kUnicast || m.loopback) {
    return Sides{grid.places(*all), grid.places(*all)};
  }
  const std::optional<Rectangle> outside = grid.beside(side, *all, *all);
  if (!outside) return no_rectangle(m, grid);
  return Sides{grid.places(*outside), grid.places(*all)};
}

Result<Parties> with_banks(const Topology& topology, const Machine& machine, const Grid& grid,
                           const Measurement& m) {
  const Side side = m.pattern.masters;
  const std::optional<Rectangle> all = grid.corner(side, side == Side::kOne ? 0 : m.subordinates);
  if (!all) return no_rectangle(m, grid);
  const std::int64_t banks =
      machine.memory[static_cast<std::size_t>(m.far.memory)].banks.value_or(0);
  using Spread = FarMemory::Spread;
  const bool in_turn = m.far.spread == Spread::kInterleaved ||
                       (m.far.spread == Spread::kBanks && m.pattern.subordinates == Side::kAll);
  const std::int64_t used = in_turn ? std::min(banks, m.transactions) : 1;
  Parties parties{grid.places(*all), {}};
  if (std::ssize(parties.masters) > kMaxPairs / std::max<std::int64_t>(used, 1)) {
    return Error{ErrorCode::kTooLarge, cat(parties.masters.size(), " places and ", used, " banks"),
                 std::nullopt, cat("at most ", kMaxPairs, " pairs are routed")};
  }
  for (std::int64_t i = 0; i < std::ssize(parties.masters); ++i) {
    std::vector<std::int32_t> list;
    for (std::int64_t k = 0; k < used; ++k) {
      TESSERA_TRY(const std::int64_t bank, topology.bank(m.far.memory, 0, (i + k) % banks));
      list.push_back(static_cast<std::int32_t>(bank));
    }
    parties.far.push_back(std::move(list));
  }
  return parties;
}

}  // namespace

std::optional<std::int64_t> measured_places(const Machine& machine,
                                            std::span<const Measurement> measurements) {
  const std::vector<std::int64_t>& extents = machine.mesh.back().extents;
  if (extents.size() != 2) return std::nullopt;
  const Grid grid(extents[0], extents[1]);
  std::optional<std::int64_t> most;
  for (const Measurement& m : measurements) {
    const bool places = m.far.spread == FarMemory::Spread::kPlaces;
    if (!places || m.pattern.subordinates != Side::kAll || m.subordinates == 0) continue;
    if (m.subordinates > kMaxPairs) continue;
    std::optional<Rectangle> found = grid.corner(Side::kAll, m.subordinates);
    const bool less_itself =
        m.method == Method::kUnicast && m.pattern.masters == Side::kOne && !m.loopback;
    if (!found && less_itself) found = grid.corner(Side::kAll, m.subordinates + 1);
    if (!found || (found->rows < grid.rows() && found->columns < grid.columns())) continue;
    most = std::max(most.value_or(0), found->rows * found->columns);
  }
  return most;
}

Result<Parties> parties_of(const Topology& topology, const Machine& machine,
                           const Measurement& measurement) {
  const std::vector<std::int64_t>& extents = machine.mesh.back().extents;
  if (extents.size() != 2) {
    return Error{ErrorCode::kNotSupported,
                 cat("the places of ", machine.name, " have ", extents.size(), " coordinates"),
                 std::nullopt, "patterns are defined on rows and columns"};
  }
  const Grid grid(extents[0], extents[1]);
  if (measurement.far.spread != FarMemory::Spread::kPlaces) {
    return with_banks(topology, machine, grid, measurement);
  }
  const bool one = measurement.pattern.masters == Side::kOne;
  if (measurement.subordinates > kMaxPairs ||
      (measurement.subordinates == 0 && grid.rows() > kMaxPairs / grid.columns())) {
    return no_rectangle(measurement, grid);
  }
  TESSERA_TRY(Sides sides, one ? one_master(grid, measurement) : many_masters(grid, measurement));
  if (measurement.method == Method::kUnicast &&
      measurement.transactions < std::ssize(sides.subordinates)) {
    sides.subordinates.resize(static_cast<std::size_t>(measurement.transactions));
  }
  if (std::ssize(sides.masters) > kMaxPairs / std::ssize(sides.subordinates)) {
    return Error{ErrorCode::kTooLarge,
                 cat(sides.masters.size(), " places to ", sides.subordinates.size()), std::nullopt,
                 cat("at most ", kMaxPairs, " pairs are routed")};
  }
  Parties parties{std::move(sides.masters), {}};
  parties.far.assign(parties.masters.size(), sides.subordinates);
  return parties;
}

}  // namespace tessera::fabric
