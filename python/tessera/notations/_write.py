# SPDX-License-Identifier: Apache-2.0
"""Texts of tensors from numbers. What they mean, and whether they are right, is decided by parse()."""

from __future__ import annotations

import operator
from typing import Iterable, Sequence

from .._native import Tensor, parse


def numbers(values: Iterable[int]) -> str:
    """[1, 2, 3]"""
    return "[" + ", ".join(str(operator.index(value)) for value in values) + "]"


def pairs(values: Iterable[Sequence[int]]) -> str:
    """[(0, 1), (1, 1)]"""
    return "[" + ", ".join(f"({operator.index(a)}, {operator.index(b)})" for a, b in values) + "]"


def tensor(shape: Sequence[int], dtype: str, layout: str) -> Tensor:
    extents = "".join(f"{operator.index(extent)}x" for extent in shape)
    return parse(f"tensor<{extents}{dtype}, {layout}>")
