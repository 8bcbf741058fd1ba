// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/names.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::size_t kQuotedLength = 24;    // longer names are cut in messages
constexpr std::size_t kComparedLength = 32;  // longer names are not compared

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, row by row.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substituted, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string quote_name(std::string_view name) {
  std::string out = "'";
  for (const char c : name.substr(0, kQuotedLength)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      out += c;
      continue;
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    out += cat("\\x", kHex[byte / 16], kHex[byte % 16]);
  }
  return out + (name.size() > kQuotedLength ? "...'" : "'");
}

std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > kComparedLength) return std::nullopt;
  std::optional<std::string_view> nearest;
  std::size_t fewest = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const bool cut_short = name.size() > 2 && candidate.starts_with(name);
    const std::size_t edits = cut_short ? 1 : edit_distance(name, candidate);
    if (edits >= fewest || edits >= candidate.size()) continue;
    fewest = edits;
    nearest = candidate;
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  if (const auto nearest = nearest_name(name, candidates)) {
    return cat("did you mean '", *nearest, "'?");
  }
  std::string all;
  for (const std::string_view candidate : candidates) {
    all += cat(all.empty() ? "one of " : ", ", candidate);
  }
  return all;
}

}  // namespace tessera
