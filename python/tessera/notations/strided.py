# SPDX-License-Identifier: Apache-2.0
"""Strides on one place: MLIR, NumPy and PyTorch. Strides and offsets count elements."""

from __future__ import annotations

from typing import Sequence

from .._native import Tensor
from ._write import Dtype, numbers, tensor


def strides(shape: Sequence[int], dtype: Dtype, strides: Sequence[int], offset: int = 0) -> Tensor:
    """Element x is in slot offset + sum of stride * x.

    >>> tessera.strided.strides((4, 6), "f32", (1, 4)).locate((1, 2)).slot
    9
    """
    return tensor(shape, dtype, f"strided<{numbers(strides)}" + (f", offset: {offset}>" if offset else ">"))


def row_major(shape: Sequence[int], dtype: Dtype) -> Tensor:
    """The last dim is contiguous, as in C.

    >>> str(tessera.strided.row_major((4, 6), "f32"))
    'tensor<4x6xf32, strided<[6, 1]>>'
    """
    return strides(shape, dtype, _packed(shape))


def column_major(shape: Sequence[int], dtype: Dtype) -> Tensor:
    """The first dim is contiguous, as in Fortran.

    >>> str(tessera.strided.column_major((4, 6), "f32"))
    'tensor<4x6xf32, strided<[1, 4]>>'
    """
    return strides(shape, dtype, _packed(tuple(shape)[::-1])[::-1])


def _packed(shape: Sequence[int]) -> list[int]:
    packed = []
    step = 1
    for extent in reversed(tuple(shape)):
        packed.append(step)
        step *= max(extent, 1)
    return packed[::-1]
