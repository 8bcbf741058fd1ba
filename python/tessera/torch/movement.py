# SPDX-License-Identifier: Apache-2.0
"""Rules of ops that move elements, and of those that make tensors from numbers."""

from __future__ import annotations

import math
from typing import Any

import torch

from .lowering import Result, Site, type_of
from .rules import dim_of, elementwise, pairs_of, rank_of, require, rule


@rule("view", "_unsafe_view", "_reshape_alias")
def view(site: Site, a: Any) -> Result:
    name = site.read(a.self)
    return name if type_of(a.self)[1] == site.shape else site.reshape(name, site.shape)


@rule("detach", "alias", "clone", "lift_fresh", "lift_fresh_copy")
def same(site: Site, a: Any) -> Result:
    return site.read(a.self)


@rule("_to_copy")
def to(site: Site, a: Any) -> Result:
    return site.read(a.self, site.dtype)


@rule("copy")
def copy(site: Site, a: Any) -> Result:
    name = site.read(a.src, site.dtype)
    return name if type_of(a.src)[1] == site.shape else str(site.emit("expand", [name], shape=list(site.shape)))


@rule("t", "transpose", "permute")
def transpose(site: Site, a: Any) -> Result:
    rank = rank_of(a.self)
    perm = list(range(rank))
    if hasattr(a, "dims"):
        perm = [dim_of(dim, rank) for dim in a.dims]
    elif rank >= 2:
        i, j = dim_of(getattr(a, "dim0", 0), rank), dim_of(getattr(a, "dim1", 1), rank)
        perm[i], perm[j] = perm[j], perm[i]
    name = site.read(a.self)
    return name if perm == sorted(perm) else str(site.emit("transpose", [name], perm=perm))


@rule("expand")
def expand(site: Site, a: Any) -> Result:
    name = site.read(a.self)
    return name if type_of(a.self)[1] == site.shape else str(site.emit("expand", [name], shape=list(site.shape)))


@rule("unsqueeze")
def unsqueeze(site: Site, a: Any) -> Result:
    return str(site.emit("unsqueeze", [site.read(a.self)], axes=[dim_of(a.dim, len(site.shape))]))


