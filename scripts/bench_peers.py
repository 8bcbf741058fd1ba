#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy and PyTorch on the cases of `tessera bench relayout`, as shares of a plain copy.

Optional: needs Debian's python3-numpy, and python3-torch for the second peer.

    scripts/bench_peers.py [--size BYTES,..] [--threads N,..] [--only TEXT] [--rounds N]

Prints one JSON object; cases have the names of `tessera bench relayout --json`, `peers` are seconds
and `shares` are relative to `memcpy_seconds`. The contenders of a case take turns. memcpy is np.copyto of
the same number of bytes, which uses one thread, as NumPy does, whatever --threads is: with several threads
compare times. Every result is compared with NumPy's transposed copy, bit for bit. Where a library cannot
express a move as one assignment between strided views (padded tiles, blocks that do not divide each other)
the case is left out.
"""
import argparse
import json
import math
import statistics
import sys
import time

SMALL = 16 << 20  # bytes; larger sizes use the extents of large cases
PERMUTATIONS = [(0, 3, 2, 5, 4, 1), (3, 2, 0, 5, 1, 4), (2, 0, 4, 1, 5, 3), (3, 2, 5, 1, 0, 4),
                (5, 4, 3, 2, 1, 0)]
# Kind of extents: large, small. In `wide` the first two are those of the innermost dims of both sides.
SIX = {
    "equal": ((32, 15, 15, 32, 15, 15), (16, 8, 8, 16, 8, 8)),
    "first": ((112, 14, 14, 13, 13, 14), (112, 6, 6, 6, 6, 7)),
    "last": ((14, 14, 13, 13, 14, 112), (7, 6, 6, 6, 6, 112)),
    "wide": ((32, 32, 15, 15, 15, 15), (32, 32, 5, 6, 6, 6)),
}


def matrix(elements):
    """Near-square powers of two, as many elements as fit."""
    power = 1 << (elements.bit_length() - 1)
    rows = 1 << ((power.bit_length() - 1) // 2)
    return rows, power // rows


def cases(size, element_bytes):
    """(name, extents of the dense source, permutation of its axes) of each move.

    Axis i of the dense result is axis permutation[i] of the source.
    """
    n = size // element_bytes
    rows, columns = matrix(n)
    for name, r, c in (("transpose", rows, columns), ("transpose_odd", rows - 1, columns + 1)):
        yield f"{name}/{r}x{c}", (r, c), (1, 0)
    shape = f"{rows}x{columns}"
    yield f"tile/{shape}", (rows // 32, 32, columns // 32, 32), (0, 2, 1, 3)
    yield f"untile/{shape}", (rows // 32, columns // 32, 32, 32), (0, 2, 1, 3)
    stick = 128 // element_bytes
    sticks = n // 256, 256 // stick
    yield f"to_sticks/{n // 256}x256", (sticks[0], sticks[1], stick), (1, 0, 2)
    yield f"from_sticks/{n // 256}x256", (sticks[1], sticks[0], stick), (1, 0, 2)
    side = 128
    while side > 4 and 256 * side * side > n:
        side //= 2
    images = max(1, n // (256 * side * side))
    shape = f"{images}x256x{side}x{side}"
    plane = side * side
    yield f"nchw_to_16c/{shape}", (images * 16, 16, plane), (0, 2, 1)
    yield f"16c_to_nchw/{shape}", (images * 16, plane, 16), (0, 2, 1)
    yield f"nchw_to_nhwc/{shape}", (images, 256, plane), (0, 2, 1)
    yield f"nhwc_to_nchw/{shape}", (images, plane, 256), (0, 2, 1)
    image = 224
    while image > 4 and 3 * image * image > n:
        image //= 2
    images = max(1, (n + image) // (3 * image * image))
    shape = f"{images}x3x{image}x{image}"
    yield f"nchw_to_nhwc/{shape}", (images, 3, image * image), (0, 2, 1)
    yield f"nhwc_to_nchw/{shape}", (images, image * image, 3), (0, 2, 1)
    yield f"odd_even_16/{rows}x{columns}", (rows * columns // 16, 8, 2), (0, 2, 1)
    if element_bytes != 4:
        return
    for kind, (large, small) in SIX.items():
        for permutation in PERMUTATIONS:
            extents = list(large if size > SMALL else small)
            if kind == "wide":
                rest = iter(extents[2:])
                wide = {permutation[5]: extents[0], 5: extents[1]}
                extents = [wide[d] if d in wide else next(rest) for d in range(6)]
            digits = "".join(map(str, permutation))
            yield (f"permute_{digits}_{kind}/{'x'.join(map(str, extents))}", tuple(extents),
                   permutation)


def measure(movers, rounds):
    """Median seconds of one call of each; they take turns."""
    samples = [[] for _ in movers]
    repeats = []
    for move in movers:
        begin = time.perf_counter()
        move()
        repeats.append(max(1, math.ceil(2e-3 / max(1e-9, time.perf_counter() - begin))))
    for _ in range(rounds):
        for move, count, sample in zip(movers, repeats, samples):
            begin = time.perf_counter()
            for _ in range(count):
                move()
            sample.append((time.perf_counter() - begin) / count)
    return [statistics.median(sample) for sample in samples]


def numbers(text):
    return [int(number) for number in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=numbers, default=[256 << 20, 4 << 20])
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    try:
        import numpy as np
    except ImportError:
        sys.exit("bench_peers.py: needs NumPy (Debian: python3-numpy)")
    try:
        import torch
    except ImportError:
        torch = None

    rows = []
    shares = {}
    types = (("f32", np.int32), ("bf16", np.int16), ("i8", np.int8))  # only the bits matter
    for size in options.size:
        for dtype, element in types:
            for name, extents, permutation in cases(size, np.dtype(element).itemsize):
                if options.only not in f"{name}/{dtype}":
                    continue
                source = np.random.default_rng(5).integers(-128, 127, extents, dtype=element)
                turned = source.transpose(permutation)
                result = np.zeros(turned.shape, element)
                copy = np.zeros(extents, element)
                expected = np.ascontiguousarray(turned)
                movers = {"memcpy": lambda: np.copyto(copy, source),
                          "numpy": lambda: np.copyto(result, turned)}
                if torch is not None:
                    view = torch.from_numpy(source).permute(permutation)
                    to = torch.from_numpy(result)
                    movers["torch"] = lambda: to.copy_(view)
                for threads in options.threads:
                    if torch is not None:
                        torch.set_num_threads(threads)
                    for peer, move in movers.items():
                        if peer == "memcpy":
                            continue
                        result.fill(0)
                        move()
                        if not np.array_equal(result, expected):
                            sys.exit(f"bench_peers.py: {peer} moves {name} of {dtype} wrongly")
                    seconds = dict(zip(movers, measure(list(movers.values()), options.rounds)))
                    plain = seconds.pop("memcpy")
                    rows.append({"name": name, "dtype": dtype, "threads": threads,
                                 "bytes": source.nbytes, "memcpy_seconds": plain, "peers": seconds,
                                 "shares": {peer: plain / its for peer, its in seconds.items()}})
                    for peer, its in seconds.items():
                        shares.setdefault(f"{size}/{threads}/{peer}", []).append(plain / its)
                    print(f"{name} {dtype} {threads}", file=sys.stderr)
    means = {key: statistics.geometric_mean(values) for key, values in shares.items()}
    print(json.dumps({"suite": "relayout_python", "cases": rows, "geometric_means": means,
                      "torch": torch.__version__ if torch is not None else None,
                      "numpy": np.__version__}))


if __name__ == "__main__":
    main()
