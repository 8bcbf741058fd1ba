// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/ops/kernels.h"
#include "tessera/ops/propagate.h"
#include "tessera/ops/shares.h"

namespace tessera::ops {

/// Memory that a place needs beside its operands while the op runs.
struct Scratch {
  std::string name;        ///< "accumulator", "halo of input 0", "panel of input 1"
  std::int64_t bytes = 0;  ///< on the place that needs most
};

/// All scratch of a legal answer: the buffers of its loops, the halos that are received before, and
/// for each input that kernels multicast the piece that is under way. Entries of 0 bytes are left
/// out. kernels are those of the answer.
/// Example: a product of bf16 matrices with 16x16 of the output on each place needs an accumulator
/// of 1024 bytes.
std::vector<Scratch> scratch_of(const Answer& answer, const std::vector<Share>& shares,
                                const Kernels& kernels = {});

}  // namespace tessera::ops
