// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/compare.h"
#include "tessera/notation/memory_digits.h"
#include "tessera/notation/plain_memory.h"
#include "tessera/notation/xla.h"

/// Layout → XLA words. The digits in memory order are grids of tiles, then tiles, then tiles of
/// tiles; where one level ends and the next begins is found by trying every border, and a guess
/// counts only when it lowers to the same function.
namespace tessera {
namespace {

constexpr std::size_t kMostDigits = 12;  // borders are tried in pairs

Error cannot_say(std::string_view what) {
  return Error{ErrorCode::kNotSupported, cat("xla{} cannot say ", what), std::nullopt,
               "the native notation can"};
}

using Digits = std::vector<MemoryDigit>;

bool has_line(const Digits& level, int line) {
  return std::any_of(level.begin(), level.end(),
                     [&](const MemoryDigit& digit) { return digit.line == line; });
}

bool repeats_line(const Digits& level) {
  for (std::size_t i = 0; i < level.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (level[i].line == level[j].line) return true;
    }
  }
  return false;
}

/// Lines from slowest to fastest: those of the grid in its order, and those that only tiles have
/// before the next one that the grid has too.
std::vector<int> physical_order(const std::vector<Digits>& levels) {
  std::vector<int> order;
  for (const MemoryDigit& digit : levels.front()) order.push_back(digit.line);
  for (std::size_t k = 1; k < levels.size(); ++k) {
    auto before = order.end();
    for (auto digit = levels[k].rbegin(); digit != levels[k].rend(); ++digit) {
      const auto found = std::find(order.begin(), order.end(), digit->line);
      before = found != order.end() ? found : order.insert(before, digit->line);
    }
  }
  return order;
}

/// The tile of level k, one number for each line from the slowest that has one.
std::vector<std::int64_t> tile_of_level(const std::vector<Digits>& levels, std::size_t k,
                                        const std::vector<int>& order) {
  std::vector<std::int64_t> tile;
  for (const int line : order) {
    std::int64_t outer_width = 0;  // of the nearest level above that has the line
    Checked covered = 1;           // by this level and those inside it
    std::int64_t inner_width = 1;
    for (std::size_t level = 0; level < levels.size(); ++level) {
      for (const MemoryDigit& digit : levels[level]) {
        if (digit.line != line) continue;
        if (level < k) outer_width = digit.width;
        if (level >= k) covered *= digit.count;
        if (level >= k) inner_width = digit.width;
      }
    }
    const bool here = has_line(levels[k], line);
    const std::int64_t size = !here ? 1 : outer_width > 0 ? outer_width : covered.saturated();
    if (size > 1 || !tile.empty()) tile.push_back(std::max<std::int64_t>(size / inner_width, 1));
  }
  return tile;
}

XlaLayout guess(const MemoryDigits& memory, const std::vector<Digits>& levels, const Shape& shape) {
  const std::vector<int> order = physical_order(levels);
  XlaLayout words;
  std::vector<bool> placed(shape.rank(), false);
  for (auto line = order.rbegin(); line != order.rend(); ++line) {
    const std::vector<int>& dims = memory.lines[static_cast<std::size_t>(*line)];
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
      words.minor_to_major.push_back(*dim);
      placed[static_cast<std::size_t>(*dim)] = true;
    }
  }
  for (std::size_t dim = shape.rank(); dim-- > 0;) {
    if (!placed[dim]) words.minor_to_major.push_back(static_cast<std::int64_t>(dim));
  }
  for (std::size_t k = 1; k < levels.size(); ++k) {
    std::vector<std::int64_t> tile = tile_of_level(levels, k, order);
    if (k == 1) {
      // A joined line is one number of the tile with a `*` for each further dim.
      for (std::size_t i = tile.size(); i-- > 0;) {
        const int line = order[order.size() - (tile.size() - i)];
        const std::size_t joined = memory.lines[static_cast<std::size_t>(line)].size() - 1;
        tile.insert(tile.begin() + static_cast<std::ptrdiff_t>(i), joined, XlaLayout::kCombine);
        if (joined > 0) break;  // positions before it no longer match; at most one join is tried
      }
    }
    if (tile.empty()) tile = {1};
    words.tiles.push_back(std::move(tile));
  }
  return words;
}

