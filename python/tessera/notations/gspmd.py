# SPDX-License-Identifier: Apache-2.0
"""GSPMD's shardings: even shards of ceil(n/t), and a list of devices."""

from __future__ import annotations

import math
from typing import Optional, Sequence

from .._native import Tensor
from ._write import Dtype, tensor


def make(shape: Sequence[int], dtype: Dtype, tiles: Sequence[int], *, devices: Optional[Sequence[int]] = None,
         iota: Optional[Sequence[int]] = None, transpose: Sequence[int] = (), replicate_last: bool = False,
         last: Sequence[str] = ()) -> Tensor:
    """A sharding over `tiles` shards of each dim.

    devices         the device of each shard, row-major; default 0, 1, ..
    iota            devices 0, 1, .. in this shape, whose dims `transpose` puts into another order
    replicate_last  the last number of tiles counts copies
    last            what the last numbers of tiles count: 'replicated' or 'unreduced' (summands) for each

    >>> str(tessera.gspmd.make((8, 6), "f32", (4, 2)))
    'tensor<8x6xf32, gspmd{devices=[4,2]<=[8]}>'
    >>> str(tessera.gspmd.make((8, 6), "f32", (4, 1, 2), iota=(2, 4), transpose=(1, 0), last=["unreduced"]))
    'tensor<8x6xf32, gspmd{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dims={unreduced}}>'
    """
    if devices is not None:
        where = ",".join(map(str, devices))
    else:
        where = "<=[" + ",".join(map(str, iota or [math.prod(tiles)])) + "]"
        where += "T(" + ",".join(map(str, transpose)) + ")" if transpose else ""
    copies = " last_tile_dim_replicate" if replicate_last else ""
    copies += " last_tile_dims={" + ", ".join(last) + "}" if last else ""
    return tensor(shape, dtype, "gspmd{devices=[" + ",".join(map(str, tiles)) + f"]{where}{copies}" + "}")


def replicated(shape: Sequence[int], dtype: Dtype, devices: int) -> Tensor:
    """A copy on every device."""
    return tensor(shape, dtype, f"gspmd{{replicated num_partitions={devices}}}")


def unreduced(shape: Sequence[int], dtype: Dtype, devices: int) -> Tensor:
    """A summand on every device."""
    return tensor(shape, dtype, f"gspmd{{unreduced num_partitions={devices}}}")


def maximal(shape: Sequence[int], dtype: Dtype, device: int, devices: int) -> Tensor:
    """All of it on one of the devices."""
    return tensor(shape, dtype, f"gspmd{{maximal device={device} num_partitions={devices}}}")
