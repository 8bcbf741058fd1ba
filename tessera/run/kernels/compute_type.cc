// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "tessera/graph/data.h"
#include "tessera/run/kernels/kernel.h"

namespace tessera::run {

DType compute_type(DType dtype) {
  if (dtype == DType::kF64 || dtype == DType::kU64) return dtype;
  return graph::is_float(dtype) || is_block_float(dtype) ? DType::kF32 : DType::kI64;
}

std::int64_t compute_bytes(DType compute) { return compute == DType::kF32 ? 4 : 8; }

}  // namespace tessera::run
