# SPDX-License-Identifier: Apache-2.0
"""XLA's layouts: an order of dims, then tiles over the fastest, tiles of those tiles, .."""

from __future__ import annotations

from typing import Optional, Sequence

from .._native import Tensor
from ._write import Dtype, tensor


def make(shape: Sequence[int], dtype: Dtype, minor_to_major: Optional[Sequence[int]] = None,
         tiles: Sequence[Sequence[object]] = (), *, tail: int = 0, element_bits: int = 0, space: int = 0) -> Tensor:
    """The layout that HLO prints as {minor_to_major:T(..)(..)}; '*' in a tile joins a dim with the next one.

    >>> str(tessera.xla.make((530, 630), "bf16", tiles=[(8, 128), (2, 1)]))
    'tensor<530x630xbf16, xla{1,0:T(8,128)(2,1)}>'
    """
    order = range(len(shape) - 1, -1, -1) if minor_to_major is None else minor_to_major
    properties = "".join("(" + ",".join(map(str, tile)) + ")" for tile in tiles)
    properties = f"T{properties}" if properties else ""
    for letter, value in (("L", tail), ("E", element_bits), ("S", space)):
        properties += f"{letter}({value})" if value else ""
    return tensor(shape, dtype, "xla{" + ",".join(map(str, order)) + (f":{properties}" if properties else "") + "}")
