# SPDX-License-Identifier: Apache-2.0
"""Rules of ops on each element, and of reductions."""

from __future__ import annotations

import math
from typing import Any

import torch

from .lowering import Result, Site, type_of
from .rules import RULES, dim_of, elementwise, pairs_of, promoted, rank_of, require, rule

_SAME = {name: name for name in ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh",
                                 "erf", "exp", "floor", "log", "neg", "reciprocal", "relu", "round", "rsqrt",
                                 "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh")}
_SAME["hardswish"] = "hard_swish"


def _unary(op: str) -> Any:
    return lambda site, a: elementwise(site, op, a.self)


for _name, _op in _SAME.items():
    RULES[f"aten.{_name}.default"] = _unary(_op)


@rule("add", "sub")
def add(site: Site, a: Any) -> Result:
    op = "add" if "add" in str(site.node.target) else "sub"
    other = site.read(a.other, site.dtype)
    if a.alpha != 1:
        other = site.emit("mul", [other, site.number(a.alpha, site.dtype)])
    return str(site.emit(op, [site.read(a.self, site.dtype), other]))


@rule("rsub")
def rsub(site: Site, a: Any) -> Result:
    require(a.alpha == 1, f"alpha is {a.alpha}")
    return elementwise(site, "sub", a.other, a.self)


@rule("mul")
def mul(site: Site, a: Any) -> Result:
    if site.dtype == torch.bool:
        return elementwise(site, "and", a.self, a.other)
    return elementwise(site, "mul", a.self, a.other)


@rule("div")
def div(site: Site, a: Any) -> Result:
    mode = getattr(a, "rounding_mode", None)
    found = elementwise(site, "div", a.self, a.other)
    if mode is None or (mode == "trunc" and not site.dtype.is_floating_point):
        return found
    require(mode == "floor" and site.dtype.is_floating_point, f"it rounds by '{mode}' in {site.dtype}")
    return str(site.emit("floor", [found]))


@rule("pow")
def power(site: Site, a: Any) -> Result:
    base = getattr(a, "self")
    if a.exponent == 2:
        found = site.read(base, site.dtype)
        return str(site.emit("mul", [found, found]))
    return elementwise(site, "pow", base, a.exponent)


@rule("maximum", "minimum", "max.other", "min.other")
def extreme_of_two(site: Site, a: Any) -> Result:
    return elementwise(site, "max" if "max" in str(site.node.target) else "min", a.self, a.other)


@rule("fmod")
def fmod(site: Site, a: Any) -> Result:
    return elementwise(site, "mod", a.self, a.other, fmod=1)


@rule("remainder")
def remainder(site: Site, a: Any) -> Result:
    if site.dtype.is_floating_point:  # x - floor(x / y) y
        x, y = site.read(a.self, site.dtype), site.read(a.other, site.dtype)
        whole = site.emit("floor", [site.emit("div", [x, y])])
        return str(site.emit("sub", [x, site.emit("mul", [whole, y])]))
    return elementwise(site, "mod", a.self, a.other)


def _comparison(op: str, negated: bool = False) -> Any:
    def write(site: Site, a: Any) -> Result:
        dtype = promoted(a.self, a.other)
        found = site.emit(op, [site.read(a.self, dtype), site.read(a.other, dtype)])
        return str(site.emit("not", [found]) if negated else found)
    return write


for _name, _op in (("eq", "equal"), ("lt", "less"), ("le", "less_or_equal"), ("gt", "greater"),
                   ("ge", "greater_or_equal")):
    RULES[f"aten.{_name}"] = _comparison(_op)
RULES["aten.ne"] = _comparison("equal", negated=True)


def _logic(op: str) -> Any:
    def write(site: Site, a: Any) -> Result:
        require(site.dtype == torch.bool, "it is not on booleans")
        operands = [getattr(a, "self")] + ([a.other] if hasattr(a, "other") else [])
        return str(site.emit(op, [site.read(one, torch.bool) for one in operands]))
    return write


for _op in ("and", "or", "xor", "not"):
    RULES[f"aten.logical_{_op}"] = RULES[f"aten.bitwise_{_op}"] = _logic(_op)


@rule("isinf", "isnan")
def tests(site: Site, a: Any) -> Result:
    return str(site.emit("is_inf" if "inf" in str(site.node.target) else "is_nan", [site.read(a.self)]))


