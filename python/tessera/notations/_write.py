# SPDX-License-Identifier: Apache-2.0
"""Texts of tensors from numbers. What they mean, and whether they are right, is decided by parse()."""

from __future__ import annotations

import operator
from typing import Any, Iterable, Sequence

import numpy as np

from .._native import Tensor, parse

#: An element type: its name in texts ("f32"), or a type of NumPy or PyTorch or its name (np.float32, "float32").
Dtype = Any

_NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8E4M3FN",
          "float8_e5m2": "f8E5M2", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint64": "ui64",
          "uint32": "ui32", "uint16": "ui16", "uint8": "ui8", "bool": "i1"}


def element(dtype: Dtype) -> str:
    """The name of an element type in texts.

    >>> tessera.strided.row_major((4, 6), np.float32) == tessera.strided.row_major((4, 6), "f32")
    True
    """
    name = np.dtype(dtype).name if isinstance(dtype, type) else str(dtype).rpartition("torch.")[2]
    return _NAMES.get(name, name)


def numbers(values: Iterable[int]) -> str:
    """[1, 2, 3]"""
    return "[" + ", ".join(str(operator.index(value)) for value in values) + "]"


def pairs(values: Iterable[Sequence[int]]) -> str:
    """[(0, 1), (1, 1)]"""
    return "[" + ", ".join(f"({operator.index(a)}, {operator.index(b)})" for a, b in values) + "]"


def tensor(shape: Sequence[int], dtype: Dtype, layout: str) -> Tensor:
    extents = "".join(f"{operator.index(extent)}x" for extent in shape)
    return parse(f"tensor<{extents}{element(dtype)}, {layout}>")