/// Dims of extent 1 take part in nothing; where row-major order has them is the nicer place.
XlaLayout with_natural_ones(const XlaLayout& words, const Shape& shape) {
  XlaLayout natural;
  natural.tiles = words.tiles;
  for (const std::int64_t dim : words.minor_to_major) {
    if (shape[static_cast<std::size_t>(dim)] != 1) natural.minor_to_major.push_back(dim);
  }
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] != 1) continue;
    const auto number = static_cast<std::int64_t>(dim);
    const auto slower = std::find_if(natural.minor_to_major.begin(), natural.minor_to_major.end(),
                                     [&](std::int64_t other) { return other < number; });
    natural.minor_to_major.insert(slower, number);
  }
  return natural;
}

bool says(const XlaLayout& words, const Layout& layout) {
  const Result<Layout> lowered = lower(words, layout.shape(), layout.dtype());
  if (!lowered || lowered->slots() != layout.slots()) return false;
  const Result<Comparison> same = same_function(*lowered, layout);
  return same && same->equal;
}

/// Slots below the fastest digit's step are a tile over dims of extent 1: one of them stands for
/// it.
void add_padding_digit(MemoryDigits& memory, const Layout& layout) {
  const std::int64_t step = memory.digits.empty() ? layout.slots() : memory.digits.back().stride;
  const Shape& shape = layout.shape();
  for (std::size_t dim = shape.rank(); dim-- > 0 && step > 1;) {
    if (shape[dim] != 1) continue;
    memory.digits.push_back({static_cast<int>(memory.lines.size()), 1, 1, 1, step});
    memory.lines.push_back({static_cast<int>(dim)});
    return;
  }
}

}  // namespace

Result<XlaLayout> raise_xla(const Layout& layout) {
  LayoutSpec plain = layout.spec();
  std::optional<std::int64_t> space;
  if (plain.space.size() > 1 && plain.space.front() == 's' &&
      plain.space.find_first_not_of("0123456789", 1) == std::string::npos &&
      plain.space.size() < 18) {
    space = std::stoll(plain.space.substr(1));
    plain.space.clear();
  }
  if (const auto what = beyond_plain_memory(plain)) return cannot_say(*what);
  Result<MemoryDigits> memory = memory_digits(layout);
  if (!memory) return cannot_say(memory.error().message);
  add_padding_digit(*memory, layout);
  const Digits& digits = memory->digits;
  if (digits.size() > kMostDigits) return cannot_say(cat(digits.size(), " digits"));
  const std::size_t n = digits.size();
  // first == second == n: no tiles; second == n: one level of tiles; else two.
  for (std::size_t levels = 1; levels <= 3; ++levels) {
    for (std::size_t first = levels == 1 ? n : 0; first <= n; ++first) {
      for (std::size_t second = levels == 3 ? first : n; second <= n; ++second) {
        std::vector<Digits> split = {Digits(digits.begin(), digits.begin() + first)};
        if (levels > 1) split.emplace_back(digits.begin() + first, digits.begin() + second);
        if (levels > 2) split.emplace_back(digits.begin() + second, digits.end());
        if (std::any_of(split.begin(), split.end(), repeats_line)) continue;
        XlaLayout words = guess(*memory, split, layout.shape());
        words.memory_space = space;
        XlaLayout natural = with_natural_ones(words, layout.shape());
        natural.memory_space = space;
        if (says(natural, layout)) return natural;
        if (says(words, layout)) return words;
      }
    }
  }
  return cannot_say("this order of digits: no grid of tiles, or of tiles in tiles, gives it");
}

}  // namespace tessera
