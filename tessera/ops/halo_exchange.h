// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/view.h"
#include "tessera/ops/supply.h"

namespace tessera::ops {

/// Tiles that overlap, as a view: tile k of `tiles` along `dim` has the elements from
/// start + step·k on, `extent` of them. The dim is replaced by two, the tile and the element in it:
///     m(.., k, j, ..)[dim] = start + step·k + j
/// Every tile must lie inside the dim. Errors: kBadView; those of View::make.
Result<View> window(const View& view, int dim, std::int64_t tiles, std::int64_t extent,
                    std::int64_t step, std::int64_t start = 0);

/// One part of a halo exchange: a reshard from `from` to `to`, which have the same shape: for each
/// dim with a halo the tile and the element in it, for each other dim itself.
struct HaloPart {
  View from;
  Layout to;
};

/// What brings each place its blocks together with the halos around them: reshards that read the
/// operand and write one new buffer, of the blocks' extents and halos, on each place. Tiles that
/// the end of the tensor cuts off are parts of their own, so a dim has up to three parts, or more
/// where halos are larger than blocks, and several dims have the product.
///
/// `readers` says for each dim with a halo on how many coordinates of its axis something is read,
/// from 0 on (Supply::readers); without it, on those that have blocks. The others that read, behind
/// the last block or before the first, have an empty block at the end or the beginning of the dim.
///
/// Law: place q gets element x at slot s of the new buffer ⇔ q reads or has a block, x is in q's
/// block or at most halo elements beside it, and s is its row-major position in the extended block.
/// Every replica of a block gets its own halos.
/// Errors: kNotSupported for an operand whose dims with halos are not contiguous blocks along one
/// mesh axis, or that is partial; kOverflow.
Result<std::vector<HaloPart>> halo_exchange(const Layout& operand, const std::vector<Halo>& halos,
                                            const std::vector<std::int64_t>& readers = {});

}  // namespace tessera::ops
