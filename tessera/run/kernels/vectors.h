// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// Rows of numbers, one vector after the other, in the best instruction set of the processor. A row
/// may begin at any address that its elements may have.
namespace tessera::run::kernels {

/// What is computed for each element of a row.
enum class RowMap : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kPrelu,
  kRelu,
  kNeg,
  kAbs,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kFloor,
  kCeil,
  kRound,
  kLeakyRelu,
  kHardSigmoid,
  kHardSwish,
  kSoftsign,
  kThresholdedRelu,
  kClip,           ///< of x, low and high
  kBatchNorm,      ///< scale·(x - mean) / sqrt(variance + alpha) + bias; inputs as of the op
  kScaleAndShift,  ///< (x - alpha)·beta·scale + bias of x, scale and bias
  // Of f32 only:
  kExp,
  kErf,
  kTanh,
  kSigmoid,
  kGelu,
  kGeluTanh,
};

constexpr std::size_t kMostRows = 5;

/// Rows that are read, each with step 1, or 0 for a number that all elements share.
template <typename T>
struct RowInputs {
  std::array<const T*, kMostRows> rows{};
  std::array<std::int64_t, kMostRows> steps{};
};

/// Constants of a map, from the attributes of its op.
struct RowConstants {
  double alpha = 0;
  double beta = 0;
};

/// The map of an elementwise op on T (float or double), and how many inputs it reads; nothing where
/// there is none. `tanh_form`: gelu is approximated by tanh.
struct RowMapOfOp {
  RowMap map;
  std::size_t inputs = 1;
};
template <typename T>
std::optional<RowMapOfOp> row_map_of(std::string_view op, bool tanh_form);

/// to[n] = map(inputs[n]). An input row may be `to`. Results of maps up to kScaleAndShift are those
/// of the same operations in scalars; for the errors of others see vector_math.inc.
void map_row(RowMap map, const RowConstants& constants, const RowInputs<float>& inputs, float* to,
             std::int64_t count);
void map_row(RowMap map, const RowConstants& constants, const RowInputs<double>& inputs, double* to,
             std::int64_t count);

/// Softmax or its logarithm of a row.
void softmax_row(const float* x, float* to, std::int64_t count, bool logarithm);

/// Sums in f64: of a row, of its absolute values, of its squares.
enum class RowSum : std::uint8_t { kPlain, kAbsolute, kSquares };
double sum_row(RowSum sum, const float* x, std::int64_t count);
/// Σ (x[n] - middle)²
double squares_around(double middle, const float* x, std::int64_t count);
/// sums[n] += x[n], |x[n]| or x[n]².
void add_row(RowSum sum, const float* x, double* sums, std::int64_t count);

/// The largest or smallest number of a row and `first`; NaN if there is one.
float extreme_row(bool largest, float first, const float* x, std::int64_t count);
/// extremes[n] = the larger (smaller) of it and x[n].
void extreme_rows(bool largest, const float* x, float* extremes, std::int64_t count);

}  // namespace tessera::run::kernels
