# SPDX-License-Identifier: Apache-2.0
"""Cerebras wafers as PyFlame divides them: tiles of ceil(n/p) on a grid of PEs.

Options of every maker:

dim_to_pe  for each dim the PE axis that divides it: 0 rows, 1 columns, -1 none; (0, 1) all PEs, row by row
origin     the (row, column) of the first PE on the wafer
replicate  PE axes along which every PE has a copy
partial    PE axes along which every PE has a summand: {1: "sum"}
"""

from __future__ import annotations

from typing import Mapping, Optional, Sequence, Tuple, Union

from .._native import Tensor
from ._write import Dtype, numbers, pairs, tensor


Axes = Sequence[Union[int, Sequence[int]]]


def _axes(dim_to_pe: Axes) -> str:
    """[-1, [0, 1]]"""
    return "[" + ", ".join(numbers(axis) if isinstance(axis, Sequence) else numbers([axis])[1:-1]
                           for axis in dim_to_pe) + "]"


def _options(dim_to_pe: Optional[Axes], origin: Optional[Tuple[int, int]], replicate: Sequence[int],
             partial: Optional[Mapping[int, str]]) -> list[str]:
    options = []
    if dim_to_pe is not None:
        options.append(f"dim_to_pe={_axes(dim_to_pe)}")
    if origin is not None:
        options.append(f"origin=({origin[0]}, {origin[1]})")
    if replicate:
        options.append(f"replicate={numbers(replicate)}")
    if partial:
        options.append("partial=[" + ", ".join(f"{axis}:{how}" for axis, how in partial.items()) + "]")
    return options


def _make(shape: Sequence[int], dtype: Dtype, name: str, arguments: Sequence[object], options: list[str]) -> Tensor:
    return tensor(shape, dtype, f"pyflame.{name}(" + ", ".join([*map(str, arguments), *options]) + ")")


def single_pe(shape: Sequence[int], dtype: Dtype, *, origin: Optional[Tuple[int, int]] = None) -> Tensor:
    """All of it on one PE.

    >>> str(tessera.pyflame.single_pe((4, 6), "f32"))
    'tensor<4x6xf32, pyflame.SinglePE()>'
    """
    return _make(shape, dtype, "SinglePE", [], _options(None, origin, (), None))


def rows(shape: Sequence[int], dtype: Dtype, pes: int, *, dim_to_pe: Optional[Axes] = None,
         origin: Optional[Tuple[int, int]] = None) -> Tensor:
    """Dim 0 over a column of PEs: RowPartition."""
    return _make(shape, dtype, "RowPartition", [pes], _options(dim_to_pe, origin, (), None))


def columns(shape: Sequence[int], dtype: Dtype, pes: int, *, dim_to_pe: Optional[Axes] = None,
            origin: Optional[Tuple[int, int]] = None) -> Tensor:
    """Dim 1 over a row of PEs: ColPartition."""
    return _make(shape, dtype, "ColPartition", [pes], _options(dim_to_pe, origin, (), None))


def grid(shape: Sequence[int], dtype: Dtype, rows: int, columns: int, *, dim_to_pe: Optional[Axes] = None,
         origin: Optional[Tuple[int, int]] = None, replicate: Sequence[int] = (),
         partial: Optional[Mapping[int, str]] = None) -> Tensor:
    """Tiles over a grid of PEs.

    >>> str(tessera.pyflame.grid((53, 63), "f32", 3, 2, replicate=[1]))
    'tensor<53x63xf32, pyflame.Grid(3, 2, replicate=[1])>'
    """
    return _make(shape, dtype, "Grid", [rows, columns], _options(dim_to_pe, origin, replicate, partial))


def block_cyclic(shape: Sequence[int], dtype: Dtype, rows: int, columns: int, block_rows: int, block_columns: int, *,
                 dim_to_pe: Optional[Axes] = None, origin: Optional[Tuple[int, int]] = None,
                 replicate: Sequence[int] = (), partial: Optional[Mapping[int, str]] = None) -> Tensor:
    """Blocks dealt to the PEs in turn: block k of a dim goes to PE k mod p.

    >>> tessera.pyflame.block_cyclic((8, 8), "f32", 2, 2, 2, 2).locate((4, 6)).place
    (0, 1)
    """
    return _make(shape, dtype, "BlockCyclic", [rows, columns, block_rows, block_columns],
                 _options(dim_to_pe, origin, replicate, partial))


def custom(shape: Sequence[int], dtype: Dtype, rows: int, columns: int, pes: Sequence[Tuple[int, int]], *,
           dim_to_pe: Optional[Axes] = None) -> Tensor:
    """The tiles of grid(rows, columns), each on the PE that the list names, row-major and without repeats."""
    return _make(shape, dtype, "Custom", [rows, columns, pairs(pes)], _options(dim_to_pe, None, (), None))
