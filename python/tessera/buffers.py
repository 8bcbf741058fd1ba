# SPDX-License-Identifier: Apache-2.0
"""Where buffers go in the memory of a place."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _native
from .results import Array


class Buffer(NamedTuple):
    """Memory that is needed for some time.

    lower, upper   the first moment of its life, and the first one after it
    size           bytes
    alignment      its offset is a multiple of this
    offset         the offset that it must have, if it is fixed
    hint           an offset to try first
    alias, delta   the number of the buffer whose memory it shares, and the bytes from that buffer's start
    gaps           times (lower, upper, kept_from, kept_to) in which only those of its bytes are needed
    """

    lower: int
    upper: int
    size: int
    alignment: int = 1
    offset: Optional[int] = None
    hint: Optional[int] = None
    alias: Optional[int] = None
    delta: int = 0
    gaps: Sequence[Tuple[int, int, int, int]] = ()


class MemoryPlan:
    """Offsets for buffers, and bounds that show how good they are. Made by alloc()."""

    def __init__(self, native: Any) -> None:
        self._native = native
        self.offsets: Array = native.offsets
        self.outcome: str = native.outcome
        self.peak: int = native.peak
        self.lower_bound: int = native.lower_bound
        self.proven_bound: int = native.proven_bound
        self.optimal: bool = native.optimal
        self.found_by: str = native.found_by
        self.seconds: float = native.seconds

    def __bool__(self) -> bool:
        """Whether the plan is within the capacity."""
        return self.outcome == "fits"

    def validate(self, offsets: Optional[Sequence[int]] = None) -> list[tuple[str, int, str]]:
        """Everything that is wrong with offsets (default: those of the plan): (flaw, buffer, sentence)."""
        given = self.offsets if offsets is None else np.asarray(offsets, dtype=np.int64)
        found: list[tuple[str, int, str]] = self._native.validate(given)
        return found

    def __repr__(self) -> str:
        return f"<MemoryPlan {self.outcome}, peak {self.peak} of at least {self.proven_bound} bytes>"

    def __str__(self) -> str:
        return str(self._native.text())

    def _repr_svg_(self) -> str:
        return str(self._native.svg())


def alloc(buffers: Sequence[Buffer | Sequence[Any]], capacity: Optional[int] = None, *, minimize: bool = False,
          seconds: float = 10.0, nodes: Optional[int] = None, ids: Optional[Sequence[str]] = None) -> MemoryPlan:
    """Offsets for buffers in the memory of one place.

    A buffer is a Buffer, or a tuple with its first fields (lower, upper, size, alignment, ..). With `minimize`, or
    without a capacity, the lowest peak is looked for; `seconds` and `nodes` limit the search. Ctrl-C ends it.

    >>> plan = tessera.alloc([(0, 2, 24, 8), (1, 4, 32, 8), (3, 5, 24, 8)], capacity=64)
    >>> plan.outcome, plan.peak, plan.validate()
    ('fits', 56, [])
    """
    rows = [one if isinstance(one, Buffer) else Buffer(*one) for one in buffers]

    def column(values: list[Optional[int]]) -> Array:
        return np.array([-1 if value is None else value for value in values], dtype=np.int64)

    gaps = [[number, *gap] for number, row in enumerate(rows) for gap in row.gaps]
    names = list(ids) if ids is not None else [f"buffer {number}" for number in range(len(rows))]
    if len(names) != len(rows):
        raise ValueError(f"there are {len(names)} ids for {len(rows)} buffers")
    return MemoryPlan(_native.solve_memory(
        column([row.lower for row in rows]), column([row.upper for row in rows]), column([row.size for row in rows]),
        column([row.alignment for row in rows]), column([row.offset for row in rows]),
        column([row.hint for row in rows]), column([row.alias for row in rows]), column([row.delta for row in rows]),
        names, gaps, capacity, minimize or capacity is None, seconds, nodes))
