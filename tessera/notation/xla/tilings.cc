// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/xla/tilings.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::notation {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The contents of a physical dim: digits first .. end-1 of a line, widest first; empty when first
/// = end.
struct Piece {
  int line = -1;
  std::size_t first = 0;
  std::size_t end = 0;
  std::int64_t range = 1;  ///< values, in steps of the last digit
};

/// One number of a tile: dim `source` is split by `size`. Dims are numbered in their current order;
/// kMissing is the dim that a tile of higher rank than the shape adds on the left.
struct Move {
  std::size_t source = 0;
  std::int64_t size = 1;
};
constexpr std::size_t kMissing = SIZE_MAX;
using Level = std::vector<Move>;

class TileMoves {
 public:
  /// `units` are the physical dims, slowest first: a line, or -1 for a dim of extent 1.
  TileMoves(const MemoryDigits& memory, const std::vector<int>& units, const Shape& shape)
      : memory_(memory), widths_(memory.lines.size()) {
    for (const MemoryDigit& digit : memory.digits) {
      widths_[static_cast<std::size_t>(digit.line)].push_back(digit.width);
    }
    for (Numbers& widths : widths_) std::sort(widths.rbegin(), widths.rend());
    for (const int line : units) {
      Piece piece;
      if (line >= 0) {
        piece.line = line;
        piece.end = widths_[static_cast<std::size_t>(line)].size();
        for (const int dim : memory.lines[static_cast<std::size_t>(line)]) {
          piece.range *= shape[static_cast<std::size_t>(dim)];
        }
      }
      pieces_.push_back(piece);
    }
    level_begin_ = pieces_.size();
  }

  /// The levels that put every digit in its place after the first `outer` ones. `padded` is the dim
  /// of extent 1 that takes the slots below the fastest digit's step.
  std::vector<Level> run(std::size_t outer, std::size_t padded) {
    for (std::size_t i = outer; i < memory_.digits.size(); ++i) bring(memory_.digits[i]);
    if (memory_.step() > 1) move(padded, memory_.step(), {});
    return std::move(levels_);
  }

 private:
  void bring(const MemoryDigit& digit) {
    const Numbers& widths = widths_[static_cast<std::size_t>(digit.line)];
    const auto wanted = static_cast<std::size_t>(
        std::find(widths.begin(), widths.end(), digit.width) - widths.begin());
    std::size_t at = 0;
    while (pieces_[at].line != digit.line || wanted < pieces_[at].first ||
           wanted >= pieces_[at].end) {
      ++at;
    }
    while (pieces_[at].first < wanted) {
      // Only pieces that reach to width 1 have several digits, so widths count single points.
      const Piece whole = pieces_[at];
      const std::int64_t width = widths[whole.first];
      pieces_[at].end = whole.first + 1;
      pieces_[at].range = ceil_div(whole.range, width);
      move(at, width, {digit.line, whole.first + 1, whole.end, width});
      at = pieces_.size() - 1;
    }
    const bool single = pieces_[at].end == wanted + 1;
    const std::int64_t unit = single ? 1 : digit.width;
    const bool in_place = at + 1 == pieces_.size() && !levels_.empty() &&
                          ceil_div(pieces_[at].range, unit) == digit.count;
    if (in_place) return;
    const std::int64_t size = (Checked(unit) * digit.count).saturated();
    const Piece moved{digit.line, wanted, pieces_[at].end, size};
    pieces_[at] = {};
    move(at, size, moved);
  }

  void move(std::size_t source, std::int64_t size, const Piece& moved) {
    const bool joins =
        !levels_.empty() && source != kMissing && source < level_begin_ &&
        (levels_.back().back().source == kMissing || levels_.back().back().source < source);
    if (!joins) {
      levels_.emplace_back();
      level_begin_ = pieces_.size();
    }
    levels_.back().push_back({source, size});
    pieces_.push_back(moved);
  }

  const MemoryDigits& memory_;
  std::vector<Numbers> widths_;  ///< of each line, decreasing
  std::vector<Piece> pieces_;
  std::vector<Level> levels_;
  std::size_t level_begin_ = 0;  ///< dims before the last level
};

/// A physical dim before tiling: a line, or a dim of extent 1 (line -1).
struct Unit {
  int line = -1;
  std::vector<int> dims;
};

