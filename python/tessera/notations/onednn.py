# SPDX-License-Identifier: Apache-2.0
"""oneDNN's format tags: an order of dims, then blocks."""

from __future__ import annotations

from typing import Sequence

from .._native import Tensor
from ._write import Dtype, tensor


def make(shape: Sequence[int], dtype: Dtype, tag: str) -> Tensor:
    """A tag such as 'nchw', 'acdb' or 'aBcd16b'.

    >>> tessera.onednn.make((2, 33, 7, 7), "f32", "nChw16c").padding()
    {'alignment': 1470}
    """
    return tensor(shape, dtype, f"onednn.{tag}")
