# SPDX-License-Identifier: Apache-2.0
"""Reshards between processes: threads stand for them, and real processes where mpi4py is installed."""

import importlib.util
import os
import queue
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tessera
import tessera.mpi


class Sent:
    def wait(self):
        pass


class Expected:
    def __init__(self, buffer, box):
        self.buffer, self.box = buffer, box

    def wait(self):
        self.buffer[:] = self.box.get(timeout=30)


class Threads:
    """Communicators of threads that send each other messages as mpi4py does."""

    def __init__(self, size):
        self.size = size
        self.boxes = {(i, j): queue.Queue() for i in range(size) for j in range(size)}

    def of(self, rank):
        world = self

        class Communicator:
            size = world.size

            def Isend(self, buffer, dest, tag):
                world.boxes[rank, dest].put(buffer.copy())
                return Sent()

            def Irecv(self, buffer, source, tag):
                return Expected(buffer, world.boxes[source, rank])

        one = Communicator()
        one.rank = rank
        return one


def shard_of(whole, tensor, mesh, rank):
    """What a rank has of the array of all places; None where it has no place of the tensor."""
    if not tensor.mesh:
        return whole.reshape(-1) if rank == 0 else None
    place = np.unravel_index(rank, mesh) if len(mesh) == len(tensor.mesh) else np.unravel_index(rank, tensor.mesh)
    if any(at >= extent for at, extent in zip(place, tensor.mesh)):
        return None
    return whole[tuple(place)].reshape(-1)


LAYOUTS = ["pyflame.Grid(2, 2)", "pyflame.Grid(4, 1)", "pyflame.Grid(1, 4)", "pyflame.Grid(2, 2, replicate=[1])",
           "pyflame.BlockCyclic(2, 2, 2, 1)", "pyflame.SinglePE()", "pyflame.Grid(2, 3)"]
LINES = ["dtensor<mesh=[4], [Shard(0)]>", "dtensor<mesh=[4], [Shard(1)]>", "dtensor<mesh=[4], [Replicate()]>",
         "gspmd{devices=[2,2]<=[4]}", "gspmd{devices=[4,1]3,1,2,0}"]


def held_against_relayout(a, b, dtype="f4"):
    values = np.arange(1, 1 + int(np.prod(a.shape)), dtype=dtype).reshape(a.shape)
    before, after = tessera.relayout(values, a), tessera.relayout(values, b)
    mesh = tuple(tessera.reshard(a, b).figures["mesh"])
    size = int(np.prod(mesh))
    world = Threads(size)

    def process(rank):
        shard = shard_of(before, a, mesh, rank)
        wanted = shard_of(after, b, mesh, rank)
        move = tessera.mpi.Resharder(a, b, world.of(rank))
        for _ in range(2):  # as often as needed
            found = move(shard)
        if wanted is not None:
            np.testing.assert_array_equal(found, wanted)
        return True

    with ThreadPoolExecutor(size) as pool:
        assert all(pool.map(process, range(size)))


@pytest.mark.parametrize("names", [LAYOUTS, LINES], ids=["grids", "lines"])
@given(data=st.data())
def test_shards_are_those_of_a_relayout(names, data):
    shape = "x".join(str(data.draw(st.integers(1, 9))) for _ in range(2))
    a, b = (tessera.parse(f"tensor<{shape}xf32, {data.draw(st.sampled_from(names))}>") for _ in range(2))
    held_against_relayout(a, b)


def test_types_and_out():
    a, b = (tessera.parse(f"tensor<6x8xi16, {name}>") for name in LINES[:2])
    held_against_relayout(a, b, "i2")
    world = Threads(4)

    def process(rank):
        out = np.full(b.slots, -1, np.int16)
        shard = np.full(a.slots, rank, np.int16)
        assert tessera.mpi.reshard(shard, a, b, world.of(rank), out) is out
        return out

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(process, range(4)))
    assert made[0].tolist() == np.repeat([0, 0, 1, 1, 2, 2], 2).tolist()


def test_errors():
    rows, columns = (f"tensor<8x8xf32, {name}>" for name in LINES[:2])
    one = Threads(2).of(0)
    with pytest.raises(tessera.TesseraError) as caught:
        tessera.mpi.Resharder(rows, columns, one)
    assert caught.value.code == "mesh_too_small"
    four = Threads(4).of(0)
    for shard, code in [(np.zeros(5, np.float32), "shape_mismatch"), (np.zeros(16), "shape_mismatch"),
                        (None, "usage")]:
        with pytest.raises(tessera.TesseraError) as caught:
            tessera.mpi.reshard(shard, rows, columns, four)
        assert caught.value.code == code
    with pytest.raises(tessera.TesseraError) as caught:
        tessera.mpi.Resharder("tensor<8x8xf32, dtensor<mesh=[4], [Partial(sum)]>>", columns, four)
    assert caught.value.code == "not_supported"


PROGRAM = """
import numpy as np, tessera, tessera.mpi
from mpi4py import MPI
a, b = (tessera.parse(f"tensor<37x22xf32, pyflame.Grid({grid})>") for grid in ("2, 2", "1, 4"))
values = np.arange(37 * 22, dtype=np.float32).reshape(37, 22)
mesh = tuple(tessera.reshard(a, b).figures["mesh"])
def shard(tensor):
    place = np.unravel_index(MPI.COMM_WORLD.rank, mesh)
    inside = all(at < extent for at, extent in zip(place, tensor.mesh))
    return tessera.relayout(values, tensor)[tuple(place)] if inside else None
found, wanted = tessera.mpi.reshard(shard(a), a, b, MPI.COMM_WORLD), shard(b)
assert wanted is None or np.array_equal(found, wanted)
total = MPI.COMM_WORLD.allreduce(1)
if MPI.COMM_WORLD.rank == 0:
    print("processes", total)
"""


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None or shutil.which("mpirun") is None,
                    reason="mpi4py or mpirun is not installed")
def test_processes():
    package = str(Path(tessera.__file__).parents[1])
    command = ["mpirun", "-n", "8", "--oversubscribe", "--allow-run-as-root", sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": package})
    assert done.returncode == 0 and "processes 8" in done.stdout, done.stdout + done.stderr