@rule("squeeze")
def squeeze(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    dims = getattr(a, "dim", None)
    among = range(len(shape)) if dims is None else [dim_of(d, len(shape)) for d in pairs_of(dims, 1)]
    axes = [dim for dim in among if shape[dim] == 1]
    name = site.read(a.self)
    return str(site.emit("squeeze", [name], axes=axes)) if axes else name


@rule("cat")
def cat(site: Site, a: Any) -> Result:
    parts = [one for one in a.tensors if type_of(one)[1] != (0,)]
    names = [site.read(one, site.dtype) for one in parts]
    return names[0] if len(names) == 1 else str(site.emit("concat", names, axis=dim_of(a.dim, len(site.shape))))


@rule("stack")
def stack(site: Site, a: Any) -> Result:
    dim = dim_of(a.dim, len(site.shape))
    names = [site.emit("unsqueeze", [site.read(one, site.dtype)], axes=[dim]) for one in a.tensors]
    return str(site.emit("concat", names, axis=dim))


def _split(site: Site, x: Any, dim: int, sizes: list[int]) -> list[str]:
    if len(sizes) == 1:
        return [site.read(x)]
    return list(site.emit("split", [site.read(x)], outputs=len(sizes), axis=dim, sizes=sizes))


@rule("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes")
def split(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    dim = dim_of(a.dim, len(shape))
    size: Any = getattr(a, "split_size", getattr(a, "split_sizes", None))
    sizes = list(size) if not isinstance(size, int) else [
        min(size, shape[dim] - begin) for begin in range(0, max(shape[dim], 1), max(size, 1))]
    return _split(site, a.self, dim, sizes)


@rule("unbind")
def unbind(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    dim = dim_of(a.dim, len(shape))
    return [site.emit("squeeze", [one], axes=[dim]) for one in _split(site, a.self, dim, [1] * shape[dim])]


def _part(site: Site, name: str, extent: int, dim: int, begin: int, end: int, step: int = 1) -> str:
    if (begin, end, step) == (0, extent, 1):
        return name
    return str(site.emit("slice", [name], starts=[begin], ends=[end], axes=[dim], steps=[step]))


@rule("slice")
def part(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    dim = dim_of(a.dim, len(shape))
    begin, end, step = slice(a.start, a.end, a.step).indices(shape[dim])
    return _part(site, site.read(a.self), shape[dim], dim, begin, max(begin, end), step)


@rule("select")
def select(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    dim = dim_of(a.dim, len(shape))
    at = dim_of(a.index, shape[dim])
    return str(site.emit("squeeze", [_part(site, site.read(a.self), shape[dim], dim, at, at + 1)], axes=[dim]))


def _scattered(site: Site, x: Any, source: str, dim: int, begin: int, end: int) -> str:
    """x, with a part along a dim replaced."""
    extent = type_of(x)[1][dim]
    parts = [source]
    if begin > 0:
        parts.insert(0, _part(site, site.read(x), extent, dim, 0, begin))
    if end < extent:
        parts.append(_part(site, site.read(x), extent, dim, end, extent))
    return parts[0] if len(parts) == 1 else str(site.emit("concat", parts, axis=dim))


@rule("slice_scatter")
def slice_scatter(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    dim = dim_of(a.dim, len(shape))
    begin, end, step = slice(a.start, a.end, a.step).indices(shape[dim])
    require(step == 1, f"it writes every {step}th element")
    if begin >= end:
        return site.read(a.self)
    return _scattered(site, a.self, site.read(a.src, site.dtype), dim, begin, end)


@rule("select_scatter")
def select_scatter(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    dim = dim_of(a.dim, len(shape))
    at = dim_of(a.index, shape[dim])
    source = site.emit("unsqueeze", [site.read(a.src, site.dtype)], axes=[dim])
    return _scattered(site, a.self, source, dim, at, at + 1)


@rule("index_select")
def index_select(site: Site, a: Any) -> Result:
    return str(site.emit("gather", [site.read(a.self), site.read(a.index)], axis=a.dim))


@rule("gather")
def gather(site: Site, a: Any) -> Result:
    return str(site.emit("gather_elements", [site.read(a.self), site.read(a.index)], axis=a.dim))


@rule("scatter.value")
def scatter_number(site: Site, a: Any) -> Result:
    source = site.number(a.value, site.dtype, type_of(a.index)[1])
    return str(site.emit("scatter_elements", [site.read(a.self), site.read(a.index), source], axis=a.dim,
                         reduction="none"))


@rule("scatter.src", "scatter_add")
def scatter(site: Site, a: Any) -> Result:
    reduction = "add" if "scatter_add" in str(site.node.target) else "none"
    require(type_of(a.index)[1] == type_of(a.src)[1], "its source is larger than its indices")
    return str(site.emit("scatter_elements", [site.read(a.self), site.read(a.index), site.read(a.src)], axis=a.dim,
                         reduction=reduction))


class _Places:
    """The places that the indices of x[.., i, .., j, ..] name."""

    def __init__(self, site: Site, a: Any) -> None:
        indices = list(a.indices)
        self.extents = type_of(a.self)[1]
        self.used = [dim for dim, one in enumerate(indices) if one is not None]
        types = [type_of(indices[dim]) for dim in self.used]
        require(all(dtype in (torch.int64, torch.int32) for dtype, _ in types), "its shape depends on data")
        self.names = [site.cast(site.read(indices[dim]), dtype, torch.int64)
                      for dim, (dtype, _) in zip(self.used, types)]
        self.shapes = [shape for _, shape in types]
        self.shape = list(torch.broadcast_shapes(*self.shapes))
        self.kept = [dim for dim in range(len(self.extents)) if dim not in self.used]
        #: With the dims that have indices first.
        self.order = self.used + self.kept
        #: Dims of x[..] before those of the indices, which replace theirs where they are neighbours, else come first.
        self.before = self.used[0] if self.used[-1] - self.used[0] == len(self.used) - 1 else 0

    def table(self, site: Site) -> str:
        """The indices of each place, in a last dim."""
        columns = []
        for name, shape in zip(self.names, self.shapes):
            whole = name if list(shape) == self.shape else site.emit("expand", [name], shape=self.shape)
            columns.append(site.emit("unsqueeze", [whole], axes=[len(self.shape)]))
        return str(columns[0] if len(columns) == 1 else site.emit("concat", columns, axis=len(self.shape)))

    def order_of_results(self, rank: int) -> list[int]:
        """The dims of x[..] from results whose first dims are those of the indices."""
        count = len(self.shape)
        return [*range(count, count + self.before), *range(count), *range(count + self.before, rank)]


def _turned(site: Site, name: str, perm: list[int]) -> str:
    return name if perm == sorted(perm) else str(site.emit("transpose", [name], perm=perm))


def _inverse(perm: list[int]) -> list[int]:
    return [perm.index(dim) for dim in range(len(perm))]


@rule("index", "_unsafe_index")
def index(site: Site, a: Any) -> Result:
    at = _Places(site, a)
    if len(at.used) == 1:
        return str(site.emit("gather", [site.read(a.self), at.names[0]], axis=at.used[0]))
    found = site.emit("gather_nd", [_turned(site, site.read(a.self), at.order), at.table(site)])
    return _turned(site, found, at.order_of_results(len(site.shape)))


@rule("index_put", "_unsafe_index_put")
def index_put(site: Site, a: Any) -> Result:
    at = _Places(site, a)
    others = [at.extents[dim] for dim in at.kept]
    shape = others[:at.before] + at.shape + others[at.before:]
    values = site.read(a.values, site.dtype)
    if list(type_of(a.values)[1]) != shape:
        values = site.emit("expand", [values], shape=shape)
    found = site.emit("scatter_nd", [_turned(site, site.read(a.self), at.order), at.table(site),
                                     _turned(site, values, _inverse(at.order_of_results(len(shape))))],
                      reduction="add" if a.accumulate else "none")
    return _turned(site, found, _inverse(at.order))


@rule("embedding")
def embedding(site: Site, a: Any) -> Result:
    return str(site.emit("embedding", [site.read(a.weight), site.read(a.indices)]))


def _pad(site: Site, a: Any, pad: list[int], mode: str, value: Any = None) -> str:
    """`pad` begins with the last dim, with its two ends."""
    rank = rank_of(a.self)
    before, after = [0] * rank, [0] * rank
    for number in range(len(pad) // 2):
        before[rank - 1 - number], after[rank - 1 - number] = pad[2 * number], pad[2 * number + 1]
    inputs = [site.read(a.self)] + ([] if value is None else [site.number(value, site.dtype)])
    return str(site.emit("pad", inputs, pads=before + after, mode=mode))


@rule("constant_pad_nd")
def constant_pad(site: Site, a: Any) -> Result:
    return _pad(site, a, list(a.pad), "constant", a.value)


@rule("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(site: Site, a: Any) -> Result:
    return _pad(site, a, list(a.padding), "reflect")


@rule("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(site: Site, a: Any) -> Result:
    return _pad(site, a, list(a.padding), "edge")


@rule("repeat")
def repeat(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    more = len(a.repeats) - len(shape)
    name = site.read(a.self)
    if more:
        name = site.emit("unsqueeze", [name], axes=list(range(more)))
    return str(site.emit("tile", [name], repeats=list(a.repeats)))


@rule("tril", "triu")
def trilu(site: Site, a: Any) -> Result:
    return elementwise(site, "trilu", a.self, upper=int("triu" in str(site.node.target)), k=a.diagonal)


@rule("flip")
def flip(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    dims = [dim_of(dim, len(shape)) for dim in a.dims]
    return str(site.emit("slice", [site.read(a.self)], starts=[-1] * len(dims), axes=dims, steps=[-1] * len(dims),
                         ends=[-shape[dim] - 1 for dim in dims]))


@rule("roll")
def roll(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    name = site.read(a.self)
    dims, shifts = list(a.dims), pairs_of(a.shifts, 1)
    if not dims:
        require(len(shifts) == 1, "it has several shifts without dims")
        shape, dims = (math.prod(shape),), [0]
        name = site.reshape(name, shape)
    for dim, shift in zip(dims, shifts):
        dim = dim_of(dim, len(shape))
        extent = shape[dim]
        cut = (-shift) % extent if extent else 0
        if cut:
            name = str(site.emit("concat", [_part(site, name, extent, dim, cut, extent),
                                            _part(site, name, extent, dim, 0, cut)], axis=dim))
    return name if shape == site.shape else site.reshape(name, site.shape)


@rule("pixel_shuffle")
def pixel_shuffle(site: Site, a: Any) -> Result:
    require(rank_of(a.self) == 4, "it is not on a batch of images")
    return str(site.emit("depth_to_space", [site.read(a.self)], block=a.upscale_factor, mode="CRD"))


@rule("topk")
def topk(site: Site, a: Any) -> Result:
    return list(site.emit("topk", [site.read(a.self)], outputs=2, k=a.k, axis=a.dim, largest=int(a.largest),
                          sorted=int(a.sorted)))


@rule("sort")
def sort(site: Site, a: Any) -> Result:
    shape = type_of(a.self)[1]
    return list(site.emit("topk", [site.read(a.self)], outputs=2, k=shape[dim_of(a.dim, len(shape))], axis=a.dim,
                          largest=int(a.descending), sorted=1))


@rule("zeros", "ones", "full", "arange", "eye", "linspace", "scalar_tensor", "tril_indices", "triu_indices")
def made(site: Site, a: Any) -> Result:
    """What torch makes from numbers alone is a constant."""
    kwargs = {**site.node.kwargs, "device": "cpu"}
    kwargs.pop("pin_memory", None)
    return site.constant(site.node.target(*site.node.args, **kwargs))


@rule("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")
def made_alike(site: Site, a: Any) -> Result:
    target = str(site.node.target)
    number = 0 if "zeros" in target else 1 if "ones" in target else a.fill_value
    return site.number(number, site.dtype, site.shape)


@rule("empty.memory_format", "empty_like", "new_empty", "empty_strided", "empty_permuted", "new_empty_strided")
def not_written(site: Site, a: Any) -> Result:
    """Memory before it is written may have any contents: here zeros."""
    return site.number(0, site.dtype, site.shape)


@rule("zero")
def zero(site: Site, a: Any) -> Result:
    return site.number(0, site.dtype, site.shape)


@rule("fill")
def fill(site: Site, a: Any) -> Result:
    if isinstance(a.value, torch.fx.Node):
        return str(site.emit("expand", [site.read(a.value, site.dtype)], shape=list(site.shape)))
    return site.number(a.value, site.dtype, site.shape)
