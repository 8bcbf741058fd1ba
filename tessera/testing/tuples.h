// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::test {

/// Runs `visit(values)` for every tuple with values[i] in [0, counts[i]).
template <typename Visit>
void for_each_tuple(const std::vector<std::int64_t>& counts, const Visit& visit) {
  for (const std::int64_t count : counts) {
    if (count <= 0) return;
  }
  std::vector<std::int64_t> values(counts.size(), 0);
  while (true) {
    visit(values);
    std::size_t i = counts.size();
    while (i > 0) {
      if (++values[i - 1] < counts[i - 1]) break;
      values[i - 1] = 0;
      --i;
    }
    if (i == 0) return;
  }
}

}  // namespace tessera::test
