// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/ops/machines/rules.h"

/// A wafer is a grid of processors, axis 0 its rows and axis 1 its columns. Its programs divide a
/// matrix product in one of two ways:
///
///     panels   C[i, j] has i over rows and j over columns. k is whole, or divided over the other
///              axis of each input and multicast in panels along rows and columns (SUMMA), or
///              shifted (Cannon)
///     vector   one row times a matrix: k over rows in both inputs, and C is partial there, reduced
///              along columns
namespace tessera::ops::machines {
namespace {

using Axes = std::vector<int>;

bool at_most(const Axes& axes, int axis) { return axes.empty() || axes == Axes{axis}; }

std::string text_of(const Axes& axes) {
  if (axes.empty()) return "no axis";
  std::vector<std::int64_t> numbers(axes.begin(), axes.end());
  return cat("axis ", join(numbers, " and "));
}

bool is_partial_over(const Layout& layout, int axis) {
  return std::ranges::any_of(layout.form().fills, [&](const Fill& fill) {
    return fill.kind == Fill::Kind::kPartial && fill.count > 1 && fill.axis == axis;
  });
}

/// The dims of the rows and columns of a matrix, and whether it is written transposed.
struct Matrix {
  const Layout* layout = nullptr;
  std::size_t first = 0;
  std::size_t second = 0;
  Axes first_axes() const { return axes_of(*layout, first); }
  Axes second_axes() const { return axes_of(*layout, second); }
};

Matrix matrix_of(const Layout* layout, bool turned) {
  const std::size_t rank = layout->shape().rank();
  const std::size_t first = rank - 2;
  const std::size_t second = rank - 1;
  return turned ? Matrix{layout, second, first} : Matrix{layout, first, second};
}

Allowed matmul(const Asked& asked) {
  const bool gemm = asked.is("gemm");
  const Layout* left = asked.in(0);
  const Layout* right = asked.in(1);
  if (left == nullptr || right == nullptr) return by("any");
  if (left->shape().rank() < 2 || right->shape().rank() < 2) return by("factors");
  const Matrix a = matrix_of(left, gemm && asked.call.integer("trans_a") != 0);
  const Matrix b = matrix_of(right, gemm && asked.call.integer("trans_b") != 0);
  const Axes a_k = a.second_axes();
  const Axes b_k = b.first_axes();
  const Layout* c = asked.out();
  const bool vector = left->shape()[a.first] == 1 && a_k == Axes{0} && b_k == Axes{0};
  if (vector) {
    if (!at_most(b.second_axes(), 1)) {
      return refused("matmul vector", cat("columns of input 1 are over ", text_of(b.second_axes()),
                                          ", expected axis 1"));
    }
    if (c != nullptr && !is_partial_over(*c, 0)) {
      return refused("matmul vector", "k is over axis 0, so the output is partial there");
    }
    return by("matmul vector");
  }
  struct Demand {
    const char* what;
    Axes axes;
    int axis;
  };
  std::vector<Demand> demands = {{"rows of input 0 are over ", a.first_axes(), 0},
                                 {"k of input 0 is over ", a_k, 1},
                                 {"k of input 1 is over ", b_k, 0},
                                 {"columns of input 1 are over ", b.second_axes(), 1}};
  if (c != nullptr) {
    const Matrix out = matrix_of(c, false);
    demands.push_back({"rows of the output are over ", out.first_axes(), 0});
    demands.push_back({"columns of the output are over ", out.second_axes(), 1});
  }
  for (const Demand& demand : demands) {
    if (at_most(demand.axes, demand.axis)) continue;
    return refused("matmul panels", cat(demand.what, text_of(demand.axes), ", expected axis ",
                                        demand.axis, " or none"));
  }
  // Panels are added up where they arrive.
  if (c != nullptr && is_partial(*c)) {
    return refused("matmul panels", "the output is partial, expected whole sums");
  }
  return by("matmul panels");
}

/// The dims that a norm or a softmax needs whole. Where they are divided, the statistics of the
/// parts are exchanged; over one axis, because a chain of statistics runs along a row or a column.
Allowed statistics(const Asked& asked, std::size_t from, std::size_t to) {
  const Layout* x = asked.in(0);
  if (x == nullptr) return by("any");
  Axes axes;
  for (std::size_t d = from; d < to; ++d) {
    for (const int axis : axes_of(*x, d)) {
      if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
    }
  }
  if (axes.size() > 1) {
    return refused("whole dim", cat("dims ", from, " to ", to - 1, " of input 0 are over ",
                                    text_of(axes), ", expected one place or one axis"));
  }
  return by(axes.empty() ? "whole dim" : "exchanged statistics");
}

}  // namespace

Allowed on_wafer(const Asked& asked) {
  if (asked.is_any({"matmul", "gemm"})) return matmul(asked);
  const bool along_axis = asked.is_any({"softmax", "log_softmax"});
  if (along_axis || asked.is_any({"layer_norm", "rms_norm"})) {
    const std::size_t rank = asked.call.shape(0).rank();
    const std::int64_t axis = asked.call.integer("axis");
    const auto dim =
        static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
    return statistics(asked, dim, along_axis ? dim + 1 : rank);
  }
  return by("factors");
}

}  // namespace tessera::ops::machines
