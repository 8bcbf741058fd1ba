# SPDX-License-Identifier: Apache-2.0
"""Calls at the same time, processes, reference counts and leaks."""

import gc
import os
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tessera

PAIR = "tensor<256x300xf32, strided<[300, 1]>>", "tensor<256x300xf32, xla{1,0:T(8,128)}>"


def test_threads_call_at_once():
    plan = tessera.plan(*PAIR)
    tensor = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
    indices = np.array(list(np.ndindex(53, 63)))
    expected = tessera.parse(str(tensor)).locate(indices).slots

    def work(number):
        source = np.full((256, 300), number, np.float32)
        for threads in [1, 2, 3, None]:
            made = plan(source, threads=threads)
            assert made.sum() == number * 256 * 300
        np.testing.assert_array_equal(tensor.locate(indices).slots, expected)
        with pytest.raises(tessera.TesseraError):
            tessera.parse(f"tensor<{number}xf32, strided<[x]>>")
        return tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>").diff(tensor).equal

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(40)))


def test_the_lock_is_released():
    """While one thread moves data, another one counts."""
    rows, columns = "tensor<4096x4096xf32, strided<[4096, 1]>>", "tensor<4096x4096xf32, strided<[1, 4096]>>"
    plan = tessera.plan(rows, columns)
    source, out = np.zeros((4096, 4096), np.float32), np.zeros(4096 * 4096, np.float32)
    plan(source, out)
    done = threading.Event()
    counts = []

    def count():
        inside = 0
        while not done.is_set():
            inside += running.is_set()
            time.sleep(0)
        counts.append(inside)

    running = threading.Event()
    counter = threading.Thread(target=count)
    counter.start()
    for _ in range(20):
        running.set()
        plan(source, out, threads=1)
        running.clear()
        if counts:
            break
    done.set()
    counter.join()
    assert counts[0] > 0


def test_a_child_process_has_its_own_threads():
    plan = tessera.plan(*PAIR)
    source = np.ones((256, 300), np.float32)
    plan(source, threads=2)
    child = os.fork()
    if child == 0:
        ok = plan(source, threads=2).sum() == 256 * 300
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_nothing_is_held_after_a_call():
    plan = tessera.plan(*PAIR)
    source = np.zeros((256, 300), np.float32)
    out = tessera.empty(plan.destination)
    counts = sys.getrefcount(source), sys.getrefcount(out), sys.getrefcount(plan)
    for _ in range(100):
        plan(source, out)
        tessera.layout_of(source)
        with pytest.raises(tessera.TesseraError):
            plan(source[1:], out)
        with pytest.raises(tessera.TesseraError):
            plan(source, source)
    assert (sys.getrefcount(source), sys.getrefcount(out), sys.getrefcount(plan)) == counts
    raw = bytearray(PLAN_BYTES := out.nbytes)
    plan(source, raw)
    raw.extend(b"more")  # a held buffer would refuse
    assert len(raw) == PLAN_BYTES + 4


def test_objects_are_freed():
    counter = type("Counter", (np.ndarray,), {"freed": 0, "__del__": lambda self: setattr(
        type(self), "freed", type(self).freed + 1)})
    plan = tessera.plan(*PAIR)
    for _ in range(5):
        source = np.zeros((256, 300), np.float32).view(counter)
        plan(source)
        del source
    gc.collect()
    assert counter.freed == 5


def everything():
    """One call of nearly all there is."""
    tensor = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
    tensor.locate((40, 33)), tensor.locate(np.zeros((100, 2), int)), tensor.element_at((2, 1), 575)
    tensor.padding(), tensor.padding_regions(), tensor.place_classes(), tensor.held_at((0, 0)), tensor[1:, 3].show()
    tensor.convert("native"), tensor.diff("tensor<53x63xf32, strided<[63, 1]>>")
    plan = tessera.plan(PAIR[0], PAIR[1])
    plan(np.zeros((256, 300), np.float32)), plan.describe()
    move = tessera.reshard("tensor<64x64xf32, pyflame.Grid(2, 2)>", "tensor<64x64xf32, pyflame.Grid(4, 1)>")
    move.figures, move.pairs(), move.transfers()
    tessera.alloc([(0, 2, 24, 8), (1, 4, 32, 8)], 64), tessera.spyre.nests(tessera.spyre.default((512, 240), "f16"))
    for call in [lambda: tessera.parse("tensor<4xf32, strided<[x]>>"), lambda: tensor.locate((99, 99)),
                 lambda: tensor.convert("strided")]:
        try:
            call()
        except tessera.TesseraError:
            pass


def test_nothing_leaks():
    for _ in range(20):
        everything()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(gc.get_objects())
    for _ in range(150):
        everything()
    gc.collect()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(gc.get_objects())
    assert after[0] - before[0] < 4096  # KB
    assert after[1] - before[1] < 100
