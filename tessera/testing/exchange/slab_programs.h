// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tessera/relayout/program.h"
#include "tessera/testing/generate.h"

namespace tessera::test {

/// Memory of one place.
relayout::Memory one_place(std::int64_t slots, DType type);

/// A program between a shard and a packed slab, built directly as a product of lists of segments.
struct SlabDraw {
  relayout::Program program;
  std::string text;
};
/// Packs or unpacks up to three dims: segments of up to `longest` elements that repeat with a
/// period. They are packed period by period or segment by segment; the shard has gaps, is sometimes
/// reversed, and occasionally the dims of the slab are permuted.
SlabDraw random_slab(Dice& dice, DType type, std::int64_t longest);

/// Calls `visit(source, destination)` with the elements of every step of every nest, as plain
/// loops.
void for_each_step(const relayout::Program& program,
                   const std::function<void(std::int64_t, std::int64_t)>& visit);

}  // namespace tessera::test
