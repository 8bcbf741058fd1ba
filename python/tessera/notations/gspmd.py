# SPDX-License-Identifier: Apache-2.0
"""GSPMD's shardings: even shards of ceil(n/t), and a list of devices."""

from __future__ import annotations

from typing import Optional, Sequence

from .._native import Tensor
from ._write import tensor


def make(shape: Sequence[int], dtype: str, tiles: Sequence[int], *, devices: Optional[Sequence[int]] = None,
         replicate_last: bool = False) -> Tensor:
    """A sharding over `tiles` shards of each dim; with `replicate_last` the last number counts copies.

    devices  the device of each shard, row-major; default 0, 1, ..

    >>> str(tessera.gspmd.make((8, 6), "f32", (4, 2)))
    'tensor<8x6xf32, gspmd{devices=[4,2]<=[8]}>'
    """
    count = 1
    for tile in tiles:
        count *= tile
    where = f"<=[{count}]" if devices is None else ",".join(map(str, devices))
    last = " last_tile_dim_replicate" if replicate_last else ""
    return tensor(shape, dtype, "gspmd{devices=[" + ",".join(map(str, tiles)) + f"]{where}{last}" + "}")


def replicated(shape: Sequence[int], dtype: str, devices: int) -> Tensor:
    """A copy on every device."""
    return tensor(shape, dtype, f"gspmd{{replicated num_partitions={devices}}}")
