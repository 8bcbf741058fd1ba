# SPDX-License-Identifier: Apache-2.0
"""Where tensors are on the PEs of a wafer.

>>> layout = Layout.grid(4, 4)
>>> layout, layout.pe_rows * layout.pe_cols
(Grid(4, 4), 16)
>>> layout.tile_shape((3, 3), (53, 63))
(11, 15)

Layouts are equal where they put every element of every tensor on the same PE and into the same slot, however they are
written:

>>> Layout.grid(4, 1) == Layout.row_partition(4)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple, Union

import tessera
from tessera import TesseraError
from tessera._native import MeshLayout, dtype_bytes, plan_layout

from .dtypes import DType, DTypeLike
from .machines import machine

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["Layout", "LayoutLike", "MeshLayout", "get_tile_shape", "memory_usage_per_pe", "to_layout"]

#: A layout of any shape, its text ("Grid(4, 4)"), a text in any notation of Tessera, or a tensor of tessera.
LayoutLike = Union[MeshLayout, str, tessera.Tensor]

_KINDS = ("SinglePE", "RowPartition", "ColPartition", "Grid", "BlockCyclic", "Custom")


class Layout:
    """Makers of layouts. Each returns a MeshLayout with pe_rows and pe_cols, tile_shape(pe, shape),
    pe_for_element(index, shape), local_indices(index, shape), memory_per_pe(shape, element_size) and
    tensor(shape, dtype), which is the layout for one tensor in the words of tessera.

    Options of `replace`: dim_to_pe (the PE axis of each dim: 0 rows, 1 columns, -1 none, (0, 1) all PEs row by row),
    origin (the PE of tile (0, 0)) and replicate (PE axes along which every PE has a copy).
    """

    @staticmethod
    def single_pe() -> MeshLayout:
        """All of it on one PE, which has 36 KB for data on a WSE-2."""
        return MeshLayout.SinglePE()

    @staticmethod
    def row_partition(num_pes: int) -> MeshLayout:
        """Dim 0 over a column of PEs: ceil(rows / num_pes) rows on each, fewer or none on the last."""
        return MeshLayout.RowPartition(num_pes)

    @staticmethod
    def col_partition(num_pes: int) -> MeshLayout:
        """Dim 1 over a row of PEs."""
        return MeshLayout.ColPartition(num_pes)

    @staticmethod
    def grid(rows: int, cols: int) -> MeshLayout:
        """Dim 0 over the rows and dim 1 over the columns of a grid of PEs, one tile on each."""
        return MeshLayout.Grid(rows, cols)

    @staticmethod
    def block_cyclic(rows: int, cols: int, block_rows: int, block_cols: int) -> MeshLayout:
        """Blocks dealt to the PEs in turn: block k of a dim goes to PE k mod p."""
        return MeshLayout.BlockCyclic(rows, cols, block_rows, block_cols)

    @staticmethod
    def custom(rows: int, cols: int, pes: Sequence[Tuple[int, int]]) -> MeshLayout:
        """The tiles of grid(rows, cols), each on the PE that the list names, row-major and without repeats."""
        return MeshLayout.Custom(rows, cols, list(pes))

    @staticmethod
    def auto(tensor_shape: Sequence[int], dtype: DTypeLike = "float32", target: str = "wse2", *,
             max_memory_per_pe: Optional[int] = None) -> MeshLayout:
        """The layout that PyFlame's planner chooses for one tensor: a single PE if it fits there, else tiles that are
        as square as can be and leave little of the memory of a PE over.

        Every grid of PEs is considered, with any dim over the rows and any other over the columns, or one dim over
        both axes: dim_to_pe=[[0, 1]].

        max_memory_per_pe  bytes of a tile at most; without it, all that a PE has for data (36 KB on a WSE-2). Weights
                           need less than that, since operands and results are on the same PEs.

        Raises TesseraError (does_not_fit) if no tile is small enough.

        >>> Layout.auto([1024, 512]), Layout.auto([1024, 512], max_memory_per_pe=16 * 1024)
        (Grid(12, 6), Grid(16, 8))
        >>> Layout.auto([10]), Layout.auto([8388608], max_memory_per_pe=32 * 1024)
        (SinglePE(), Grid(2, 512, dim_to_pe=[[0, 1]]))
        """
        return plan_layout(tensor_shape, DType(dtype).value, machine(target), max_memory_per_pe)


def placed(shape: Sequence[int], dtype: DType, layout: Optional[LayoutLike]) -> Optional[tessera.Tensor]:
    """A layout for one tensor, in the words of tessera."""
    if layout is None or isinstance(layout, tessera.Tensor):
        return layout
    if isinstance(layout, MeshLayout):
        return layout.tensor(shape, dtype.value)
    extents = "".join(f"{extent}x" for extent in shape)
    if layout.partition("(")[0] in _KINDS:  # as str() of a MeshLayout is
        layout = f"pyflame.{layout}"
    return tessera.parse(f"tensor<{extents}{dtype.value}, {layout}>")


def _layout_of(tensor: Tensor) -> LayoutLike:
    """The layout of a tensor; the one that Layout.auto proposes if it has none."""
    return Layout.auto(tensor.shape, tensor.dtype) if tensor.layout is None else tensor.layout


def to_layout(tensor: Tensor, layout: LayoutLike) -> Tensor:
    """The same elements in another layout; the tensor itself if it has that layout already.

    >>> x = pf.zeros([64, 64], layout=Layout.grid(4, 1))
    >>> to_layout(x, Layout.row_partition(4)) is x, to_layout(x, Layout.grid(2, 2)).layout
    (True, Grid(2, 2))
    """
    return tensor.to_layout(layout)


def get_tile_shape(tensor: Tensor, pe_coord: Sequence[int] = (0, 0)) -> Tuple[int, ...]:
    """The extents of a tensor's tile on a PE. A tensor without a layout is asked about that of Layout.auto.

    >>> get_tile_shape(pf.zeros([53, 63], layout=Layout.grid(3, 2)), (2, 1))
    (17, 31)
    """
    layout = _layout_of(tensor)
    if isinstance(layout, MeshLayout):
        return layout.tile_shape(pe_coord, tensor.shape)
    where = placed(tensor.shape, tensor.dtype, layout)
    assert where is not None
    boxes = where.held_at(pe_coord)
    if len(boxes) > 1:
        raise TesseraError(f"PE {tuple(pe_coord)} holds {len(boxes)} boxes", code="not_supported",
                           help="tessera.Tensor.held_at lists them")
    return tuple(part.stop - part.start for part in boxes[0]) if boxes else (0,) * len(tensor.shape)


def memory_usage_per_pe(tensor: Tensor) -> dict[str, Any]:
    """The bytes of a tensor on the PEs of its layout: 'min', 'max', 'average' and 'total'.

    Elements are counted, padding is not. PEs that hold the same slots are counted together, so a whole wafer takes no
    longer than a few PEs. A tensor without a layout is asked about that of Layout.auto.

    >>> usage = memory_usage_per_pe(pf.zeros([1024, 512], layout=Layout.grid(11, 12)))
    >>> usage["min"], usage["max"], usage["total"], round(usage["average"])
    (13104, 16168, 2097152, 15888)
    """
    where = placed(tensor.shape, tensor.dtype, _layout_of(tensor))
    assert where is not None
    usages = [(one.places, dtype_bytes(tensor.dtype.value, one.elements)) for one in where.place_classes()]
    total = sum(places * used for places, used in usages)
    return {"min": min(used for _, used in usages), "max": max(used for _, used in usages),
            "average": total / sum(places for places, _ in usages), "total": total}