XlaLayout words_of(const std::vector<Level>& levels, const std::vector<Unit>& units) {
  XlaLayout words;
  for (const Unit& unit : std::views::reverse(units)) {
    words.minor_to_major.insert(words.minor_to_major.end(), unit.dims.rbegin(), unit.dims.rend());
  }
  // The numbers of the dims in order; ones that tiles put between them have none.
  std::vector<std::optional<std::size_t>> row;
  for (std::size_t i = 0; i < units.size(); ++i) row.emplace_back(i);
  std::size_t numbered = units.size();
  std::size_t numbers = 0;
  for (const Level& level : levels) {
    if (numbers > kMaxXlaNumbers) break;  // refused anyway; each level may double the row
    const bool first = words.tiles.empty();
    Numbers tile;
    std::vector<std::optional<std::size_t>> inner;
    auto move = level.begin();
    if (move->source == kMissing) {
      tile.push_back(move++->size);
      inner.emplace_back(numbered++);
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool moves = move != level.end() && row[i] == move->source;
      // `*` is allowed only in the first tile, so it reaches back to the first joined line.
      const std::size_t joined = first && i < units.size() ? units[i].dims.size() - 1 : 0;
      if (!moves && joined == 0 && tile.empty()) continue;
      tile.insert(tile.end(), joined, XlaLayout::kCombine);
      tile.push_back(moves ? move->size : 1);
      inner.push_back(moves ? std::optional(numbered++) : std::nullopt);
      if (moves) ++move;
    }
    if (level.front().source == kMissing) row.insert(row.begin(), std::nullopt);
    row.insert(row.end(), inner.begin(), inner.end());
    numbers += tile.size();
    words.tiles.push_back(std::move(tile));
  }
  return words;
}

/// How dims whose order no outer digit determines are ordered.
struct Freedom {
  std::size_t outer;  ///< digits that stay where they are
  bool by_memory;     ///< lines go before the line of the next digit in memory; else by dim
  bool ones_slowest;  ///< dims of extent 1 go first; else by dim
};

std::vector<Unit> ordered_units(const MemoryDigits& memory, const Shape& shape, Freedom freedom) {
  std::vector<Unit> units;
  const auto unit_of = [&](int line) {
    return std::find_if(units.begin(), units.end(),
                        [&](const Unit& unit) { return unit.line == line; });
  };
  const auto make = [&](int line) {
    return Unit{line, memory.lines[static_cast<std::size_t>(line)]};
  };
  const auto insert_by_dim = [&](Unit unit) {
    const auto at = std::find_if(units.begin(), units.end(), [&](const Unit& other) {
      return other.dims.front() > unit.dims.front();
    });
    units.insert(at, std::move(unit));
  };
  for (std::size_t i = 0; i < freedom.outer; ++i) units.push_back(make(memory.digits[i].line));
  std::ptrdiff_t before = std::ssize(units);
  for (std::size_t i = memory.digits.size(); freedom.by_memory && i-- > freedom.outer;) {
    const MemoryDigit& digit = memory.digits[i];
    if (const auto held = unit_of(digit.line); held != units.end()) {
      before = held - units.begin();
    } else if (digit.top) {  // a line is placed by its slowest digit
      units.insert(units.begin() + before, make(digit.line));
    }
  }
  for (int line = 0; line < static_cast<int>(memory.lines.size()); ++line) {
    if (unit_of(line) == units.end()) insert_by_dim(make(line));
  }
  std::ptrdiff_t ones = 0;
  for (int dim = 0; dim < static_cast<int>(shape.rank()); ++dim) {
    if (shape[static_cast<std::size_t>(dim)] != 1) continue;
    if (freedom.ones_slowest) {
      units.insert(units.begin() + ones++, Unit{-1, {dim}});
    } else {
      insert_by_dim({-1, {dim}});
    }
  }
  return units;
}

/// Fewer tiles, then fewer numbers, then row-major.
auto plainness(const XlaLayout& words) {
  std::size_t numbers = 0;
  for (const Numbers& tile : words.tiles) numbers += tile.size();
  Numbers order = words.minor_to_major;
  for (std::int64_t& dim : order) dim = -dim;  // row-major has the highest dim first
  return std::tuple(words.tiles.size(), numbers, std::move(order));
}

}  // namespace

std::vector<XlaLayout> xla_tilings(const MemoryDigits& memory, const Shape& shape) {
  std::vector<XlaLayout> found;
  const auto add = [&](Freedom freedom) {
    const std::vector<Unit> units = ordered_units(memory, shape, freedom);
    std::vector<int> lines;
    std::size_t one = kMissing;  // the fastest dim of extent 1
    for (const Unit& unit : units) {
      if (unit.line < 0) one = lines.size();
      lines.push_back(unit.line);
    }
    found.push_back(words_of(TileMoves(memory, lines, shape).run(freedom.outer, one), units));
    if (one == kMissing || memory.step() == 1) return;
    found.push_back(words_of(TileMoves(memory, lines, shape).run(freedom.outer, kMissing), units));
  };
  const std::size_t most = memory.outer();
  for (std::size_t outer = most + 1; outer-- > 0;) {
    for (const bool by_memory : {false, true}) {
      for (const bool ones_slowest : {false, true}) add({outer, by_memory, ones_slowest});
    }
    if (outer == most && found.front().tiles.empty()) break;
  }
  std::sort(found.begin(), found.end(),
            [](const XlaLayout& a, const XlaLayout& b) { return plainness(a) < plainness(b); });
  return found;
}

}  // namespace tessera::notation
