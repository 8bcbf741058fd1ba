// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/text.h"

/// Tensors as TTNN and Spyre write them, for tests of what their kernels allow.
namespace tessera::test {

struct Shards {
  std::int64_t grid_rows = 1;
  std::int64_t grid_cols = 1;
  std::string memory;  ///< "height_sharded", ..
};

inline std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// A matrix in 32x32 tiles of bf16.
inline std::string sharded(std::int64_t rows, std::int64_t cols, const Shards& how,
                           const std::string& space = "l1") {
  const std::int64_t places = how.grid_rows * how.grid_cols;
  std::int64_t by_rows = how.grid_rows;
  std::int64_t by_cols = how.grid_cols;
  if (how.memory == "height_sharded") by_rows = places, by_cols = 1;
  if (how.memory == "width_sharded") by_rows = 1, by_cols = places;
  return cat("tensor<", rows, "x", cols, "xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <",
             how.grid_rows, "x", how.grid_cols, ">, memref<", up(up(rows, by_rows), 32), "x",
             up(up(cols, by_cols), 32), "x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<", space,
             ">>, <", how.memory, ">, core_ranges = <[#ttnn.core_range<(0, 0), (",
             how.grid_cols - 1, ", ", how.grid_rows - 1, ")>]>>>");
}
inline std::string height(std::int64_t rows, std::int64_t cols, std::int64_t cores) {
  return sharded(rows, cols, {1, cores, "height_sharded"});
}
inline std::string width(std::int64_t rows, std::int64_t cols, std::int64_t cores,
                         const std::string& space = "l1") {
  return sharded(rows, cols, {1, cores, "width_sharded"}, space);
}
inline std::string block(std::int64_t rows, std::int64_t cols, std::int64_t r, std::int64_t c) {
  return sharded(rows, cols, {r, c, "block_sharded"});
}
inline std::string dram(std::int64_t rows, std::int64_t cols) {
  return cat("tensor<", rows, "x", cols, "xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, ",
             "memref<", up(rows, 32), "x", up(cols, 32),
             "x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>");
}
inline std::string l1_interleaved(std::int64_t rows, std::int64_t cols) {
  return cat("tensor<", rows, "x", cols, "xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, ",
             "memref<1x", up(rows, 32) * up(cols, 32),
             "x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <interleaved>>>");
}
inline std::string row_major(std::int64_t rows, std::int64_t cols,
                             const std::string& dtype = "bf16") {
  return cat("tensor<", rows, "x", cols, "x", dtype,
             ", #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<", rows, "x", cols, "x",
             dtype, ", #ttnn.buffer_type<dram>>, <interleaved>>>");
}
inline std::string row_major_shards(std::int64_t rows, std::int64_t cols, std::int64_t cores) {
  return cat("tensor<", rows, "x", cols, "xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x",
             cores, ">, memref<", up(rows, cores), "x", cols,
             "xbf16, #ttnn.buffer_type<l1>>, <height_sharded>, core_ranges = "
             "<[#ttnn.core_range<(0, 0), (",
             cores - 1, ", 0)>]>>>");
}
inline std::string dense(const std::string& shape, const std::string& order = "") {
  return cat("tensor<", shape, "xf16, spyre.default(", order.empty() ? "" : "dim_order=", order,
             ")>");
}
inline std::string sparse(const std::string& shape) {
  return cat("tensor<", shape, "xf16, spyre.default(sparse=true)>");
}

}  // namespace tessera::test
