# SPDX-License-Identifier: Apache-2.0
"""Element types of PyTorch and of layouts."""

from __future__ import annotations

from typing import Any

import torch

from .. import _native
from ..errors import TesseraError

#: Element types by torch's types. torch.bool is i1, which takes a byte in memory.
DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
          torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "ui8",
          torch.bool: "i1"}
for _name, _dtype in (("float8_e4m3fn", "f8E4M3FN"), ("float8_e5m2", "f8E5M2"), ("uint16", "ui16"),
                      ("uint32", "ui32"), ("uint64", "ui64")):
    if hasattr(torch, _name):
        DTYPES[getattr(torch, _name)] = _dtype
TORCH_DTYPES = {name: dtype for dtype, name in DTYPES.items()}


def dtype_of(dtype: Any) -> str:
    """The element type of a torch.dtype.

    >>> tessera.torch.dtype_of(torch.bfloat16)
    'bf16'
    """
    if dtype not in DTYPES:
        raise TesseraError(f"{dtype} is not an element type of layouts", code="bad_dtype",
                           help=f"there are {', '.join(map(str, DTYPES))}")
    return DTYPES[dtype]


def torch_dtype(name: str) -> Any:
    """The torch.dtype of an element type."""
    name = _native.dtype_name(name)
    if name not in TORCH_DTYPES:
        raise TesseraError(f"torch has no type for {name}", code="bad_dtype",
                           help=f"it has {', '.join(TORCH_DTYPES)}")
    return TORCH_DTYPES[name]
