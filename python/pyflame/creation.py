# SPDX-License-Identifier: Apache-2.0
"""Tensors from nothing."""

from __future__ import annotations

import operator
import threading
from typing import Iterable, Optional, Sequence, Union

from tessera import _native

from .dtypes import DType, DTypeLike
from .layout import LayoutLike, placed
from .tensor import Tensor

__all__ = ["arange", "full", "manual_seed", "ones", "randn", "zeros"]

_MASK = 2 ** 64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_lock = threading.Lock()
_seed = 0
_drawn = 0


def manual_seed(seed: int) -> None:
    """The numbers of all later randn() without a seed follow from this one. At the start it is 0, so a program draws
    the same numbers each time it runs.

    >>> pf.manual_seed(3); a = pf.randn([2]).numpy()
    >>> pf.manual_seed(3); bool((pf.randn([2]).numpy() == a).all())
    True
    """
    global _seed, _drawn
    with _lock:
        _seed, _drawn = seed, 0


def _next_seed() -> int:
    global _drawn
    with _lock:
        _drawn += 1
        return (_seed * _GOLDEN + _drawn) & _MASK


def _extents(shape: Union[int, Sequence[int]]) -> list[int]:
    """A shape, which may be one number."""
    return [operator.index(one) for one in (shape if isinstance(shape, Iterable) else [shape])]


def randn(shape: Union[int, Sequence[int]], dtype: DTypeLike = "float32", layout: Optional[LayoutLike] = None,
          seed: Optional[int] = None) -> Tensor:
    """Normally distributed numbers of mean 0 and variance 1; the same ones for the same seed.

    >>> pf.randn([32, 1024])
    <pyflame.Tensor float32[32, 1024]>
    """
    kind = DType(dtype)
    number = _next_seed() if seed is None else seed & _MASK
    extents = _extents(shape)
    return Tensor(_native.lazy_randn(extents, number, kind.value, placed(extents, kind, layout)), layout)


def full(shape: Union[int, Sequence[int]], number: Union[int, float, bool], dtype: DTypeLike = "float32",
         layout: Optional[LayoutLike] = None) -> Tensor:
    """One number everywhere, rounded to the element type."""
    kind = DType(dtype)
    extents = _extents(shape)
    return Tensor(_native.lazy_full(extents, float(number), kind.value, placed(extents, kind, layout)), layout)


def zeros(shape: Union[int, Sequence[int]], dtype: DTypeLike = "float32",
          layout: Optional[LayoutLike] = None) -> Tensor:
    """0 everywhere."""
    return full(shape, 0, dtype, layout)


def ones(shape: Union[int, Sequence[int]], dtype: DTypeLike = "float32",
         layout: Optional[LayoutLike] = None) -> Tensor:
    """1 everywhere."""
    return full(shape, 1, dtype, layout)


def arange(start: float, stop: Optional[float] = None, step: float = 1, dtype: Optional[DTypeLike] = None) -> Tensor:
    """start, start + step, .. before stop: of int64 if all three are integers, else float32; arange(stop) begins at 0.

    >>> pf.arange(2, 9, 3).numpy()
    array([2, 5, 8])
    """
    first, last = (0, start) if stop is None else (start, stop)
    whole = all(isinstance(one, int) for one in (first, last, step))
    kind = DType(dtype if dtype is not None else "int64" if whole else "float32")
    return Tensor(_native.lazy_arange(float(first), float(last), float(step), kind.value))
