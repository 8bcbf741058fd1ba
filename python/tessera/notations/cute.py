# SPDX-License-Identifier: Apache-2.0
"""CuTe's layouts: nested shapes and strides; nested modes count from the left."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from .._native import Tensor
from ._write import Dtype, tensor


def make(shape: Sequence[int], dtype: Dtype, modes: Any, strides: Optional[Any] = None) -> Tensor:
    """`modes` and `strides` are nested tuples, one top-level mode for each dim of the tensor.

    >>> str(tessera.cute.make((8, 8), "f32", ((2, 4), 8), ((1, 16), 2)))
    'tensor<8x8xf32, cute<((2,4),8):((1,16),2)>>'
    """
    return tensor(shape, dtype, f"cute<{_tuple(modes)}" + (f":{_tuple(strides)}>" if strides is not None else ">"))


def _tuple(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "(" + ",".join(map(_tuple, value)) + ")"
    return str(value)
