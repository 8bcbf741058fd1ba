// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace tessera {

/// Sorts a list and keeps the order of elements of which neither is less.
/// Example: {b2, a1, b1} by letter becomes {a1, b2, b1}.
/// std::stable_sort of libstdc++ allocates by a deprecated function, which clang reports as an
/// error.
template <typename T, typename Less>
void sort_stably(std::vector<T>& list, const Less& less) {
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    if (less(list[x], list[y])) return true;
    if (less(list[y], list[x])) return false;
    return x < y;
  });
  std::vector<T> sorted;
  sorted.reserve(list.size());
  for (const std::size_t number : order) sorted.push_back(std::move(list[number]));
  list = std::move(sorted);
}

}  // namespace tessera
