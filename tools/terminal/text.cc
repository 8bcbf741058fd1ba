// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/text.h"

#include <algorithm>
#include <vector>

#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kQuoted = 60;  // letters of a quoted text that are shown
constexpr std::size_t kLongestName = 40;

/// The number of letters to change, insert, delete or swap with their neighbour to turn `a` into
/// `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string quote(std::string_view text) {
  const bool shortened = text.size() > kQuoted;
  std::size_t end = std::min(text.size(), kQuoted);
  while (shortened && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  std::string out = "'";
  for (const char c : text.substr(0, end)) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    out += is_control ? '?' : c;
  }
  out += shortened ? "...'" : "'";
  return out;
}

std::vector<std::string_view> paragraphs_of(std::string_view text) {
  std::vector<std::string_view> paragraphs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    paragraphs.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return paragraphs;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names,
                         std::string_view otherwise) {
  if (name.size() > kLongestName) return std::string(otherwise);
  std::string_view best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : names) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance > std::max<std::size_t>(1, candidate.size() / 3)) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? std::string(otherwise) : cat("did you mean '", best, "'?");
}

std::string count_of(std::int64_t count, std::string_view singular) {
  return count_of(count, singular, cat(singular, "s"));
}

std::string count_of(std::int64_t count, std::string_view singular, std::string_view plural) {
  return cat(count, " ", count == 1 ? singular : plural);
}

}  // namespace tessera::tools
