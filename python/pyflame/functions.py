# SPDX-License-Identifier: Apache-2.0
"""Functions of tensors. Numbers and arrays of NumPy may stand beside a tensor."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from .dtypes import DTypeLike
from .tensor import Axes, Operand, Tensor, _operands, _reduced, apply, tensor

__all__ = ["cast", "concat", "equal", "erf", "exp", "gelu", "greater", "greater_equal", "layer_norm", "less",
           "less_equal", "log", "log_softmax", "matmul", "max", "maximum", "mean", "min", "minimum", "not_equal",
           "prod", "relu", "reshape", "rms_norm", "rsqrt", "sigmoid", "softmax", "sqrt", "sum", "tanh", "transpose",
           "where"]


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else tensor(x)


def matmul(a: Operand, b: Operand) -> Tensor:
    """The product a @ b of matrices, as in NumPy: leading dims are broadcast."""
    return apply("matmul", a, b)


def relu(x: Operand) -> Tensor:
    """max(x, 0).

    >>> pf.relu(pf.tensor([-1.0, 2.0])).numpy()
    array([0., 2.], dtype=float32)
    """
    return apply("relu", _tensor(x))


def gelu(x: Operand, approximate: str = "none") -> Tensor:
    """x·Φ(x), by erf or, with 'tanh', approximately."""
    return apply("gelu", _tensor(x), approximate=approximate)


def softmax(x: Operand, axis: int = -1) -> Tensor:
    """exp(x) divided by its sum along an axis."""
    return apply("softmax", _tensor(x), axis=axis)


def log_softmax(x: Operand, axis: int = -1) -> Tensor:
    """log(softmax(x))."""
    return apply("log_softmax", _tensor(x), axis=axis)


def layer_norm(x: Operand, weight: Optional[Operand] = None, bias: Optional[Operand] = None, axis: int = -1,
               epsilon: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) over the dims from axis on, times weight plus bias.

    >>> pf.layer_norm(pf.tensor([[1.0, 3.0]]), epsilon=0.0).numpy()
    array([[-1.,  1.]], dtype=float32)
    """
    operands: list[Operand] = [_tensor(x), 1 if weight is None else weight]
    if bias is not None:
        operands.append(bias)
    return apply("layer_norm", *operands, axis=axis, epsilon=epsilon)


def rms_norm(x: Operand, weight: Optional[Operand] = None, axis: int = -1, epsilon: float = 1e-5) -> Tensor:
    """x / sqrt(mean of squares + epsilon) over the dims from axis on, times weight."""
    operands: list[Operand] = [_tensor(x)] if weight is None else [_tensor(x), weight]
    return apply("rms_norm", *operands, axis=axis, epsilon=epsilon)


def exp(x: Operand) -> Tensor:
    """The exponential."""
    return apply("exp", _tensor(x))


def log(x: Operand) -> Tensor:
    """The natural logarithm."""
    return apply("log", _tensor(x))


def sqrt(x: Operand) -> Tensor:
    """The square root."""
    return apply("sqrt", _tensor(x))


def rsqrt(x: Operand) -> Tensor:
    """1 / sqrt(x)."""
    return apply("rsqrt", _tensor(x))


def tanh(x: Operand) -> Tensor:
    """The hyperbolic tangent."""
    return apply("tanh", _tensor(x))


def sigmoid(x: Operand) -> Tensor:
    """1 / (1 + exp(-x))."""
    return apply("sigmoid", _tensor(x))


def erf(x: Operand) -> Tensor:
    """The error function."""
    return apply("erf", _tensor(x))


def maximum(a: Operand, b: Operand) -> Tensor:
    """The larger of two numbers, element by element."""
    return apply("max", a, b)


def minimum(a: Operand, b: Operand) -> Tensor:
    """The smaller of two numbers, element by element."""
    return apply("min", a, b)


def equal(a: Operand, b: Operand) -> Tensor:
    """a == b, element by element."""
    return apply("equal", a, b)


def not_equal(a: Operand, b: Operand) -> Tensor:
    """a != b, element by element."""
    return apply("not", apply("equal", a, b))


def less(a: Operand, b: Operand) -> Tensor:
    """a < b, element by element."""
    return apply("less", a, b)


def less_equal(a: Operand, b: Operand) -> Tensor:
    """a <= b, element by element."""
    return apply("less_or_equal", a, b)


def greater(a: Operand, b: Operand) -> Tensor:
    """a > b, element by element."""
    return apply("greater", a, b)


def greater_equal(a: Operand, b: Operand) -> Tensor:
    """a >= b, element by element."""
    return apply("greater_or_equal", a, b)


def where(condition: Operand, a: Operand, b: Operand) -> Tensor:
    """Elements of a where the condition holds, of b elsewhere.

    >>> x = pf.tensor([-1.0, 2.0])
    >>> pf.where(x > 0, x, 0.0).numpy()
    array([0., 2.], dtype=float32)
    """
    one, other = _operands([a, b])
    return apply("where", _tensor(condition), Tensor(one), Tensor(other))


def sum(x: Operand, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The sum along axes, or of everything."""
    return _reduced("reduce_sum", _tensor(x), axis, keepdims)


def mean(x: Operand, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean along axes, or of everything."""
    return _reduced("reduce_mean", _tensor(x), axis, keepdims)


def max(x: Operand, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest number along axes, or of all."""
    return _reduced("reduce_max", _tensor(x), axis, keepdims)


def min(x: Operand, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest number along axes, or of all."""
    return _reduced("reduce_min", _tensor(x), axis, keepdims)


def prod(x: Operand, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The product along axes, or of everything."""
    return _reduced("reduce_prod", _tensor(x), axis, keepdims)


def reshape(x: Operand, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape; one extent may be -1."""
    return _tensor(x).reshape(shape)


def transpose(x: Operand, axes: Optional[Sequence[int]] = None) -> Tensor:
    """Dim i of the result is dim axes[i]; without axes all dims are reversed."""
    return _tensor(x).transpose(axes)


def concat(tensors: Sequence[Operand], axis: int = 0) -> Tensor:
    """Tensors one after the other along an axis.

    >>> pf.concat([pf.zeros([2, 3]), pf.ones([1, 3])]).shape
    (3, 3)
    """
    return apply("concat", *map(_tensor, tensors), axis=axis)


def cast(x: Operand, dtype: DTypeLike) -> Tensor:
    """The same numbers, rounded to another element type."""
    return _tensor(x).cast(dtype)
