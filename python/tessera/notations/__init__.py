# SPDX-License-Identifier: Apache-2.0
"""One module for each notation, with makers of tensors from numbers. docs/notations.md has the rules."""

from . import (cute, dtensor, gspmd, metal, metal_today, morello, native, onednn, pyflame, spyre, strided, ttnn, xla)

__all__ = ["cute", "dtensor", "gspmd", "metal", "metal_today", "morello", "native", "onednn", "pyflame", "spyre",
           "strided", "ttnn", "xla"]
