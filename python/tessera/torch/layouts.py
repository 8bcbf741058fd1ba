# SPDX-License-Identifier: Apache-2.0
"""Layouts of PyTorch's tensors, and back."""

from __future__ import annotations

from typing import Any, Optional, Union

import numpy as np
import torch

from .. import _native
from ..errors import TesseraError
from ..moving import plan_relayout
from ..notations import dtensor, strided
from .types import TORCH_DTYPES, dtype_of, torch_dtype

TensorOrText = Union["_native.Tensor", str]

def layout_of(tensor: torch.Tensor) -> _native.Tensor:
    """The layout of a tensor in its storage: stride() and storage_offset() as torch counts them. A DTensor has the
    layout of the whole tensor over its mesh.

    >>> tessera.torch.layout_of(torch.zeros(8, 6)[2:, ::2]).locate((1, 1)).slot
    20
    """
    if hasattr(tensor, "placements") and hasattr(tensor, "device_mesh"):
        mesh = tensor.device_mesh
        extents = tuple(mesh.shape if hasattr(mesh, "shape") else mesh.mesh.shape)  # torch 2.1 has no DeviceMesh.shape
        return dtensor.make(tuple(tensor.shape), dtype_of(tensor.dtype), extents, tensor.placements)
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"a tensor of torch is needed, not {type(tensor).__name__}: tessera.layout_of() takes arrays")
    if tensor.layout != torch.strided:
        raise TesseraError(f"a tensor that torch stores as {tensor.layout} has no strides", code="not_supported",
                           help="to_dense() has them")
    return strided.strides(tuple(tensor.shape), dtype_of(tensor.dtype), tensor.stride(), tensor.storage_offset())


def empty(layout: TensorOrText) -> torch.Tensor:
    """A new tensor with the strides of a layout on one place, in a storage with room for all of its slots.

    >>> t = tessera.torch.empty("tensor<4x6xbf16, strided<[1, 8], offset: 3>>")
    >>> tuple(t.shape), t.stride(), t.storage_offset(), t.dtype
    ((4, 6), (1, 8), 3, torch.bfloat16)
    """
    parsed = _native.parse(layout) if isinstance(layout, str) else layout
    strides = parsed.strides if parsed.kind != "pieces" and not parsed.mesh else None
    if strides is None:
        raise TesseraError(f"torch cannot express {parsed}: it has strides on one place only", code="not_supported",
                           help="hold its memory as a tensor of bytes: torch.empty(layout.nbytes, dtype=torch.uint8)")
    first = parsed.locate((0,) * len(parsed.shape)).slot if parsed.size else 0
    if min(strides, default=0) < 0:
        raise TesseraError("torch has no negative strides", code="not_supported")
    storage = torch.empty(parsed.slots, dtype=torch_dtype(parsed.storage))
    return torch.as_strided(storage, parsed.shape, strides, first)


def relayout(tensor: torch.Tensor, to: TensorOrText, *, layout: Optional[TensorOrText] = None,
             padding: str = "promised", rounding: str = "checked", threads: Optional[int] = None) -> torch.Tensor:
    """A tensor of the host moved to another layout: a new tensor with the memory of the destination, as
    tessera.relayout() gives it. Without `layout` the source is laid out as its strides say.

    >>> tessera.torch.relayout(torch.arange(6.).reshape(2, 3).t(), "tensor<3x2xf16, strided<[2, 1]>>")
    tensor([[0., 3.],
            [1., 4.],
            [2., 5.]], dtype=torch.float16)
    """
    source = tensor.detach()
    made = plan_relayout(_native.layout_of(source) if layout is None else layout, to, padding=padding, rounding=rounding)
    array: Any = made(source, threads=threads)
    storage = made.destination.storage
    wanted = TORCH_DTYPES.get(storage, torch.uint8)
    if array.dtype in (np.uint16, np.uint32, np.uint64):  # of the same size
        array = array.view(array.dtype.str.replace("u", "i"))
    moved = torch.from_numpy(array)
    return moved if moved.dtype == wanted else moved.view(wanted)
