// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::fabric {

/// A constant plus multiples of terms. No factor is negative.
struct LinearForm {
  struct Part {
    std::int32_t term = 0;
    double factor = 0;
  };
  double constant = 0;
  std::vector<Part> parts;

  double at(std::span<const double> terms) const;
};

/// always + the largest of `alternatives` (0 if there are none).
/// Example: overhead + max((n - 1)·issue, n·b·cycles_per_byte).
struct CycleForm {
  LinearForm always;
  std::vector<LinearForm> alternatives;

  double at(std::span<const double> terms) const;
  /// The alternative that is the largest, the first on a tie; null if there are none.
  const LinearForm* largest(std::span<const double> terms) const;
};

/// A measured value and the form that predicts it.
struct Observation {
  CycleForm form;
  double cycles = 1;  ///< above 0
};

/// What a fit found for each term.
struct RelativeFit {
  std::vector<double> terms;        ///< at least 0
  std::vector<bool> is_determined;  ///< the others have the value that was given
  std::vector<std::int64_t> rows;   ///< observations in which the term counts
  double mean_error = 0;            ///< mean of |prediction / measurement - 1|
};

/// The terms with the least sum of relative errors |prediction / measurement - 1|: a fit that a few
/// outliers do not move. It is found by weighted least squares, repeated with the weights of the
/// last errors; equal inputs give equal results.
///
/// A term is determined if it counts in at least kLeastRows observations and is not a combination
/// of terms before it. Others keep the value in `given`: put the terms that are best known last.
/// Law: observations that follow the forms exactly give back their terms.
RelativeFit fit_relative(std::span<const Observation> observations, std::span<const double> given);

inline constexpr std::int64_t kLeastRows = 3;

}  // namespace tessera::fabric
