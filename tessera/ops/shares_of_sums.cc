// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/shares_of_sums.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "tessera/graph/data.h"

namespace tessera::ops {
namespace {

/// Which inputs may be shares.
enum class Way : std::uint8_t {
  kMoves,       ///< input 0, whose elements only move: any reduction
  kMovesAll,    ///< all inputs together, whose elements only move
  kLinear,      ///< input 0 of a linear op: sums
  kLinearAll,   ///< all inputs together: sums
  kLinearEach,  ///< exactly one input of a product: sums
};

struct Row {
  Way way;
  std::vector<std::string_view> ops;
};

/// Ops that are linear whatever their attributes are; the exceptions are below. Null if there is
/// none.
const Row* row_of(const graph::Call& call) {
  static const std::vector<Row> rows = {
      {Way::kMoves,
       {"identity", "layout_transform", "transpose", "reshape", "flatten", "squeeze", "unsqueeze",
        "slice", "split", "expand", "tile", "gather", "gather_elements", "gather_nd", "embedding",
        "depth_to_space", "space_to_depth", "reverse_sequence"}},
      {Way::kMovesAll, {"concat"}},
      {Way::kLinear,
       {"neg", "trilu", "reduce_sum", "reduce_mean", "cumsum", "average_pool",
        "global_average_pool", "div", "pad"}},
      {Way::kLinearAll, {"add", "sub"}},
      {Way::kLinearEach, {"mul", "matmul", "gemm", "einsum", "conv", "conv_transpose"}},
  };
  for (const Row& row : rows) {
    if (std::ranges::find(row.ops, call.op().name()) != row.ops.end()) return &row;
  }
  return nullptr;
}

/// Calls of these ops in which something is added, or rounded, for each share.
bool is_exception(const graph::Call& call) {
  const auto is_any = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, call.op().name()) != names.end();
  };
  if (is_any({"gemm", "conv", "conv_transpose"})) return call.has(2);  // a bias
  if (call.op().is("pad")) return call.has(1);                         // a number other than 0
  // Shares of integers are rounded one by one.
  if (is_any({"div", "reduce_mean", "average_pool", "global_average_pool"})) {
    return !graph::is_float(call.dtype(0));
  }
  return false;
}

}  // namespace

bool runs_on_shares(const graph::Call& call, const std::vector<bool>& partial,
                    Reduction reduction) {
  const Row* row = row_of(call);
  if (row == nullptr || is_exception(call)) return false;
  const auto marked = std::ranges::count(partial, true);
  if (marked == 0) return false;
  const bool first_alone = marked == 1 && partial[0];
  const bool sums = reduction == Reduction::kSum;
  switch (row->way) {
    case Way::kMoves:
      return first_alone;
    case Way::kMovesAll:
      return marked == static_cast<std::ptrdiff_t>(call.inputs());
    case Way::kLinear:
      return first_alone && sums;
    case Way::kLinearAll:
      return marked == static_cast<std::ptrdiff_t>(call.inputs()) && sums;
    case Way::kLinearEach:
      return marked == 1 && sums;
  }
  return false;
}

std::vector<bool> shares_that_do(const graph::Call& call, Reduction reduction) {
  std::vector<bool> all(call.inputs(), true);
  if (runs_on_shares(call, all, reduction)) return all;
  std::vector<bool> first(call.inputs(), false);
  if (first.empty()) return {};
  first[0] = true;
  return runs_on_shares(call, first, reduction) ? first : std::vector<bool>();
}

}  // namespace tessera::ops
