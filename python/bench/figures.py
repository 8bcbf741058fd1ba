# SPDX-License-Identifier: Apache-2.0
"""Figures of the Python package: the best of many runs each.

usage: PYTHONPATH=build/release/python python3 python/bench/figures.py
"""

import resource
import subprocess
import sys
import time
import timeit

import numpy as np

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
    beyond = import_seconds("import numpy, tessera") - import_seconds("import numpy")
    print(f"import beyond NumPy        {1e3 * beyond:8.1f} ms")

    text = "tensor<53x63xf32, pyflame.Grid(3, 2)>"
    tensor = tessera.parse(text)
    index = (40, 33)
    print(f"Tensor.slots               {1e9 * best(lambda: tensor.slots, 500):8.0f} ns")
    print(f"locate((40, 33))           {1e9 * best(lambda: tensor.locate(index), 500):8.0f} ns")
    print(f"element_at((2, 1), 129)    {1e9 * best(lambda: tensor.element_at((2, 1), 129), 500):8.0f} ns")
    print(f"parse(..)                  {1e9 * best(lambda: tessera.parse(text), 50):8.0f} ns")

    pair = "tensor<4x6xf32, strided<[6, 1]>>", "tensor<4x6xf32, strided<[1, 4]>>"
    plan = tessera.plan(*pair)
    source, out = np.zeros((4, 6), np.float32), np.zeros(24, np.float32)
    print(f"plan(4x6, out)             {1e9 * best(lambda: plan(source, out), 500):8.0f} ns")

    for name in ["tensor<8192x8192xf32, strided<[8192, 1]>>", "tensor<8192x8192xf32, pyflame.Grid(994, 750)>",
                 "tensor<8192x8192xbf16, xla{1,0:T(8,128)(2,1)}>"]:
        large = tessera.parse(name)
        indices = np.random.default_rng(0).integers(0, 8192, (1_000_000, 2))
        print(f"10^6 locates               {1e3 * best(lambda: large.locate(indices)):8.1f} ms   {name}")

    rows = np.zeros((4096, 4096), np.float32)
    tiles = tessera.plan("tensor<4096x4096xf32, strided<[4096, 1]>>", "tensor<4096x4096xf32, xla{1,0:T(8,128)}>")
    made = tessera.empty(tiles.destination)
    copied = best(lambda: np.copyto(made.reshape(4096, 4096), rows))
    moved = best(lambda: tiles(rows, made, threads=1))
    print(f"64 MiB into 8x128 tiles    {1e3 * moved:8.1f} ms   {100 * copied / moved:.0f} % of np.copyto")


if __name__ == "__main__":
    main()
