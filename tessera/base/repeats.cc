// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/repeats.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera {
namespace {

/// The earlier position of `numbers[at]`, which is known to exist, and `at`.
Repeat repeat_at(std::span<const std::int64_t> numbers, std::size_t at) {
  const auto found = std::find(numbers.begin(), numbers.end(), numbers[at]);
  return {static_cast<std::size_t>(found - numbers.begin()), at};
}

std::optional<Repeat> dense_repeat(std::span<const std::int64_t> numbers, std::uint64_t highest) {
  std::vector<std::uint64_t> seen(highest / 64 + 1, 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<std::uint64_t>(numbers[i]);
    std::uint64_t& word = seen[number / 64];
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    if ((word & bit) != 0) return repeat_at(numbers, i);
    word |= bit;
  }
  return std::nullopt;
}

std::optional<Repeat> sparse_repeat(std::span<const std::int64_t> numbers) {
  std::vector<std::pair<std::int64_t, std::size_t>> sorted;
  sorted.reserve(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) sorted.emplace_back(numbers[i], i);
  std::sort(sorted.begin(), sorted.end());
  std::size_t lowest = numbers.size();
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].first == sorted[i - 1].first) lowest = std::min(lowest, sorted[i].second);
  }
  if (lowest == numbers.size()) return std::nullopt;
  return repeat_at(numbers, lowest);
}

}  // namespace

std::optional<Repeat> first_repeat(std::span<const std::int64_t> numbers) {
  if (numbers.empty()) return std::nullopt;
  const auto highest =
      static_cast<std::uint64_t>(*std::max_element(numbers.begin(), numbers.end()));
  return highest / 64 <= numbers.size() ? dense_repeat(numbers, highest) : sparse_repeat(numbers);
}

}  // namespace tessera
