// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace tessera::test {

/// The smallest value that is not below `part` of the values: 0.5 for the median, 1 for the
/// largest.
double quantile(std::vector<double> values, double part);

/// Prints one row of the tables in docs/fabric.md: how far a formula is from a simulation, as
/// signed relative errors. Columns: name, moves, median, 90 %, largest, mean.
void print_error_row(std::string_view name, const std::vector<double>& errors);

}  // namespace tessera::test
