// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/layout/form.h"
#include "tessera/ops/work_map.h"

namespace tessera::ops {

/// A dim or factor cut into contiguous blocks along one mesh axis: coordinate = (x + start) div
/// width.
struct Blocks {
  std::size_t fold = 0;
  int axis = 0;
  std::int64_t stride = 1;
  std::int64_t start = 0;
  std::int64_t width = 1;

  /// What coordinate `c` has of [0, extent).
  Range of(std::int64_t c, std::int64_t extent) const;
};

enum class HowDivided : std::uint8_t { kNot, kBlocks, kOtherwise };

/// How a form divides a dim over places; `blocks` is filled in for kBlocks.
HowDivided division_of(const Form& form, int dim, Blocks& blocks);

/// Takes the mesh digits of the fold off the mesh: all blocks are then at coordinate 0.
void keep_off_mesh(Form& form, const Blocks& blocks);

}  // namespace tessera::ops
