# SPDX-License-Identifier: Apache-2.0
"""Tensors on wafers, in the words of PyFlame: lazy, with a layout where it matters.

>>> x = pf.randn([32, 64], seed=1)
>>> w = pf.randn([64, 10], layout=pf.Layout.grid(4, 2), seed=2)
>>> y = pf.softmax(pf.relu(x @ w))
>>> pf.eval(y).shape
(32, 10)

Nothing is computed before eval(). It then runs on a device in this process that has the memories of a machine (wse2,
or target=), so that what fits here fits there. docs/python.md has a tour; the package tessera answers everything about
layouts themselves.
"""

from .creation import arange, full, manual_seed, ones, randn, zeros
from .dtypes import DType
from .evaluation import Evaluation, eval, evaluate, graph_of
from .functions import (cast, concat, equal, erf, exp, gelu, greater, greater_equal, layer_norm, less, less_equal, log,
                        log_softmax, matmul, max, maximum, mean, min, minimum, not_equal, prod, relu, reshape, rms_norm,
                        rsqrt, sigmoid, softmax, sqrt, sum, tanh, transpose, where)
from .layout import Layout, MeshLayout, get_tile_shape, memory_usage_per_pe, to_layout
from .tensor import Tensor, apply, from_bits, tensor

float64, float32, float16, bfloat16 = DType.float64, DType.float32, DType.float16, DType.bfloat16
float8_e4m3, float8_e5m2 = DType.float8_e4m3, DType.float8_e5m2
int64, int32, int16, int8, int4, int2 = DType.int64, DType.int32, DType.int16, DType.int8, DType.int4, DType.int2
sint64, sint32, sint16, sint8 = DType.sint64, DType.sint32, DType.sint16, DType.sint8
uint64, uint32, uint16, uint8 = DType.uint64, DType.uint32, DType.uint16, DType.uint8
bool_ = DType.bool_
bfp_bf8, bfp_bf4, bfp_bf2 = DType.bfp_bf8, DType.bfp_bf4, DType.bfp_bf2
bfp_f8, bfp_f4, bfp_f2 = DType.bfp_f8, DType.bfp_f4, DType.bfp_f2

__all__ = [
    "DType", "Evaluation", "Layout", "MeshLayout", "Tensor", "apply", "arange", "bfloat16", "bfp_bf2", "bfp_bf4",
    "bfp_bf8", "bfp_f2", "bfp_f4", "bfp_f8", "bool_", "cast", "concat", "equal", "erf", "eval", "evaluate", "exp",
    "float16", "float32", "float64", "float8_e4m3", "float8_e5m2", "from_bits", "full", "gelu", "get_tile_shape",
    "graph_of", "greater", "greater_equal", "int16", "int2", "int32", "int4", "int64", "int8", "layer_norm", "less",
    "less_equal", "log", "log_softmax", "manual_seed", "matmul", "max", "maximum", "mean", "memory_usage_per_pe", "min",
    "minimum", "not_equal", "ones", "prod", "randn", "relu", "reshape", "rms_norm", "rsqrt", "sigmoid", "sint16",
    "sint32", "sint64", "sint8", "softmax", "sqrt", "sum", "tanh", "tensor", "to_layout", "transpose", "uint16",
    "uint32", "uint64", "uint8", "where", "zeros",
]
