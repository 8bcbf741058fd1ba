# SPDX-License-Identifier: Apache-2.0
"""tt-mlir's metal layout attribute of today: align, then the grid divides exactly."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

from .._native import Tensor, parse
from ._write import Dtype, element


def make(shape: Sequence[int], dtype: Dtype, grid: Sequence[int], shard: Sequence[int], *, alignments: Sequence[int],
         collapse: Optional[Sequence[Tuple[int, int]]] = None, tile: Optional[Tuple[int, int]] = None,
         space: str = "l1", memory: str = "sharded") -> Tensor:
    """The device tensor grid ++ shard of a logical shape; the shard counts tiles where there are tiles.

    collapse  half-open ranges of dims; default each dim alone

    >>> tessera.metal_today.make((53, 63), "f32", (3, 2), (32, 32), alignments=(96, 64)).locate((40, 33))
    Location(place=(1, 1), slot=257, byte=1028)
    """
    intervals = [(dim, dim + 1) for dim in range(len(shape))] if collapse is None else list(collapse)
    item = element(dtype) if tile is None else f"!ttcore.tile<{tile[0]}x{tile[1]}, {element(dtype)}>"
    extents = "".join(f"{extent}x" for extent in [*grid, *shard])
    dense = ", ".join(f"[{begin}, {end}]" for begin, end in intervals)
    logical, aligned = "x".join(map(str, shape)), "x".join(map(str, alignments))
    return parse(f"tensor<{extents}{item}, #ttcore.metal_layout<logical_shape = {logical}, "
                 f"dim_alignments = {aligned}, collapsed_intervals = dense<[{dense}]> : "
                 f"tensor<{len(intervals)}x2xi64>, {space}, {memory}>>")
