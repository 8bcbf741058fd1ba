# SPDX-License-Identifier: Apache-2.0
"""Tensors that processes hold together, over a communicator of mpi4py. Import it by name: `import tessera.mpi`.

Each process has the memory of one place: the process of rank r that of place r, as tessera.reshard() numbers places.
Nothing here needs MPI itself: a communicator is any object with `rank`, `size`, `Isend` and `Irecv` as mpi4py has them.
For files, many places in one process and faults, use `tessera reshard --mpi` (docs/mpi.md).
"""

from __future__ import annotations

from typing import Any, Optional, Union

import numpy as np

from . import _native, moving
from .errors import TesseraError
from .results import Array, Transfer

TensorOrText = Union["_native.Tensor", str]

_TAG = 3141
_MOST_BYTES = 2**31 - 1  # of one message of MPI


class Resharder:
    """A move of a tensor between the processes of a communicator, to be made as often as needed.

    All processes make it with the same layouts. `mesh` is the mesh that holds the places of both.

    >>> import tessera.mpi
    >>> class Alone:
    ...     rank, size = 0, 1
    >>> move = tessera.mpi.Resharder("tensor<2x3xf32, strided<[3, 1]>>", "tensor<2x3xf32, strided<[1, 2]>>", Alone())
    >>> move(np.arange(6, dtype=np.float32))
    array([0., 3., 1., 4., 2., 5.], dtype=float32)
    """

    def __init__(self, a: TensorOrText, b: TensorOrText, communicator: Any) -> None:
        found = moving.reshard(a, b)
        self.source, self.destination = found.source, found.destination
        self.mesh: tuple[int, ...] = tuple(found.figures["mesh"])
        self._communicator = communicator
        rank, places = communicator.rank, int(np.prod(self.mesh, dtype=np.int64))
        if communicator.size < places:
            raise TesseraError(f"{places} places for {communicator.size} processes", code="mesh_too_small",
                               help=f"start {places} processes: each has one place")
        if self.source.dtype != self.destination.dtype or self.source.storage != self.destination.storage:
            raise TesseraError("the element types differ", code="not_supported",
                               help="relayout() the shards to the other type before or after")
        if rank >= places:
            self._sent, self._received, self._kept = {}, {}, (_EMPTY, _EMPTY)
            return
        self._sent = _by_peer(found.transfers(local=False, source=rank, limit=_MOST_BYTES), "destination", 0)
        self._received = _by_peer(found.transfers(local=False, destination=rank, limit=_MOST_BYTES), "source", 1)
        kept = _sorted(found.transfers(messages=False, local=True, source=rank, limit=_MOST_BYTES))
        self._kept = (_slots(kept, 0), _slots(kept, 1))

    def __call__(self, shard: Optional[Array], out: Optional[Array] = None) -> Array:
        """Collective. Gives the shard of `a` of this process for that of `b`: `out`, or a new array whose padding is
        zero. Processes without a place of `a` give None."""
        held = self._checked(shard, self.source, bool(self._sent) or bool(self._kept[0].size))
        if out is None:
            if held is None and self.source.tile is not None:
                raise TesseraError("a process without a shard needs `out`", code="usage")
            dtype = _dtype_of(self.destination) if held is None else held.dtype
            out = np.zeros(self.destination.slots, dtype)
        made = self._checked(out, self.destination, True)
        assert made is not None
        communicator = self._communicator
        buffers = {peer: np.empty(slots.size * made.itemsize, np.uint8) for peer, slots in self._received.items()}
        waits = [communicator.Irecv(buffer, source=peer, tag=_TAG) for peer, buffer in buffers.items()]
        packed = {} if held is None else {peer: held[slots].view(np.uint8) for peer, slots in self._sent.items()}
        for peer, buffer in packed.items():
            if buffer.nbytes > _MOST_BYTES:
                raise TesseraError(f"a message of {buffer.nbytes} bytes", code="too_large",
                                   help="use more processes, or `tessera reshard --mpi`")
            waits.append(communicator.Isend(buffer, dest=peer, tag=_TAG))
        if held is not None:
            made[self._kept[1]] = held[self._kept[0]]
        for wait in waits:
            wait.wait()
        for peer, buffer in buffers.items():
            made[self._received[peer]] = buffer.view(made.dtype)
        return out

    @staticmethod
    def _checked(array: Optional[Array], tensor: _native.Tensor, needed: bool) -> Optional[Array]:
        """The array as one row of slots, in place."""
        if array is None:
            if needed:
                raise TesseraError(f"this process has a place of {tensor}, but no shard", code="usage")
            return None
        if array.size != tensor.slots or array.nbytes != tensor.shard_bytes or not array.flags.c_contiguous:
            raise TesseraError(f"a shard of {tensor} is {tensor.slots} slots in {tensor.shard_bytes} contiguous bytes, "
                               f"found an array of {array.dtype}{list(array.shape)}", code="shape_mismatch")
        return array.reshape(-1)


def reshard(shard: Optional[Array], a: TensorOrText, b: TensorOrText, communicator: Any,
            out: Optional[Array] = None) -> Array:
    """Moves a tensor from layout `a` to layout `b` over a communicator of mpi4py; see Resharder.

        from mpi4py import MPI
        rows = tessera.mpi.reshard(tiles, "tensor<512x384xf32, pyflame.Grid(2, 2)>",
                                   "tensor<512x384xf32, dtensor<mesh=[4], [Shard(0)]>>", MPI.COMM_WORLD)
    """
    return Resharder(a, b, communicator)(shard, out)


_EMPTY = np.zeros(0, np.int64)


def _dtype_of(tensor: _native.Tensor) -> np.dtype[Any]:
    dtype: np.dtype[Any] = _native.empty(tensor).dtype
    return dtype


def _sorted(transfers: list[Transfer]) -> list[Transfer]:
    """In an order that sender and receiver agree on."""
    if any(one.combines for one in transfers):
        raise TesseraError("shares of partial results would have to be combined", code="not_supported",
                           help="reduce them with the communicator before: Allreduce")
    return sorted(transfers, key=lambda one: (one.source_slot, one.destination_slot, one.loops))


def _by_peer(transfers: list[Transfer], peer: str, side: int) -> dict[int, Array]:
    """The slots on one side, for each process on the other."""
    of: dict[int, list[Transfer]] = {}
    for one in transfers:
        of.setdefault(getattr(one, peer), []).append(one)
    return {number: _slots(_sorted(ones), side) for number, ones in sorted(of.items())}


def _slots(transfers: list[Transfer], side: int) -> Array:
    """The slots of transfers, one by one: side 0 is the source, 1 the destination."""
    parts = [_EMPTY]
    for one in transfers:
        slots = np.array([(one.source_slot, one.destination_slot)[side]], np.int64)
        for loop in one.loops:
            slots = (slots[:, None] + np.arange(loop[0], dtype=np.int64) * loop[1 + side]).reshape(-1)
        parts.append(slots)
    return np.concatenate(parts)
