# SPDX-License-Identifier: Apache-2.0
"""Rules of products, attention, normalizations and windows."""

from __future__ import annotations

import math
from typing import Any, Optional

import torch

from .lowering import Result, Site, type_of
from .rules import elementwise, pairs_of, rank_of, require, rule


def _transposed(operand: Any) -> Optional[Any]:
    """What an operand is the transpose of, if it is one of a matrix."""
    target = str(operand.target)
    if target == "aten.t.default" or (
            rank_of(operand) == 2 and (target, sorted(d % 2 for d in operand.args[1:] if isinstance(d, int))) ==
            ("aten.transpose.int", [0, 1])):
        return operand.args[0]
    if target == "aten.permute.default" and list(operand.args[1]) == [1, 0]:
        return operand.args[0]
    return None


@rule("addmm")
def addmm(site: Site, a: Any) -> Result:
    return _gemm(site, a.mat1, a.mat2, a.self, alpha=a.alpha, beta=a.beta)


@rule("mm")
def mm(site: Site, a: Any) -> Result:
    if _transposed(a.mat2) is None:
        return elementwise(site, "matmul", a.self, a.mat2)
    return _gemm(site, a.self, a.mat2, None)


def _gemm(site: Site, x: Any, y: Any, bias: Any, **scales: Any) -> str:
    """A product whose second operand is read transposed where it is a transpose, as weights are."""
    stored = _transposed(y)
    inputs = [site.read(x, site.dtype), site.read(y if stored is None else stored, site.dtype)]
    if bias is not None:
        inputs.append(site.read(bias, site.dtype))
    attributes: dict[str, Any] = {name: float(scale) for name, scale in scales.items() if scale != 1}
    if stored is not None:
        attributes["trans_b"] = 1
    return str(site.emit("gemm", inputs, **attributes))


@rule("bmm")
def bmm(site: Site, a: Any) -> Result:
    return elementwise(site, "matmul", a.self, a.mat2)


@rule("dot")
def dot(site: Site, a: Any) -> Result:
    return elementwise(site, "matmul", a.self, a.tensor)


@rule("mv")
def mv(site: Site, a: Any) -> Result:
    return elementwise(site, "matmul", a.self, a.vec)


@rule("baddbmm")
def baddbmm(site: Site, a: Any) -> Result:
    found = site.emit("matmul", [site.read(a.batch1), site.read(a.batch2)])
    if a.alpha != 1:
        found = site.emit("mul", [found, site.number(a.alpha, site.dtype)])
    if a.beta == 0:
        return str(found)
    added = site.read(a.self)
    if a.beta != 1:
        added = site.emit("mul", [added, site.number(a.beta, site.dtype)])
    return str(site.emit("add", [added, found]))


@rule("_scaled_dot_product_attention_forward", "_scaled_dot_product_flash_attention",
      "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_efficient_attention")
def attention(site: Site, a: Any) -> Result:
    require(not a.dropout_p, "it drops elements at random")
    q, k, v = a.query, a.key, a.value
    dtype, queries = type_of(q)
    inputs = [site.read(q), site.read(k), site.read(v)]
    mask = getattr(a, "attn_mask", getattr(a, "attn_bias", None))
    if mask is not None:
        read = site.read(mask)
        if type_of(mask)[0] == torch.bool:
            read = site.emit("where", [read, site.number(0, dtype), site.number(-math.inf, dtype)])
        else:
            read = site.cast(read, type_of(mask)[0], dtype)
        inputs.append(read)
    attributes: dict[str, Any] = {}
    if a.is_causal:
        require(queries[-2] == type_of(k)[1][-2], "it is causal, with other numbers of queries than of keys")
        attributes["causal"] = 1
    if getattr(a, "scale", None) is not None:
        attributes["scale"] = float(a.scale)
    results = len(site.node.target._schema.returns)
    return [site.emit("attention", inputs, **attributes), *[None] * (results - 1)]


@rule("_softmax", "_log_softmax")
def softmax(site: Site, a: Any) -> Result:
    op = "log_softmax" if "log" in str(site.node.target) else "softmax"
    return elementwise(site, op, a.self, axis=a.dim)


def _weights(site: Site, given: Any, shape: list[int], number: float, dtype: torch.dtype) -> str:
    return site.number(number, dtype, shape) if given is None else site.read(given, dtype)


@rule("native_layer_norm")
def layer_norm(site: Site, a: Any) -> Result:
    dtype = type_of(a.input)[0]
    inputs = [site.read(a.input), _weights(site, a.weight, list(a.normalized_shape), 1, dtype)]
    if a.bias is not None:
        inputs.append(site.read(a.bias, dtype))
    return [site.emit("layer_norm", inputs, axis=-len(a.normalized_shape), epsilon=float(a.eps)), None, None]


