# SPDX-License-Identifier: Apache-2.0
"""Tensor layouts on spatial accelerators: where elements are, and what it takes to move them.

>>> t = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
>>> t.locate((40, 33))
Location(place=(2, 1), slot=129, byte=516)
>>> shards = tessera.relayout(np.zeros((53, 63), np.float32), t)
>>> shards.shape
(3, 2, 576)

parse() reads every notation; the modules pyflame, spyre, metal, ttnn, .. make tensors from numbers. docs/python.md
is the tour, and help(tessera.Tensor) lists what a tensor answers.
"""

from ._native import (Location, Plan, Program, Tensor, __version__, dtype_bits, dtype_name, dtypes, empty, error_codes,
                      layout_of, notation_names, padding_causes, parse)
from .buffers import Buffer, MemoryPlan, alloc
from .choosing import FORBIDDEN, Choice, choose
from .commands import check, fits, propagate, target, targets
from .errors import TesseraError, TesseraIndexError, TesseraMemoryError
from .graphs import Graph, PropagatedNode, Propagation, Run, Value
from .moving import Reshard, relayout, reshard
from .notations import (cute, dtensor, gspmd, metal, metal_today, morello, native, onednn, pyflame, spyre, strided,
                        ttnn, xla)
from .planning import ModelPlan, PlanFinding, plan
from .results import (Conversion, Difference, Locations, Padding, PaddingRegion, Pairs, PlaceClass, Restickify,
                      Transfer, TransferNest)

__all__ = [
    "Buffer", "Choice", "Conversion", "Difference", "FORBIDDEN", "Graph", "Location", "Locations", "MemoryPlan",
    "ModelPlan", "Padding", "PaddingRegion", "Pairs", "PlaceClass", "Plan", "PlanFinding", "Program", "PropagatedNode", "Propagation",
    "Reshard", "Restickify", "Run", "Tensor", "TesseraError", "TesseraIndexError", "TesseraMemoryError", "Transfer",
    "TransferNest", "Value", "__version__", "alloc", "check", "choose", "cute", "dtensor", "dtype_bits",
    "dtype_name", "dtypes", "empty", "error_codes", "fits", "gspmd", "layout_of", "metal", "metal_today", "morello",
    "native", "notation_names", "onednn", "padding_causes", "parse", "plan", "propagate", "pyflame", "relayout",
    "reshard", "spyre", "strided", "target", "targets", "ttnn", "xla",
]
