# SPDX-License-Identifier: Apache-2.0
"""IBM Spyre: a row-major device tensor whose last dim is a stick of 128 bytes."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

from .. import _native
from .._native import Tensor
from ..results import Restickify, TransferNest
from ._write import Dtype, element, numbers, tensor


def device(shape: Sequence[int], dtype: Dtype, device_size: Sequence[int], *, dim_map: Optional[Sequence[int]] = None,
           stride_map: Optional[Sequence[int]] = None, host_stride: Optional[Sequence[int]] = None,
           storage_offset: int = 0, cores: Sequence[int] = (), era: str = "") -> Tensor:
    """A device tensor with a dim_map (the dim of each device dim, -1 for none) or a stride_map (its step in the
    host tensor).

    >>> t = tessera.spyre.device((5, 100), "f16", (2, 5, 64), dim_map=(1, 0, 1))
    >>> t.locate((3, 70)).slot
    518
    """
    if (dim_map is None) == (stride_map is None):
        raise TypeError("give either dim_map or stride_map")
    which = f"dim_map={numbers(dim_map)}" if dim_map is not None else f"stride_map={numbers(stride_map or ())}"
    options = _options(host_stride, storage_offset, cores, era)
    return tensor(shape, dtype, f"spyre<device_size={numbers(device_size)}, {', '.join([which, *options])}>")


def default(shape: Sequence[int], dtype: Dtype, *, dim_order: Optional[Sequence[int]] = None, sparse: bool = False,
            host_stride: Optional[Sequence[int]] = None, storage_offset: int = 0, cores: Sequence[int] = (),
            era: str = "") -> Tensor:
    """The device's own choice: sticks along the last dim of `dim_order`. `sparse` keeps one element per stick.

    >>> t = tessera.spyre.default((512, 240), "f16")
    >>> tessera.spyre.device_size(t), tessera.spyre.stride_map(t)
    ((4, 512, 64), (64, 240, 1))
    """
    options = [f"dim_order={numbers(dim_order)}"] if dim_order is not None else []
    options += ["sparse=true"] if sparse else []
    return tensor(shape, dtype, f"spyre.default({', '.join([*options, *_options(host_stride, storage_offset, cores, era)])})")


def stick_dim(shape: Sequence[int], dtype: Dtype, dim: int, *, sparse: bool = False) -> Tensor:
    """The default layout with sticks along `dim`; the other dims keep their order.

    >>> a = tessera.spyre.stick_dim((512, 256), "f16", 0)
    >>> tessera.spyre.restickify(tessera.spyre.default((512, 256), "f16"), a).kind
    'transpose'
    """
    rank = len(shape)
    if not -rank <= dim < rank:
        raise IndexError(f"the tensor has no dim {dim}")
    dim %= rank
    return default(shape, dtype, dim_order=[*(d for d in range(rank) if d != dim), dim], sparse=sparse)


def restickify(source: Tensor, destination: Tensor) -> Restickify:
    """Whether the device can change one layout to another, and what that reads and writes."""
    return _native.spyre_restickify(source, destination)


def nests(tensor: Tensor, part: Optional[Sequence[Sequence[int]]] = None) -> list[TransferNest]:
    """The loops that copy a tensor, or a part of it (a range for each dim), between host and device.

    >>> [nest.extent for nest in tessera.spyre.nests(tessera.spyre.default((512, 240), "f16"))]
    [(3, 512, 64), (1, 512, 48)]
    """
    return _native.spyre_nests(tensor, None if part is None else [list(one) for one in part])


def spelled_out(tensor: Tensor) -> Tensor:
    """The layout with its device_size and map."""
    return _native.spyre_spelled_out(tensor)


def device_size(tensor: Tensor) -> Tuple[int, ...]:
    """The extents of the device tensor."""
    return _native.spyre_device_size(tensor)


def stride_map(tensor: Tensor) -> Tuple[int, ...]:
    """The step of each device dim in the host tensor; -1 for none."""
    return _native.spyre_stride_map(tensor)


def dim_map(tensor: Tensor) -> Tuple[int, ...]:
    """The dim of each device dim; an error where a dim_map cannot express the layout."""
    return _native.spyre_dim_map(tensor)


def covered_sticks(tensor: Tensor) -> int:
    """Sticks that hold at least one element."""
    return _native.spyre_covered_sticks(tensor)


def elements_per_stick(dtype: Dtype) -> int:
    """Elements in a stick of 128 bytes: 64 for f16, 32 for f32."""
    return _native.spyre_elements_per_stick(element(dtype))


def _options(host_stride: Optional[Sequence[int]], storage_offset: int, cores: Sequence[int], era: str) -> list[str]:
    options = []
    if host_stride is not None:
        options.append(f"host_stride={numbers(host_stride)}")
    if storage_offset:
        options.append(f"storage_offset={storage_offset}")
    if cores:
        options.append(f"cores={numbers(cores)}")
    if era:
        options.append(f"era={era}")
    return options
