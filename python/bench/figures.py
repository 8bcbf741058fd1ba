# SPDX-License-Identifier: Apache-2.0
"""Figures of the Python packages: the best of many runs each, with what they should be at most.

usage: PYTHONPATH=build/release/python python3 python/bench/figures.py

A call should cost at most 3 us beyond what C++ takes: the figures of calls are whole calls, C++ included.
"""

import os
import resource
import subprocess
import sys
import time
import timeit

import numpy as np

import pyflame as pf
import tessera


def best(call, number=1):
    """Seconds of one call: the best of many short runs, which other programs interrupt rarely."""
    timer = timeit.Timer(call)
    times = [timer.timeit(number) / number]
    begin = time.perf_counter()
    while time.perf_counter() - begin < 2 or len(times) < 5:
        times.append(timer.timeit(number) / number)
    return min(times)


def import_seconds(what):
    """The time of the processor in a new interpreter, the best of 9."""
    times = []
    for _ in range(9):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", what], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(times)


def main():
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start")
    numpy = import_seconds("import numpy")
    for package in ("tessera", "pyflame"):
        beyond = import_seconds(f"import numpy, {package}") - numpy
        print(f"import {package:8} beyond NumPy {1e3 * beyond:8.1f} ms   at most 50")

    def call(name, what, number=500):
        print(f"{name:28}{1e9 * best(what, number):8.0f} ns   at most 3000 beyond C++")

    text = "tensor<53x63xf32, pyflame.Grid(3, 2)>"
    tensor = tessera.parse(text)
    index = (40, 33)
    call("Tensor.slots", lambda: tensor.slots)
    call("locate((40, 33))", lambda: tensor.locate(index))
    call("element_at((2, 1), 129)", lambda: tensor.element_at((2, 1), 129))
    call("parse(..)", lambda: tessera.parse(text), 50)
    pair = "tensor<4x6xf32, strided<[6, 1]>>", "tensor<4x6xf32, strided<[1, 4]>>"
    plan = tessera.plan(*pair)
    source, out = np.zeros((4, 6), np.float32), np.zeros(24, np.float32)
    call("plan(4x6, out)", lambda: plan(source, out))
    call("plan(4x6), a new array", lambda: plan(source))
    padded = tessera.plan(pair[0], "tensor<4x6xf32, pyflame.Grid(3, 2)>")
    call("plan(4x6), new with padding", lambda: padded(source))
    layout, shape = pf.Layout.grid(3, 2), (53, 63)
    call("tile_shape((2, 1), ..)", lambda: layout.tile_shape((2, 1), shape))
    x = pf.zeros([53, 63])
    call("pyflame: x + x, not run", lambda: x + x)

    for name in ["tensor<8192x8192xf32, strided<[8192, 1]>>", "tensor<8192x8192xf32, pyflame.Grid(994, 750)>",
                 "tensor<8192x8192xbf16, xla{1,0:T(8,128)(2,1)}>"]:
        large = tessera.parse(name)
        indices = np.random.default_rng(0).integers(0, 8192, (1_000_000, 2))
        print(f"10^6 locates               {1e3 * best(lambda: large.locate(indices)):8.1f} ms   at most 20   {name}")

    rows = np.ones((4096, 4096), np.float32)
    tiles = tessera.plan("tensor<4096x4096xf32, strided<[4096, 1]>>", "tensor<4096x4096xf32, xla{1,0:T(8,128)}>")
    made = tessera.empty(tiles.destination)
    copied = best(lambda: np.copyto(made.reshape(4096, 4096), rows))
    moved = best(lambda: tiles(rows, made, threads=1))
    print(f"64 MiB into 8x128 tiles    {1e3 * moved:8.1f} ms   {100 * copied / moved:.0f} % of np.copyto")
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
