# SPDX-License-Identifier: Apache-2.0
"""A classifier of three layers on a wafer, with the package pyflame.

usage: PYTHONPATH=build/dev/python python3 examples/mlp.py
"""

import numpy as np

import pyflame as pf
from pyflame import Layout, memory_usage_per_pe


def layer(inputs, outputs):
    """Weights in tiles that leave room on a PE for activations, and a bias wherever it is needed."""
    shape = [inputs, outputs]
    weight = pf.randn(shape, layout=Layout.auto(shape, max_memory_per_pe=16 * 1024)) / inputs ** 0.5
    return weight, pf.zeros([outputs])


def classifier(x, layers):
    for number, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if number < len(layers) - 1:
            x = pf.gelu(x)
    return pf.softmax(x)


def in_numpy(x, layers):
    from math import erf
    gelu = np.vectorize(lambda v: v * (1 + erf(v / 2 ** 0.5)) / 2)
    for number, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        x = gelu(x) if number < len(layers) - 1 else x
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def main():
    pf.manual_seed(1)
    layers = [layer(128, 96), layer(96, 64), layer(64, 10)]
    images = pf.randn([16, 128], layout=Layout.row_partition(4))
    tile = memory_usage_per_pe(images)
    print(f"images: {images.layout}, {tile['max']} bytes on a PE, {tile['total']} on all")

    classes = classifier(images, layers)
    print(f"{classes} is {len(pf.graph_of(classes).nodes)} ops that have not run")
    done = pf.evaluate([classes], predict=True)
    print(f"{done.ops} ops on {done.target}: {done.cycles:.0f} cycles predicted, "
          f"{done.peak_bytes['sram']} bytes on the fullest PE, {done.crossing_bytes} bytes between PEs")

    result = pf.eval(classes)
    wanted = in_numpy(pf.eval(images), [(pf.eval(weight), pf.eval(bias)) for weight, bias in layers])
    assert result.shape == (16, 10) and np.allclose(result, wanted, atol=1e-5), abs(result - wanted).max()
    print("the result agrees with NumPy")


if __name__ == "__main__":
    main()
