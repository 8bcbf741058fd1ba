# SPDX-License-Identifier: Apache-2.0
"""TTNN's layout attribute, and the terms of the TTNN layout document."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

from .. import _native
from .._native import Tensor
from ._write import Dtype, element, numbers, tensor


def make(shape: Sequence[int], dtype: Dtype, *, memory: str = "interleaved", grid: Sequence[int] = (1, 1),
         tile: Optional[Tuple[int, int]] = (32, 32), storage: str = "", space: str = "dram",
         device_width: int = 8) -> Tensor:
    """The attribute of a tensor as TTNN derives it.

    memory        'interleaved', 'height_sharded', 'width_sharded' or 'block_sharded'
    grid          cores; of interleaved tensors 1x1
    tile          rows and columns of a tile; None is row-major
    device_width  cores in a row of the device, for height and width sharding

    >>> t = tessera.ttnn.make((53, 63), "f32", memory="block_sharded", grid=(2, 2), space="l1")
    >>> t.locate((40, 33)).place
    (1, 1)
    """
    return _native.ttnn_make(list(shape), element(dtype), None if tile is None else list(tile),
                             storage or element(dtype), space, memory, list(grid), device_width)


def terms(shape: Sequence[int], dtype: Dtype, stride: Sequence[int], shard_shape: Sequence[int], *,
          tile_shape: Optional[Sequence[int]] = None) -> Tensor:
    """The terms of the TTNN layout document: `stride` has rank + 1 entries, the first being the volume.

    >>> tessera.ttnn.terms((53, 63), "f32", (3339, 63, 1), (18, 32), tile_shape=(32, 32)).mesh
    (3, 2)
    """
    items = [f"stride={numbers(stride)}", f"shard_shape={numbers(shard_shape)}"]
    if tile_shape is not None:
        items.append(f"tile_shape={numbers(tile_shape)}")
    return tensor(shape, dtype, f"ttnn<{', '.join(items)}>")
