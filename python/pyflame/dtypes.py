# SPDX-License-Identifier: Apache-2.0
"""Element types, as an enumeration and as names."""

from __future__ import annotations

import enum
from typing import Any, Optional, Union

import numpy as np

import tessera
from tessera import TesseraError

__all__ = ["DType", "DTypeLike"]

DTypeLike = Union["DType", str, type, "np.dtype[Any]"]

#: The types of NumPy, by the names of Tessera; other types are unsigned integers of their size there.
_NUMPY = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": "u2", "f8E4M3FN": "u1", "f8E5M2": "u1",
          "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "si64": "i8", "si32": "i4", "si16": "i2", "si8": "i1",
          "ui64": "u8", "ui32": "u4", "ui16": "u2", "ui8": "u1", "i1": "?"}
_SAME_IN_NUMPY = {"f8": "f64", "f4": "f32", "f2": "f16", "i8": "i64", "i4": "i32", "i2": "i16", "i1": "i8",
                  "u8": "ui64", "u4": "ui32", "u2": "ui16", "u1": "ui8", "b1": "i1"}


class DType(enum.Enum):
    """An element type. str() is its name; `value` is Tessera's name, as in the texts of tensors.

    Functions take members, names of either kind, and types of NumPy:

    >>> pf.DType("float32") is pf.DType("f32") is pf.DType(np.float32) is pf.float32
    True
    >>> str(pf.bfloat16), pf.bfloat16.bits
    ('bfloat16', 16)

    sint and int differ as in MLIR, where integers may have no sign. Block floats (bfp) exist in tiles only.
    """

    float64 = "f64"
    float32 = "f32"
    float16 = "f16"
    bfloat16 = "bf16"
    float8_e4m3 = "f8E4M3FN"
    float8_e5m2 = "f8E5M2"
    int64 = "i64"
    int32 = "i32"
    int16 = "i16"
    int8 = "i8"
    sint64 = "si64"
    sint32 = "si32"
    sint16 = "si16"
    sint8 = "si8"
    uint64 = "ui64"
    uint32 = "ui32"
    uint16 = "ui16"
    uint8 = "ui8"
    bool_ = "i1"
    int4 = "i4"
    int2 = "i2"
    bfp_bf8 = "bfp_bf8"
    bfp_bf4 = "bfp_bf4"
    bfp_bf2 = "bfp_bf2"
    bfp_f8 = "bfp_f8"
    bfp_f4 = "bfp_f4"
    bfp_f2 = "bfp_f2"

    @classmethod
    def _missing_(cls, value: object) -> DType:
        name = value
        if isinstance(value, (np.dtype, type)):
            name = _SAME_IN_NUMPY.get(np.dtype(value).str[1:])
        elif not isinstance(value, str):
            name = str(value).rpartition("torch.")[2]  # types of PyTorch
        if isinstance(name, str):
            if name in cls.__members__:
                return cls.__members__[name]
            if name == "bool":
                return cls.bool_
            try:
                usual = tessera.dtype_name(name)  # of 'u8': 'ui8'
            except TesseraError:
                usual = ""
            for one in cls:
                if one.value == usual:
                    return one
        raise TesseraError(f"there is no element type {value!r}", code="bad_dtype",
                           help="types are " + ", ".join(map(str, cls)))

    def __str__(self) -> str:
        return self.name.rstrip("_")

    @property
    def bits(self) -> Optional[int]:
        """Of one element; None for block floats, whose elements have no address."""
        return tessera.dtype_bits(self.value)

    @property
    def is_float(self) -> bool:
        return self.value.startswith(("f", "bf"))

    @property
    def numpy(self) -> Optional[np.dtype[Any]]:
        """The type of arrays: unsigned integers of the same size for types that NumPy lacks; None for types that have
        no whole bytes.

        >>> pf.float16.numpy, pf.bfloat16.numpy, pf.int4.numpy
        (dtype('float16'), dtype('uint16'), None)
        """
        name = _NUMPY.get(self.value)
        return None if name is None else np.dtype(name)