@rule("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(site: Site, a: Any) -> Result:
    condition = site.read(a.condition, torch.bool)
    return str(site.emit("where", [condition, site.read(a.self, site.dtype), site.read(a.other, site.dtype)]))


@rule("masked_fill")
def masked_fill(site: Site, a: Any) -> Result:
    return str(site.emit("where", [site.read(a.mask, torch.bool), site.read(a.value, site.dtype),
                                   site.read(a.self, site.dtype)]))


@rule("clamp", "clamp_min", "clamp_max", "hardtanh")
def clip(site: Site, a: Any) -> Result:
    low = getattr(a, "min", getattr(a, "min_val", None))
    high = getattr(a, "max", getattr(a, "max_val", None))
    limits = [None if one is None else site.read(one, site.dtype) for one in (low, high)]
    found = site.read(a.self, site.dtype)
    if any(isinstance(one, torch.fx.Node) for one in (low, high)):
        for op, limit in zip(("max", "min"), limits):
            found = found if limit is None else site.emit(op, [found, limit])
        return found
    while limits and limits[-1] is None:
        limits.pop()
    return str(site.emit("clip", [found, *limits]))


@rule("gelu")
def gelu(site: Site, a: Any) -> Result:
    return elementwise(site, "gelu", a.self, approximate=a.approximate)


@rule("silu")
def silu(site: Site, a: Any) -> Result:
    x = site.read(a.self)
    return str(site.emit("mul", [x, site.emit("sigmoid", [x])]))


@rule("mish")
def mish(site: Site, a: Any) -> Result:
    x = site.read(a.self)
    return str(site.emit("mul", [x, site.emit("tanh", [site.emit("softplus", [x])])]))


@rule("hardsigmoid")
def hardsigmoid(site: Site, a: Any) -> Result:
    return elementwise(site, "hard_sigmoid", a.self, alpha=1 / 6, beta=0.5)


@rule("leaky_relu")
def leaky_relu(site: Site, a: Any) -> Result:
    return elementwise(site, "leaky_relu", a.self, alpha=float(a.negative_slope))


@rule("elu")
def elu(site: Site, a: Any) -> Result:
    """scale * (x if x > 0 else alpha * (exp(input_scale * x) - 1)), which selu and celu are too."""
    if a.input_scale != 1:
        require(a.scale == 1 and math.isclose(a.alpha * a.input_scale, 1), "the scale of its input is not 1")
        return elementwise(site, "celu", a.self, alpha=float(a.alpha))
    if a.scale != 1:
        return elementwise(site, "selu", a.self, alpha=float(a.alpha), gamma=float(a.scale))
    return elementwise(site, "elu", a.self, alpha=float(a.alpha))


@rule("celu")
def celu(site: Site, a: Any) -> Result:
    return elementwise(site, "celu", a.self, alpha=float(a.alpha))


@rule("softplus")
def softplus(site: Site, a: Any) -> Result:
    require(a.beta == 1, f"beta is {a.beta}")
    return elementwise(site, "softplus", a.self)


@rule("prelu", "_prelu_kernel")
def prelu(site: Site, a: Any) -> Result:
    slope, shape = site.read(a.weight), type_of(a.weight)[1]
    rank = rank_of(a.self)
    if len(shape) == 1 and rank > 2:
        slope = site.reshape(slope, [*shape, *[1] * (rank - 2)])
    return str(site.emit("prelu", [site.read(a.self), slope]))


@rule("log2", "log10")
def log_of_another_base(site: Site, a: Any) -> Result:
    found = site.emit("log", [site.read(a.self, site.dtype)])
    base = 2 if "log2" in str(site.node.target) else 10
    return str(site.emit("mul", [found, site.number(1 / math.log(base), site.dtype)]))


@rule("log1p")
def log1p(site: Site, a: Any) -> Result:
    return str(site.emit("log", [site.emit("add", [site.read(a.self, site.dtype), site.number(1, site.dtype)])]))


@rule("expm1")
def expm1(site: Site, a: Any) -> Result:
    return str(site.emit("sub", [site.emit("exp", [site.read(a.self, site.dtype)]), site.number(1, site.dtype)]))


@rule("trunc")
def trunc(site: Site, a: Any) -> Result:
    x = site.read(a.self)
    if not site.dtype.is_floating_point:
        return x
    return str(site.emit("mul", [site.emit("sign", [x]), site.emit("floor", [site.emit("abs", [x])])]))


@rule("addcmul", "addcdiv")
def added_product(site: Site, a: Any) -> Result:
    op = "mul" if "addcmul" in str(site.node.target) else "div"
    found = site.emit(op, [site.read(a.tensor1, site.dtype), site.read(a.tensor2, site.dtype)])
    if a.value != 1:
        found = site.emit("mul", [found, site.number(a.value, site.dtype)])
    return str(site.emit("add", [site.read(a.self, site.dtype), found]))


def _reduce(op: str) -> Any:
    def write(site: Site, a: Any) -> Result:
        dims = getattr(a, "dim", None)
        attributes: dict[str, Any] = {"keepdims": int(getattr(a, "keepdim", False))}
        if dims is not None and dims != []:
            attributes["axes"] = [dims] if isinstance(dims, int) else list(dims)
        rank = rank_of(a.self)
        found = site.read(a.self, site.dtype)
        return found if rank == 0 else str(site.emit(op, [found], **attributes))
    return write


for _names, _op in ((("sum",), "reduce_sum"), (("mean",), "reduce_mean"), (("prod",), "reduce_prod"),
                    (("amax", "max.default"), "reduce_max"), (("amin", "min.default"), "reduce_min"),
                    (("logsumexp",), "reduce_log_sum_exp")):
    for _name in _names:
        RULES[f"aten.{_name}"] = _reduce(_op)


@rule("max.dim", "min.dim")
def extreme_and_where(site: Site, a: Any) -> Result:
    which = "max" if "max" in str(site.node.target) else "min"
    x, keep = site.read(a.self), int(a.keepdim)
    return [site.emit(f"reduce_{which}", [x], axes=[a.dim], keepdims=keep),
            site.emit(f"arg{which}", [x], axis=a.dim, keepdims=keep)]


@rule("argmax", "argmin")
def position(site: Site, a: Any) -> Result:
    op = str(site.node.target).split(".")[1]
    x = site.read(a.self)
    if a.dim is None:
        count = math.prod(type_of(a.self)[1])
        return str(site.emit(op, [site.reshape(x, [count])], axis=0, keepdims=0))
    return str(site.emit(op, [x], axis=a.dim, keepdims=int(a.keepdim)))


@rule("var.correction", "std.correction")
def variance(site: Site, a: Any) -> Result:
    x, rank = site.read(a.self), rank_of(a.self)
    dims = getattr(a, "dim", None)
    dims = list(range(rank)) if not dims else [dim_of(dim, rank) for dim in ([dims] if isinstance(dims, int) else dims)]
    count = math.prod(type_of(a.self)[1][dim] for dim in dims)
    correction = 1 if a.correction is None else a.correction
    require(count > correction, "it divides by 0")
    off = site.emit("sub", [x, site.emit("reduce_mean", [x], axes=dims, keepdims=1)])
    total = site.emit("reduce_sum_square", [off], axes=dims, keepdims=int(getattr(a, "keepdim", False)))
    found = site.emit("div", [total, site.number(count - correction, site.dtype)])
    return str(site.emit("sqrt", [found]) if "std" in str(site.node.target) else found)


@rule("norm", "linalg_vector_norm")
def norm(site: Site, a: Any) -> Result:
    order = getattr(a, "p", getattr(a, "ord", 2))
    require(order in (None, 1, 2), f"the order is {order}")
    return str(_reduce("reduce_l1" if order == 1 else "reduce_l2")(site, a))


@rule("cumsum")
def cumsum(site: Site, a: Any) -> Result:
    return elementwise(site, "cumsum", a.self, axis=a.dim)


@rule("any", "all")
def any_or_all(site: Site, a: Any) -> Result:
    op = "reduce_max" if "any" in str(site.node.target) else "reduce_min"
    x = site.cast(site.read(a.self, torch.bool), torch.bool, torch.int32)
    rank = rank_of(a.self)
    dim = getattr(a, "dim", None)
    axes = list(range(rank)) if dim is None else pairs_of(dim, 1)
    found = site.emit(op, [x], axes=axes, keepdims=int(getattr(a, "keepdim", False))) if rank else x
    return site.cast(found, torch.int32, torch.bool)
