// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"

/// Spyre stores every tensor in sticks of 128 bytes, which run along one dim, its stick dim; a
/// sparse tensor has one element in each stick and no stick dim.
namespace tessera::ops::machines {

/// Elements of a stick; 0 for a layout whose elements have no bytes of their own.
std::int64_t per_stick(const Layout& layout);

bool is_sparse(const Layout& layout);
/// The stick dim; -1 for a sparse layout.
int stick_dim(const Layout& layout);
/// "sparse", "in sticks along dim 1".
std::string stick_text(const Layout& layout);

/// The layout that Spyre gives a tensor by itself, on the places of `made`: device dims 1 .. n-2,
/// sticks of the last dim, dim 0, inside the stick; with another stick dim, the dims in the order
/// in which that one is last. Sparse tensors have sticks of one element along a dim that they lack.
/// Empty for a tensor that is cut over places otherwise than dim by dim, and for types that Spyre
/// does not store.
/// Law: every element is on the places of `made`; on one place, the default layout of the notation.
/// Example: [512, 256] f16 is [4, 512, 64]; by dim 0, [8, 256, 64].
std::optional<Layout> in_sticks(const Layout& made, std::optional<std::size_t> stick = {});
std::optional<Layout> in_sparse_sticks(const Layout& made);

/// How Spyre divides an op over its cores: output dims in whole sticks, those with the most units
/// first, each by the largest divisor of its units that the cores left allow; a matmul divides k
/// last. The map is over one axis of `cores` places.
/// Example: a product [512, 128] over 32 cores has 16 rows on each; one of [6, 512], whose rows are
/// 6 and whose sticks are 8, has sticks over 8 and rows over 3 of 4.
std::optional<WorkMap> core_division(const graph::Call& call, const graph::Types& outputs,
                                     const Loops& loops, const Layout& output, std::int64_t cores);

}  // namespace tessera::ops::machines
