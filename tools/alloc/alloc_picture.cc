// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_picture.h"

#include <algorithm>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMostLines = 24;
constexpr std::size_t kNarrowest = 3;  // columns of a range of time
constexpr std::size_t kWidest = 12;
constexpr std::string_view kTimeLabel = "time";

/// The distinct numbers, increasing.
std::vector<std::int64_t> borders(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::size_t index_of(const std::vector<std::int64_t>& borders, std::int64_t number) {
  return static_cast<std::size_t>(std::lower_bound(borders.begin(), borders.end(), number) -
                                  borders.begin());
}

std::string right_aligned(std::string_view text, std::size_t width) {
  return cat(std::string(width - std::min(width, text.size()), ' '), text);
}

/// The first `columns` code points of a text that is safe for a terminal, padded with blanks.
std::string fitted(std::string_view text, std::size_t columns) {
  std::string out;
  std::size_t used = 0;
  for (const char c : printable(text)) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (begins && used == columns) break;
    used += begins ? 1 : 0;
    out += c;
  }
  return cat(out, std::string(columns - used, ' '));
}

/// The bars of one line, which do not overlap, by their start.
struct Bar {
  std::size_t from = 0;  ///< in columns of text
  std::size_t to = 0;
  std::string text;
};

std::string line_of(std::vector<Bar> bars) {
  std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.from < b.from; });
  std::string line;
  std::size_t at = 0;
  for (const Bar& bar : bars) {
    line += cat(std::string(bar.from - at, ' '), "[", fitted(bar.text, bar.to - bar.from - 2), "]");
    at = bar.to;
  }
  return line;
}

/// The moments below their columns; those that do not fit are left out.
std::string time_line(const std::vector<std::int64_t>& times, std::size_t width) {
  std::string line;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::size_t at = i * width;
    if (!line.empty() && line.size() + 1 > at) continue;
    line += cat(std::string(at - line.size(), ' '), times[i]);
  }
  return line;
}

}  // namespace

std::string plan_picture(std::span<const PlacedBlock> blocks, std::span<const std::string> ids,
                         const Terminal& terminal) {
  std::vector<std::int64_t> addresses;
  std::vector<std::int64_t> times;
  for (const PlacedBlock& held : blocks) {
    addresses.insert(addresses.end(), {held.offset, held.end()});
    times.insert(times.end(), {held.lower, held.upper});
  }
  addresses = borders(std::move(addresses));
  times = borders(std::move(times));
  if (blocks.empty() || addresses.size() - 1 > kMostLines) return "";
  const std::size_t label = std::max(std::to_string(addresses.back()).size(), std::size_t{7});
  const std::size_t last = std::to_string(times.back()).size();
  const std::size_t room = static_cast<std::size_t>(terminal.width);
  if (room < label + last + 1) return "";
  const std::size_t width = std::min(kWidest, (room - label - last - 1) / (times.size() - 1));
  if (width < kNarrowest) return "";
  std::string out = cat(right_aligned("address", label), "\n");
  for (std::size_t line = addresses.size() - 1; line-- > 0;) {
    std::vector<Bar> bars;
    for (const PlacedBlock& held : blocks) {
      if (held.offset > addresses[line] || held.end() <= addresses[line]) continue;
      const bool is_top = held.end() == addresses[line + 1];
      const std::string others = held.others > 0 ? cat(" +", held.others) : "";
      bars.push_back({index_of(times, held.lower) * width, index_of(times, held.upper) * width,
                      is_top ? cat(ids[held.buffer], others) : ""});
    }
    out += cat(right_aligned(std::to_string(addresses[line]), label), " ", line_of(std::move(bars)),
               "\n");
  }
  return out + cat(kTimeLabel, std::string(label - kTimeLabel.size(), ' '), " ",
                   time_line(times, width), "\n");
}

}  // namespace tessera::tools
