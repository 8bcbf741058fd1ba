# SPDX-License-Identifier: Apache-2.0
"""The native notation: exactly the folds and cuts that are written (docs/native.md)."""

from __future__ import annotations

from typing import Sequence

from .._native import Tensor
from ._write import numbers, tensor


def make(shape: Sequence[int], dtype: str, folds: Sequence[str], *, mesh: Sequence[int] = (),
         options: Sequence[str] = ()) -> Tensor:
    """Folds as texts, '{d0} / (18 -> m0, 1 -> mem*63)', and further items such as 'slots=1024'.

    >>> t = tessera.native.make((53, 63), "f32", ["{d0} / (18 -> m0, 1 -> mem*63)", "{d1} / (1 -> mem)"], mesh=[3])
    >>> t.locate((40, 33)).place
    (2,)
    """
    items = [f"mesh={numbers(mesh)}"] if mesh else []
    return tensor(shape, dtype, "native<" + ", ".join([*items, *folds, *options]) + ">")
