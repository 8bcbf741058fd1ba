# SPDX-License-Identifier: Apache-2.0
"""Morello: physical dims from slowest to fastest, each taking a part of a logical dim; never padding."""

from __future__ import annotations

from typing import Sequence, Tuple, Union

from .. import _native
from .._native import Tensor
from ._write import Dtype, tensor

DYNAMIC = "Dynamic"


def packed(size: int) -> str:
    """A part of `size` positions."""
    return f"Packed({size})"


def odd_even(size: int) -> str:
    """A part of `size` positions, the even ones first."""
    return f"OddEven({size})"


def make(shape: Sequence[int], dtype: Dtype, dims: Sequence[Union[int, Tuple[int, str]]]) -> Tensor:
    """Physical dims as (logical dim, part); a number alone takes the rest of its dim.

    >>> t = tessera.morello.make((6, 8), "f32", [1, 0, (1, tessera.morello.packed(4))])
    >>> tessera.morello.expression(t)
    '4*d0 + 24*(d1/4) + d1%4'
    """
    parts = [one if isinstance(one, tuple) else (one, DYNAMIC) for one in dims]
    return tensor(shape, dtype, "morello[" + ", ".join(f"({dim}, {part})" for dim, part in parts) + "]")


def row_major(shape: Sequence[int], dtype: Dtype) -> Tensor:
    """All dims in order."""
    return tensor(shape, dtype, "morello.row_major()")


def col_major(shape: Sequence[int], dtype: Dtype) -> Tensor:
    """All dims in reverse order."""
    return tensor(shape, dtype, "morello.col_major()")


def nhwc(shape: Sequence[int], dtype: Dtype) -> Tensor:
    """The order 0, 2, 3, 1 of four dims."""
    return tensor(shape, dtype, "morello.nhwc()")


def expression(tensor: Tensor) -> str:
    """The buffer indexing expression: the slot as a formula of d0, d1, .."""
    return _native.morello_expression(tensor)


def physical_sizes(tensor: Tensor) -> Tuple[int, ...]:
    """The size of each physical dim, slowest first."""
    return _native.morello_sizes(tensor)
