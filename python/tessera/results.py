# SPDX-License-Identifier: Apache-2.0
"""The answers of tensors: plain data, made by the compiled module."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, Optional, Tuple

import numpy as np

Array = np.ndarray[Any, Any]
Loops = list[Tuple[int, int, int]]


class Padding(NamedTuple):
    """A slot without an element, and why: one of tessera.padding_causes."""

    cause: str


class Locations(NamedTuple):
    """Where many elements are: row-major numbers of places on the mesh, and slots."""

    places: Array
    slots: Array


class _Difference(NamedTuple):
    equal: bool
    first: Optional[Tuple[int, ...]]
    moved_elements: Optional[int]
    moved_bytes: Optional[int]
    stays_on_place: Optional[bool]


class Difference(_Difference):
    """How two layouts differ. True where they are the same function. In a notebook: a picture of what becomes of each
    element.

    first            the row-major smallest index that differs
    moved_elements   how many differ; None where counting them takes too long
    moved_bytes      the same in bytes
    stays_on_place   whether every place already holds what it needs
    """

    _pair: Tuple[str, str] = ("", "")

    def __bool__(self) -> bool:
        return self.equal

    def _repr_svg_(self) -> Optional[str]:
        from .commands import _text
        from .errors import TesseraError

        try:
            return _text("diff", self._pair, svg="-") if any(self._pair) else None
        except TesseraError:  # too large to draw
            return None


def _places(first: Tuple[int, ...], loops: Loops) -> list[Tuple[int, ...]]:
    """The places first + all combinations of loops (axis, count, stride)."""
    places = []
    for digits in itertools.product(*(range(count) for _, count, _ in loops)):
        place = list(first)
        for digit, (axis, _, stride) in zip(digits, loops):
            place[axis] += digit * stride
        places.append(tuple(place))
    return places


class PaddingRegion(NamedTuple):
    """A box of padding: the same slots on each place of a set, with one cause."""

    cause: str
    first_place: Tuple[int, ...]
    place_loops: Loops
    first_slot: int
    slot_loops: list[Tuple[int, int]]

    def places(self) -> list[Tuple[int, ...]]:
        """All places of the set."""
        return _places(self.first_place, self.place_loops)

    def slots(self) -> Array:
        """All slots of the box, on each of the places."""
        slots = np.array([self.first_slot], dtype=np.int64)
        for count, stride in self.slot_loops:
            slots = (slots[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
        return slots


class PlaceClass(NamedTuple):
    """Places that hold data in exactly the same slots."""

    places: int
    elements: int
    needed_slots: int
    sets: list[Tuple[Tuple[int, ...], Loops]]

    def members(self) -> list[Tuple[int, ...]]:
        """All places of the class."""
        return [place for first, loops in self.sets for place in _places(first, loops)]


class Conversion(NamedTuple):
    """A tensor in another notation, and facts that its text no longer states."""

    tensor: Any
    lost: list[str]


class TransferNest(NamedTuple):
    """Loops that copy elements between a host tensor and a Spyre device tensor, outermost first."""

    extent: Tuple[int, ...]
    host_stride: Tuple[int, ...]
    device_stride: Tuple[int, ...]
    host_offset: int
    device_offset: int


class Restickify(NamedTuple):
    """What changing the device layout of a Spyre tensor does to its sticks."""

    kind: str
    sticks_read: int
    sticks_written: int
    bytes_read: int
    bytes_written: int
    storage_bytes: int


class Transfer(NamedTuple):
    """Elements that go from one place to another along plain strides.

    Each loop is (extent, source stride, destination stride), in slots."""

    source: int
    destination: int
    source_slot: int
    destination_slot: int
    elements: int
    loops: Loops
    combines: bool


class Pairs(NamedTuple):
    """What goes from place to place: four arrays of equal length."""

    sources: Array
    destinations: Array
    elements: Array
    bytes: Array
