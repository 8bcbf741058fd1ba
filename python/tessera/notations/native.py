# SPDX-License-Identifier: Apache-2.0
"""The native notation: exactly the folds and cuts that are written (docs/native.md)."""

from __future__ import annotations

from typing import Sequence, Tuple, Union

from .._native import Tensor
from ._write import Dtype, numbers, tensor

#: The range of a dim: (begin, end) or slice(begin, end).
Range = Union[Tuple[int, int], slice]


def make(shape: Sequence[int], dtype: Dtype, folds: Sequence[str], *, mesh: Sequence[int] = (),
         options: Sequence[str] = ()) -> Tensor:
    """Folds as texts, '{d0} / (18 -> m0, 1 -> mem*63)', and further items such as 'slots=1024'.

    >>> t = tessera.native.make((53, 63), "f32", ["{d0} / (18 -> m0, 1 -> mem*63)", "{d1} / (1 -> mem)"], mesh=[3])
    >>> t.locate((40, 33)).place
    (2,)
    """
    return tensor(shape, dtype, "native" + _items(folds, mesh, options))


def view(shape: Sequence[int], dtype: Dtype, folds: Sequence[str], *, mesh: Sequence[int] = (),
         options: Sequence[str] = ()) -> Tensor:
    """The same for a tensor whose elements may share slots: '{d0} / (1 -> none)' repeats along dim 0.

    >>> tessera.native.view((4, 6), "f32", ["{d0} / (1 -> none)", "{d1} / (1 -> mem)"]).locate((3, 5)).slot
    5
    """
    return tensor(shape, dtype, "native.view" + _items(folds, mesh, options))


def pieces(shape: Sequence[int], dtype: Dtype,
           parts: Sequence[Tuple[Sequence[Range], Sequence[str], Sequence[str]]], *,
           mesh: Sequence[int] = ()) -> Tensor:
    """Disjoint boxes that cover the tensor, with a layout each: (ranges of the dims, folds, further items). The folds
    count from the begin of the box.

    >>> t = tessera.native.pieces((6,), "f32", [([(0, 4)], ["{d0} / (1 -> mem)"], ["offset=8"]),
    ...                                         ([(4, 6)], ["{d0} / (1 -> mem)"], [])])
    >>> [t.locate((i,)).slot for i in range(6)]
    [8, 9, 10, 11, 0, 1]
    """
    written = []
    for box, folds, options in parts:
        ends = [(one.start or 0, one.stop) if isinstance(one, slice) else one for one in box]
        ranges = ", ".join(f"{begin}:{end}" for begin, end in ends)
        written.append(f"[{ranges}] native{_items(folds, mesh, options)}")
    return tensor(shape, dtype, "native.pieces<" + ", ".join(written) + ">")


def _items(folds: Sequence[str], mesh: Sequence[int], options: Sequence[str]) -> str:
    return "<" + ", ".join([*([f"mesh={numbers(mesh)}"] if mesh else []), *folds, *options]) + ">"
