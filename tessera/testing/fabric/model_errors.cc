// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/fabric/model_errors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace tessera::test {

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

void print_error_row(std::string_view name, const std::vector<double>& errors) {
  std::vector<double> sizes;
  double sum = 0;
  for (const double error : errors) {
    sizes.push_back(std::fabs(error));
    sum += error;
  }
  std::printf("| %.*s | %zu | %.1f %% | %.1f %% | %.1f %% | %+.1f %% |\n",
              static_cast<int>(name.size()), name.data(), errors.size(), 100 * quantile(sizes, 0.5),
              100 * quantile(sizes, 0.9), 100 * quantile(sizes, 1),
              100 * sum / static_cast<double>(errors.size()));
}

}  // namespace tessera::test