@rule("native_batch_norm", "_native_batch_norm_legit_no_training", "_native_batch_norm_legit")
def batch_norm(site: Site, a: Any) -> Result:
    """In training the statistics are those of the batch; of a batch of one they are those of an instance."""
    dtype, shape = type_of(a.input)
    scale = _weights(site, a.weight, [shape[1]], 1, dtype)
    bias = _weights(site, a.bias, [shape[1]], 0, dtype)
    mean = getattr(a, "running_mean", None)
    epsilon = float(a.eps)
    if getattr(a, "training", False) or mean is None:
        require(mean is None and shape[0] == 1, "it uses the statistics of the batch: call eval() before")
        return [site.emit("instance_norm", [site.read(a.input), scale, bias], epsilon=epsilon), None, None]
    statistics = [site.read(mean, dtype), site.read(a.running_var, dtype)]
    return [site.emit("batch_norm", [site.read(a.input), scale, bias, *statistics], epsilon=epsilon), None, None]


@rule("native_group_norm")
def group_norm(site: Site, a: Any) -> Result:
    dtype, shape = type_of(a.input)
    inputs = [site.read(a.input), _weights(site, a.weight, [shape[1]], 1, dtype),
              _weights(site, a.bias, [shape[1]], 0, dtype)]
    return [site.emit("group_norm", inputs, groups=a.group, epsilon=float(a.eps)), None, None]


@rule("convolution")
def convolution(site: Site, a: Any) -> Result:
    dims = rank_of(a.input) - 2
    padding = pairs_of(a.padding, dims)
    attributes: dict[str, Any] = {"strides": pairs_of(a.stride, dims), "dilations": pairs_of(a.dilation, dims),
                                  "pads": padding * 2, "groups": a.groups}
    if a.transposed:
        attributes["output_padding"] = pairs_of(a.output_padding, dims)
    inputs = [site.read(one) for one in (a.input, a.weight, a.bias) if one is not None]
    return str(site.emit("conv_transpose" if a.transposed else "conv", inputs, **attributes))


def _pool(site: Site, op: str, x: Any, kernel: list[int], result: tuple[int, ...], **attributes: Any) -> str:
    """A pool over the last dims; one dim before them is channels without a batch."""
    _, shape = type_of(x)
    name = site.read(x)
    if len(shape) == len(kernel) + 1:
        found = site.emit(op, [site.emit("unsqueeze", [name], axes=[0])], kernel=kernel, **attributes)
        return site.reshape(found, result)
    return str(site.emit(op, [name], kernel=kernel, **attributes))


@rule("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(site: Site, a: Any) -> Result:
    dims = 3 if "3d" in str(site.node.target) else 2
    kernel = pairs_of(a.kernel_size, dims)
    result = type_of(next(iter(site.node.users)))[1]
    found = _pool(site, "max_pool", a.self, kernel, result, strides=pairs_of(a.stride or kernel, dims),
                  dilations=pairs_of(a.dilation, dims), pads=pairs_of(a.padding, dims) * 2, ceil=int(a.ceil_mode))
    return [found, None]


@rule("avg_pool2d", "avg_pool3d")
def average_pool(site: Site, a: Any) -> Result:
    require(a.divisor_override is None, "it has a divisor of its own")
    dims = 3 if "3d" in str(site.node.target) else 2
    kernel = pairs_of(a.kernel_size, dims)
    return _pool(site, "average_pool", a.self, kernel, site.shape, strides=pairs_of(a.stride or kernel, dims),
                 pads=pairs_of(a.padding, dims) * 2, ceil=int(a.ceil_mode),
                 count_include_pad=int(a.count_include_pad))


@rule("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_average_pool(site: Site, a: Any) -> Result:
    extents = type_of(a.self)[1][-len(a.output_size):]
    require(all(n % m == 0 for n, m in zip(extents, a.output_size)), "its windows differ in size")
    kernel = [n // m for n, m in zip(extents, a.output_size)]
    return _pool(site, "average_pool", a.self, kernel, site.shape, strides=kernel)


@rule("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_bilinear2d", "upsample_linear1d",
      "upsample_bicubic2d")
def resize(site: Site, a: Any) -> Result:
    target = str(site.node.target)
    x = getattr(a, "input", getattr(a, "self", None))
    attributes: dict[str, Any] = {"shape": list(site.shape)}
    if "nearest" in target:
        attributes.update(mode="nearest", coordinates="asymmetric", nearest_mode="floor")
    else:
        attributes.update(mode="cubic" if "cubic" in target else "linear",
                          coordinates="align_corners" if a.align_corners else "half_pixel")
    scales = getattr(a, "scale_factors", None)
    if scales is None:
        scales = [one for one in (getattr(a, name, None) for name in ("scales_d", "scales_h", "scales", "scales_w"))
                  if one is not None]
    if scales:
        attributes["scales"] = [1.0, 1.0, *map(float, scales)]
    return str(site.emit("resize", [site.read(x)], **attributes))
