# SPDX-License-Identifier: Apache-2.0
"""Data from one layout to another: in one memory, and between the places of a machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from .results import Array, Pairs, Transfer

if TYPE_CHECKING:
    from ._native import Plan, Tensor

TensorOrText = Union["_native.Tensor", str]


def plan_relayout(source: TensorOrText, destination: TensorOrText, *, padding: str = "promised",
                  rounding: str = "checked") -> Plan:
    """What plan() makes of two tensors."""
    return _native.Program(source, destination, padding).plan(rounding)


def relayout(array: Any, to: TensorOrText, *, layout: Optional[TensorOrText] = None, out: Any = None,
             padding: str = "promised", rounding: str = "checked", threads: Optional[int] = None) -> Any:
    """Moves the data of an array to another layout; returns `out`, or a new NumPy array.

    The source is laid out as the array's own strides say, or as `layout` says. Arrays are NumPy arrays, or anything
    with the buffer protocol or DLPack. For the same move many times, keep a plan().

    >>> a = np.arange(24, dtype=np.float32).reshape(4, 6)
    >>> tessera.relayout(a[:, ::-1], "tensor<4x6xf32, pyflame.Grid(2, 1)>")[1, 0, :6]
    array([17., 16., 15., 14., 13., 12.], dtype=float32)
    """
    source = _native.layout_of(array) if layout is None else layout
    return plan_relayout(source, to, padding=padding, rounding=rounding)(array, out, threads=threads)


class Reshard:
    """What moving a tensor between the places of a machine takes. Made by reshard()."""

    def __init__(self, native: Any) -> None:
        self._native = native
        self._figures: Optional[dict[str, Any]] = None

    @property
    def source(self) -> Tensor:
        source: Tensor = self._native.source
        return source

    @property
    def destination(self) -> Tensor:
        destination: Tensor = self._native.destination
        return destination

    @property
    def figures(self) -> dict[str, Any]:
        """Everything that `tessera reshard --json` answers."""
        if self._figures is None:
            self._figures = json.loads(self._native.json())
        return self._figures

    @property
    def kind(self) -> str:
        """IDENTITY, REDUCE, SCATTER, GATHER, REPLICATE, TRANSPOSE, REDISTRIBUTE or RESHARD."""
        return str(self.figures["kind"])

    @property
    def bytes(self) -> int:
        """Bytes that cross between places."""
        return int(self.figures["bytes"])

    @property
    def messages(self) -> int:
        """Ordered pairs of places between which something crosses."""
        return int(self.figures["messages"])

    @property
    def cycles(self) -> Optional[int]:
        """What crosses, in cycles of the machine; None where that is not known."""
        cycles: Optional[int] = self.figures["cycles"]
        return cycles

    @property
    def seconds(self) -> Optional[float]:
        """All steps on the target; None without a target, or where it lacks a figure."""
        return self.figures.get("seconds")

    @property
    def steps(self) -> list[dict[str, Any]]:
        """With a target: the steps of the move (cast, relayout, exchange) with times and what dominates them."""
        return self.figures.get("steps") or []

    @property
    def algorithms(self) -> list[dict[str, Any]]:
        """With a target: every algorithm that was considered, the cheapest first."""
        return self.figures.get("algorithms") or []

    def pairs(self, *, messages: bool = True, local: bool = False) -> Pairs:
        """Elements and bytes from each place to each other; numbers of places are row-major on the machine."""
        return Pairs(*self._native.pairs(messages, local))

    def transfers(self, *, messages: bool = True, local: bool = False, source: Optional[int] = None,
                  destination: Optional[int] = None, limit: int = 10000) -> list[Transfer]:
        """The transfers as strided boxes, at most `limit` of them."""
        found: list[Transfer] = self._native.transfers(messages, local, source, destination, limit)
        return found

    def link_loads(self) -> dict[str, Array]:
        """Wavelets over each directed link, as one array of the mesh for each direction."""
        loads: dict[str, Array] = self._native.link_loads()
        return loads

    def __str__(self) -> str:
        return str(self._native.text())

    def __repr__(self) -> str:
        return f"<{self.kind} of {self.bytes} bytes in {self.messages} messages>"


def reshard(a: TensorOrText, b: TensorOrText, target: str = "", *, space_a: str = "", space_b: str = "",
            relabel: bool = False, staging: Optional[int] = None, simulate: str = "never") -> Reshard:
    """What it takes to move a tensor from the places of `a` to those of `b`.

    target    a machine of targets(), or the path of a description; without one the mesh is the smallest that holds
              both
    space_a   the memory of the machine that holds a; and space_b that of b
    relabel   choose places for b on which the fewest bytes cross
    staging   the most bytes that a place receives in one round
    simulate  'auto', 'always' or 'never': whether wavelets are simulated one by one

    >>> move = tessera.reshard("tensor<64x64xf32, pyflame.Grid(2, 2)>", "tensor<64x64xf32, pyflame.Grid(4, 1)>")
    >>> move.kind, move.bytes, move.messages
    ('RESHARD', 14336, 7)
    >>> move.pairs().bytes.sum()
    14336
    """
    return Reshard(_native.Reshard(a, b, target, space_a, space_b, relabel, staging, simulate))
