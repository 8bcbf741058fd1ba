// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/graph/op.h"
#include "tessera/layout/regions.h"
#include "tessera/ops/loops.h"

/// kernels/: what one place computes. In: iterations of an op, and tiles with the elements that
/// these iterations read. Out: the elements that they make, or shares of them. A kernel knows no
/// layouts, places or machines, and moves nothing.
///
/// Every kernel follows from the loops of its op (ops/loops.h): iteration f reads element
/// access(f) of each operand, so a tile only has to say which box of the operand it is. Nothing of
/// a call is restated for a part of it: pads, axes and offsets keep their meaning.
namespace tessera::run {

/// The type in which kernels compute, and which the elements of tiles have: f32 for all floats of
/// at most 32 bits (f16, bf16, 8-bit and block floats accumulate in f32), f64, u64 for itself, and
/// i64 for all other integers and booleans.
DType compute_type(DType dtype);
/// Bytes of one element of a compute type.
std::int64_t compute_bytes(DType compute);

/// A box of an operand in the memory of this process: the element at index x of the operand is at
/// data + compute_bytes·Σ (x - box.from)·strides.
struct Tile {
  std::byte* data = nullptr;  ///< null for an operand that the iterations do not touch
  Box box;
  std::vector<std::int64_t> strides;  ///< in elements
};

/// What one place does for one op.
struct Task {
  const graph::Call* call = nullptr;
  const graph::Types* outputs = nullptr;
  const ops::Loops* loops = nullptr;
  std::vector<Box> blocks;  ///< of iterations, disjoint; all of each whole factor
  std::vector<Tile> inputs;
  std::vector<Tile> results;
};

/// Performs the iterations of a task: each element of the outputs that they contribute to becomes
/// the reduction of these contributions. Nothing else is written.
///
/// Sums are taken in the order of the iterations, so a task has one result. Errors: kNotSupported
/// for an op without a kernel; kOutOfRange for an element that must be a position (of gather,
/// scatter) and is none, which names it.
///
/// Example: matmul of [2, 4] and [4, 3] has factors i, j and k. The block [0, 1) [0, 3) [2, 4) adds
/// A[0, 2]·B[2, j] + A[0, 3]·B[3, j] up to three elements: a share of row 0.
///
/// Where the elements lie one after the other, floats have faster kernels: rows of vectors for
/// elementwise ops, reductions, softmax and norms, and products in panels for matmul, gemm, einsum
/// and conv. `used` becomes the name of the kernel: "plain", "vectors" or "panels". Which one it is
/// depends on the task alone.
Status perform(const Task& task, std::string_view* used = nullptr);

/// The same by the plain kernel, which takes every task; the reference of the faster ones, which
/// agree with it up to 2e-5, relative to 1 + the number and to the sum of sizes in sums.
Status perform_plainly(const Task& task);

/// Whether `perform` has a kernel for the op.
bool has_kernel(std::string_view op);

}  // namespace tessera::run
