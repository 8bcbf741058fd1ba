# SPDX-License-Identifier: Apache-2.0
"""tt-mlir's metal layout attribute, as in its layout specification: divide by the grid, then tile."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

from .. import _native
from .._native import Tensor
from ._write import Dtype, element


def make(shape: Sequence[int], dtype: Dtype, grid: Sequence[int], *, collapse: Sequence[Tuple[int, int]] = ((0, -1),),
         tile: Optional[Tuple[int, int]] = None, storage: str = "", space: str = "l1") -> Tensor:
    """The attribute of a tensor: collapse dims, divide the lines by the grid, tile.

    collapse  half-open ranges of dims that become one line each; negative ends count from the rank
    tile      rows and columns of a tile, usually (32, 32); None keeps plain elements
    storage   the element type in memory; default dtype

    >>> t = tessera.metal.make((53, 63), "f32", (3, 2), tile=(32, 32), storage="bfp_bf8")
    >>> t.locate((40, 33))
    Location(place=(2, 1), slot=129, byte=None)
    """
    return _native.metal_make(list(shape), element(dtype), [(first, last) for first, last in collapse], list(grid),
                              None if tile is None else list(tile), storage or element(dtype), space)


def on_grid(tensor: Tensor, grid: Sequence[int]) -> Tensor:
    """The same tensor on another grid; the memref is computed again.

    >>> tessera.metal.on_grid(tessera.metal.make((64, 64), "f32", (1, 1)), (2, 4)).mesh
    (2, 4)
    """
    return _native.metal_with_grid(tensor, list(grid))


def tilize(tensor: Tensor, tile: Tuple[int, int] = (32, 32), storage: str = "") -> Tensor:
    """The same tensor in tiles.

    >>> tessera.metal.tilize(tessera.metal.make((53, 63), "f32", (3, 2))).tile
    (32, 32)
    """
    return _native.metal_with_element(tensor, list(tile), storage or tensor.storage)


def untilize(tensor: Tensor, storage: str = "") -> Tensor:
    """The same tensor in plain elements."""
    return _native.metal_with_element(tensor, None, storage or tensor.dtype)


def collapse(tensor: Tensor, intervals: Sequence[Tuple[int, int]]) -> Tensor:
    """The same tensor with these ranges of dims collapsed into one line each; other dims stay separate.

    >>> t = tessera.metal.make((2, 3, 4), "f32", (1, 1))
    >>> tessera.metal.collapse(t, [(1, 3)]).facts()["metal"]["linear"]
    '(d0, d1, d2) -> (d0, d1 * 4 + d2)'
    """
    return _native.metal_collapse(tensor, [(first, last) for first, last in intervals])
