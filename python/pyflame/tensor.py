# SPDX-License-Identifier: Apache-2.0
"""The tensor: NumPy's operators on something that is computed when it is asked for."""

from __future__ import annotations

import operator
from typing import Any, Iterator, Optional, Sequence, Tuple, Union

import numpy as np

from tessera import TesseraError, TesseraIndexError, _native

from .dtypes import DType, DTypeLike
from .layout import LayoutLike, placed

__all__ = ["Tensor", "apply", "tensor"]

Array = np.ndarray[Any, Any]
Number = Union[int, float, bool]
Operand = Union["Tensor", Number, Array]
Axes = Union[int, Sequence[int], None]

_EXACT = 2 ** 53  # larger integers are not exact as floats


class Tensor:
    """A tensor that is computed when it is asked for. Made by randn(), zeros(), tensor(), .., and by operators.

    Operators and methods check shapes and element types at once, so an error is raised by the line that is wrong;
    nothing is computed before eval(), numpy(), item() or a print of the elements. What has been computed is kept as
    long as the tensor. Broadcasting and indexing with numbers, slices, None and ... are those of NumPy; element types
    are never converted: use cast().

    >>> x = pf.arange(6).reshape(2, 3)
    >>> y = (x * 2 - 1)[:, 1:]
    >>> y
    <pyflame.Tensor int64[2, 2]>
    >>> y.numpy()
    array([[1, 3],
           [7, 9]])
    """

    __slots__ = ("_lazy", "_layout", "__weakref__")
    __array_ufunc__ = None  # so that array + tensor asks the tensor

    def __init__(self, lazy: _native.LazyTensor, layout: Optional[LayoutLike] = None) -> None:
        self._lazy = lazy
        self._layout = layout

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._lazy.shape

    @property
    def dtype(self) -> DType:
        return DType(self._lazy.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def layout(self) -> Optional[LayoutLike]:
        """The layout that it was given; None where eval() chooses one."""
        return self._lazy.layout if self._layout is None else self._layout

    @property
    def is_evaluated(self) -> bool:
        return self._lazy.is_evaluated

    def numpy(self) -> Array:
        """The elements as a new array; computed first, if they are not there yet.

        Types that NumPy lacks are unsigned integers of the same size (bfloat16); those without whole bytes are a line
        of packed bytes.
        """
        from .evaluation import evaluate

        if not self.is_evaluated:
            evaluate([self])
        made = self.dtype.numpy
        array = np.empty(self.shape, made) if made is not None else np.empty(
            _native.dtype_bytes(self.dtype.value, self.size), np.uint8)
        self._lazy.read(array)
        return array

    def item(self) -> Any:
        """The only element as a number of Python."""
        if self.size != 1:
            raise TesseraError(f"{self!r} has {self.size} elements", code="shape_mismatch")
        return self.numpy().reshape(()).item()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        if copy is False:
            raise ValueError("the elements of a tensor are always copied")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        where = "" if self.layout is None else f" on {self.layout}"
        return f"<pyflame.Tensor {self.dtype}{list(self.shape)}{where}>"

    # Operators.
    def __add__(self, other: Operand) -> Tensor:
        return apply("add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return apply("add", other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return apply("sub", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return apply("sub", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return apply("mul", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return apply("mul", other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return _quotient(self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _quotient(other, self)

    def __pow__(self, other: Operand) -> Tensor:
        return apply("pow", self, other)

    def __matmul__(self, other: Operand) -> Tensor:
        return apply("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return apply("matmul", other, self)

    def __neg__(self) -> Tensor:
        return apply("neg", self)

    def __abs__(self) -> Tensor:
        return apply("abs", self)

    def __eq__(self, other: Operand) -> Tensor:  # type: ignore[override]
        """Element by element, as in NumPy."""
        return apply("equal", self, other)

    def __ne__(self, other: Operand) -> Tensor:  # type: ignore[override]
        return apply("not", apply("equal", self, other))

    def __lt__(self, other: Any) -> Tensor:
        return apply("less", self, other)

    def __le__(self, other: Any) -> Tensor:
        return apply("less_or_equal", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return apply("greater", self, other)

    def __ge__(self, other: Any) -> Tensor:
        return apply("greater_or_equal", self, other)

    def __hash__(self) -> int:
        return id(self)

    # Reductions.
    def sum(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return _reduced("reduce_sum", self, axis, keepdims)

    def mean(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return _reduced("reduce_mean", self, axis, keepdims)

    def max(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return _reduced("reduce_max", self, axis, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return _reduced("reduce_min", self, axis, keepdims)

    def prod(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return _reduced("reduce_prod", self, axis, keepdims)

    # Shapes, types and layouts.
    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape; one extent may be -1: reshape(2, -1) or reshape([2, -1])."""
        extents = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        return Tensor(_native.lazy_reshape(self._lazy, list(extents)))

    def transpose(self, axes: Optional[Sequence[int]] = None) -> Tensor:
        """Dim i of the result is dim axes[i]; without axes all dims are reversed."""
        if axes is None:
            return apply("transpose", self)
        return apply("transpose", self, perm=[_axis(axis, self.ndim) for axis in axes])

    @property
    def T(self) -> Tensor:
        return self.transpose()

    def cast(self, dtype: DTypeLike) -> Tensor:
        """The same numbers, rounded to another element type; the tensor itself if it has that type."""
        wanted = DType(dtype)
        return self if wanted is self.dtype else apply("cast", self, to=wanted.value)

    astype = cast

    def to_layout(self, layout: LayoutLike) -> Tensor:
        """The same elements in another layout; the tensor itself if it has that layout already."""
        if self._layout is not None and _is_same(self._layout, layout):
            return self
        where = placed(self.shape, self.dtype, layout)
        assert where is not None
        return Tensor(self._lazy.to_layout(where), layout)

    def __getitem__(self, key: Any) -> Tensor:
        starts, ends, steps, extents = [], [], [], []
        changes = False
        dim = 0
        for part in _spelled_out(key, self.ndim):
            if part is None:
                extents.append(1)
                continue
            extent = self.shape[dim]
            dim += 1
            if not isinstance(part, slice):
                at = operator.index(part)
                if not -extent <= at < extent:
                    raise TesseraIndexError(f"index {at} is outside dim {dim - 1} of extent {extent}",
                                            code="out_of_range")
                start, end, step, count = at % extent, at % extent + 1, 1, 1
            else:
                start, end, step = part.indices(extent)
                count = len(range(start, end, step))
                if count == 0:
                    start, end, step = 0, 0, 1
                elif end < 0:
                    end = -extent - 1  # before the first element, for steps backwards
                extents.append(count)
            changes = changes or count != extent or step != 1
            starts.append(start)
            ends.append(end)
            steps.append(step)
        taken = apply("slice", self, starts=starts, ends=ends, steps=steps) if changes else self
        return taken if taken.shape == tuple(extents) else taken.reshape(extents)


def _is_same(a: LayoutLike, b: LayoutLike) -> bool:
    return bool(type(a) is type(b) and a == b)


def _axis(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def _spelled_out(key: Any, rank: int) -> list[Any]:
    """The parts of an index, one per dim, and None for each new dim."""
    parts = list(key) if isinstance(key, tuple) else [key]
    for part in parts:
        is_known = part is None or part is ... or isinstance(part, slice) or hasattr(part, "__index__")
        if not is_known or isinstance(part, bool) or np.ndim(part) > 0:
            raise TypeError(f"tensors are indexed with numbers, slices, None and ..., not {type(part).__name__}; "
                            "pyflame.apply('gather', ..) takes elements by position")
    used = sum(part is not None and part is not ... for part in parts)
    if used > rank or parts.count(...) > 1:
        raise TesseraIndexError(f"an index of {used} dims for a tensor of rank {rank}", code="out_of_range")
    at = parts.index(...) if ... in parts else len(parts)
    return [*parts[:at], *[slice(None)] * (rank - used), *parts[at + 1:]]


def _number(value: Number, dtype: DType) -> Tensor:
    """A number beside a tensor of this type."""
    if isinstance(value, int) and abs(value) > _EXACT:
        raise TesseraError(f"{value} is not exact as a 64-bit float", code="out_of_range",
                           help="make a tensor of it: pyflame.tensor(numpy.int64(..))")
    if not dtype.is_float and not float(value).is_integer():
        raise TesseraError(f"the number {value} beside a tensor of {dtype}", code="bad_dtype",
                           help="cast the tensor to a float")
    return Tensor(_native.lazy_full([], float(value), dtype.value, None))


def _operands(values: Sequence[Operand]) -> list[_native.LazyTensor]:
    """Tensors as they are; numbers have the type of the first tensor beside them."""
    made: list[Union[Tensor, Number]] = []
    for value in values:
        if isinstance(value, (Tensor, int, float)):
            made.append(value)
        elif isinstance(value, np.generic):
            made.append(value.item())
        elif isinstance(value, np.ndarray):
            made.append(tensor(value))
        else:
            raise TypeError(f"a pyflame.Tensor, an array or a number is needed, not {type(value).__name__}")
    types = [value.dtype for value in made if isinstance(value, Tensor)]
    if not types:
        raise TypeError("one operand must be a tensor")
    return [(value if isinstance(value, Tensor) else _number(value, types[0]))._lazy for value in made]


def apply(op: str, *operands: Operand, **attributes: Any) -> Tensor:
    """Any op of the table in docs/graph.md that has one output, with its attributes by name.

    >>> pf.apply("leaky_relu", pf.tensor([-1.0, 2.0]), alpha=0.5).numpy()
    array([-0.5,  2. ], dtype=float32)
    """
    return Tensor(_native.lazy_apply(op, _operands(operands), attributes))


def _quotient(a: Operand, b: Operand) -> Tensor:
    for one in (a, b):
        if isinstance(one, Tensor) and not one.dtype.is_float:
            raise TesseraError(f"/ of {one!r}: only floats have quotients", code="bad_dtype",
                               help="cast it to a float, or apply('div', ..) for whole quotients")
    return apply("div", a, b)


def _reduced(op: str, x: Operand, axis: Axes, keepdims: bool) -> Tensor:
    attributes: dict[str, Any] = {"keepdims": int(keepdims)}
    if axis is not None:
        attributes["axes"] = [axis] if isinstance(axis, int) else list(axis)
    return apply(op, x, **attributes)


def tensor(data: Any, dtype: Optional[DTypeLike] = None, layout: Optional[LayoutLike] = None) -> Tensor:
    """A tensor with these elements: an array of NumPy, numbers or lists of them, or anything with DLPack in the memory
    of the host (tensors of PyTorch). The elements are copied.

    Without dtype an array keeps its type, and numbers become float32, int64 or bool. With dtype they are converted.

    >>> pf.tensor([[1, 2], [3, 4]], "bfloat16")
    <pyflame.Tensor bfloat16[2, 2]>
    """
    if isinstance(data, Tensor):
        made = data
    elif hasattr(data, "__dlpack__") and not isinstance(data, np.ndarray):
        plain = data.detach().contiguous() if hasattr(data, "detach") else data
        made = Tensor(_native.lazy_from(plain, "", None))
    else:
        array = np.asarray(data)
        if array.dtype == np.float64 and not hasattr(data, "__array__"):
            array = array.astype(np.float32 if dtype is None else np.float64)
        made = Tensor(_native.lazy_from(np.ascontiguousarray(array).reshape(array.shape), "", None))
    if dtype is not None:
        made = made.cast(dtype)
    return made if layout is None else _with_layout(made, layout)


def from_bits(array: Any, dtype: DTypeLike, layout: Optional[LayoutLike] = None) -> Tensor:
    """A tensor whose elements have the bits of an array's, as numpy() returns them for types that NumPy lacks.

    >>> pf.from_bits(np.array([0x3F80, 0x4000], np.uint16), "bfloat16").cast("float32").numpy()
    array([1., 2.], dtype=float32)
    """
    bits = np.asarray(array, order="C")
    wanted = DType(dtype)
    where = placed(bits.shape, wanted, layout)
    return Tensor(_native.lazy_from(bits, wanted.value, where), layout)


def _with_layout(made: Tensor, layout: LayoutLike) -> Tensor:
    """The elements of a tensor, in a layout from the beginning where they are at hand."""
    if made.is_evaluated and made.dtype.numpy is not None and made.layout is None:
        return from_bits(made.numpy(), made.dtype, layout)
    return made.to_layout(layout)
