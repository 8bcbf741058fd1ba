# SPDX-License-Identifier: Apache-2.0
"""Programs of torch that tests trace and export, and the comparison of a graph's run with torch. Needs neither pytest
nor hypothesis: record_torch.py runs them where there may be none.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import tessera.torch


class Call(nn.Module):
    """A function as a module, as torch.export wants it."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def same(module, *examples, rtol=1e-4, atol=1e-5, export=False, **flags):
    """Runs a module in torch and its graph on a machine; returns the graph. With `export` it is that of the program
    that torch.export makes.
    """
    torch.manual_seed(1)
    if export:
        module = module if isinstance(module, nn.Module) else Call(module)
        graph = tessera.torch.graph_of(torch.export.export(module, examples), **flags)
    else:
        graph = tessera.torch.graph_of(module, *examples, **flags)
    with torch.no_grad():
        wanted = module(*examples)
    wanted = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
    tensors = [one for one in examples if isinstance(one, torch.Tensor)]
    done = graph.run(*tensors, target="wse2", check=True)
    assert done.agrees and len(done) == len(wanted)
    for found, one in zip(done, wanted):
        assert found.shape == tuple(one.shape)
        np.testing.assert_allclose(found, one.numpy(), rtol=rtol, atol=atol)
    return graph


def randn(*shape):
    return torch.from_numpy(np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32))


class Block(nn.Module):
    """A decoder block: causal attention and a gated network, with norms before both."""

    def __init__(self, width=16, heads=4):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.gate, self.up, self.down = nn.Linear(width, 24), nn.Linear(width, 24), nn.Linear(24, width)
        self.heads = heads
        self.register_buffer("mask", torch.ones(8, 8, dtype=torch.bool).tril())

    def forward(self, x):
        b, s, w = x.shape
        q, k, v = (part.view(b, s, self.heads, w // self.heads).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / (w // self.heads) ** 0.5
        scores = scores.masked_fill(~self.mask[:s, :s], float("-inf"))
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, s, w))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class ConvBlock(nn.Module):
    """A residual block with a depthwise convolution, a pool and a classifier."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8),
                                  nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8))
        self.side = nn.Conv2d(3, 8, 1, stride=2)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = F.relu(self.body(x) + self.side(x), inplace=True)
        return self.head(F.adaptive_avg_pool2d(self.pool(x), 1).flatten(1))


x43, image = randn(4, 3), randn(2, 4, 6, 6)
indices = torch.tensor([[2, 0, 1], [1, 1, 0]])

CALLS = {
    "arithmetic": lambda x: (2 - x) * x / 3 + x.sub(1, alpha=2) - x ** 2 + x.abs() ** 1.5,
    "promotion": lambda x: x + torch.arange(3) * (x > 0),
    "remainder": lambda x: (x % 0.7, torch.fmod(x, 0.7), x.div(0.3, rounding_mode="floor")),
    "comparisons": lambda x: torch.where((x > 0) & ~(x <= 1) | (x == 0), x, torch.zeros_like(x)) + (x != 0),
    "limits": lambda x: x.clamp(-0.5, 0.5) + x.clamp(max=0.1) + x.clamp_min(0.2) + F.relu6(x) + F.hardtanh(x),
    "activations": lambda x: (F.silu(x), F.mish(x), F.elu(x), F.selu(x), F.celu(x, 1.3), F.leaky_relu(x, 0.2),
                              F.softplus(x), F.hardswish(x), F.hardsigmoid(x), F.gelu(x, approximate="tanh")),
    "functions": lambda x: (x.exp(), x.sin(), x.cos(), x.tanh(), x.sigmoid(), x.erf(), x.abs().sqrt(),
                            (x * x + 1).log(), (x * x + 1).rsqrt(), (x * x + 1).reciprocal(), x.floor(), x.round(),
                            (x * x + 1).log2(), x.sign(), x.atan()),
    "reductions": lambda x: (x.sum(), x.sum(-1), x.mean((0, 1), keepdim=True), x.amax(1), x.min(), x.prod(0),
                             x.var(1), x.std((0, 1), unbiased=False), x.norm(dim=1), x.logsumexp(0)),
    "positions": lambda x: (x.max(1)[0], x.min(0)[1], x.argmax(), x.argmin(1, keepdim=True)),
    "order": lambda x: (*x.topk(2, dim=0), *x.sort(dim=1, descending=True), x.cumsum(0)),
    "softmax": lambda x: (x.softmax(0), x.log_softmax(-1)),
    "parts": lambda x: (x[1:, ::2], x[-1], x[:, None, 1], *x.split(2), *x.unbind(1), *x.chunk(2, dim=1)),
    "order of dims": lambda x: (x.t(), x.flip(0, 1), x.roll(1, 0), x.roll(2), x.reshape(2, 6), x.permute(1, 0)),
    "joins": lambda x: (torch.cat([x, x + 1], 1), torch.stack([x, x], 1), x.repeat(2, 1, 2), x.expand(2, 4, 3)),
    "indices": lambda x: (x[indices], x[:, indices], x[indices, indices], x.gather(0, indices),
                          x.index_select(1, indices[0]), F.embedding(indices, x)),
    "more functions": lambda x: (x.ceil(), x.tan(), x.sinh(), x.cosh(), x.asinh(), x.tanh().asin(), x.tanh().acos(),
                                 x.tanh().atanh(), (x * x + 1).acosh()),
    "pairs": lambda x: (torch.maximum(x, -x), torch.minimum(x, x[0]), x.max(x.neg()), x >= 0, x.max(), x.amin(0),
                        torch.logical_xor(x > 0, x > 1), torch.logical_and(x > 0, x < 1), (x > 0).logical_not(),
                        torch.logical_or(x > 1, x < -1), (x / (x > 0)).isinf(), (x.clamp(min=0).sign() / 0).isnan()),
    "choices": lambda x: (torch.where(x > 0, x, 1.0), torch.where(x > 0, 2.0, x), x.clamp(None, x[0]),
                          x.clamp_max(0.3), F.prelu(x, torch.tensor([0.1, 0.2, 0.3]))),
    "made alike": lambda x: (x + torch.full_like(x, 3), x.new_zeros(2, 2), x.new_ones(2) + x[0, 0],
                             x.new_full((2,), 4), x + torch.linspace(0, 1, 3), torch.tril_indices(3, 3) * 1,
                             x + torch.scalar_tensor(2.0), x + torch.zeros(3)),
    "scatters": lambda x: (x.scatter(0, indices, x[:2] * 9), x.scatter_add(0, indices, x[:2] * 9),
                           x.scatter(1, indices, 3.0)),
    "logarithms": lambda x: (x.abs().log1p(), x.expm1(), (x * x + 1).log10(), (3 * x).trunc()),
    "added products": lambda x: (torch.addcmul(x, x, x[0], value=0.5), torch.addcdiv(x, x, x * x + 1)),
    "memory that is written later": lambda x: x + torch.empty(3).fill_(2) + torch.empty_like(x).zero_(),
    "put": lambda x: (x.index_put((indices[:1],), x[:1, None] * 9), x.index_put((indices[0], indices[1]), x[0]),
                      x.index_put((indices[0], indices[1]), x[0], accumulate=True)),
    "sizes": lambda x: x.split([1, 3]),
    "batches of products": lambda x: torch.baddbmm(x[None], x[None], x[None, :3], beta=0.5, alpha=2),
    "in place": lambda x: _written(x),
    "made": lambda x: x + torch.arange(3.0) + torch.full((4, 1), 2.0) + torch.eye(4, 3) + torch.ones_like(x),
    "triangles": lambda x: (x.tril(), x.triu(1), x.masked_fill(x > 0, 1.0)),
    "types": lambda x: (x.double(), x.long(), x.half().float(), (x > 0).float(), (x > 0).any(), (x > 5).all(1)),
    "products": lambda x: (x @ x.t(), x.t() @ x, x @ x[0], torch.einsum("ij,kj->ik", x, x), x[0] @ x[1],
                           torch.addmm(x[:, :1], x, x.t(), beta=2, alpha=0.5)),
}


def _written(x):
    y = x.clone()
    y[1:, 0] = 5
    y[:, 1].add_(1)
    y.mul_(2).relu_()
    return y


def _put_rows(x):
    """As new keys and values are put into a cache."""
    y = x.clone()
    y[:, :, indices[0]] = x[:, :, :3] * 2
    y[:, indices[1] % 2, :, indices[0]] += 1
    return y.flip(1)[:, :3] + y[:, indices[0] + 1]


IMAGES = {
    "pools": lambda x: (F.max_pool2d(x, 2), F.avg_pool2d(x, 3, 1, 1), F.max_pool2d(x[0], 3, ceil_mode=True),
                        F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), F.adaptive_avg_pool2d(x, (3, 2)),
                        F.max_pool1d(x[0], 2), F.avg_pool1d(x[0], 2)),
    "pads": lambda x: (F.pad(x, (1, 0, 2, 1), value=3), F.pad(x, (1, 2), mode="reflect") if x.dim() == 3
                       else F.pad(x, (1, 2, 0, 1), mode="reflect"), F.pad(x, (1, 2, 0, 1), mode="replicate")),
    "sizes": lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(9, 4)),
                        F.interpolate(x, size=(9, 12), mode="bilinear"),
                        F.interpolate(x, size=(9, 12), mode="bilinear", align_corners=True)),
    "norms": lambda x: (F.group_norm(x, 2), F.layer_norm(x, (6, 6)), F.instance_norm(x[:1]),
                        F.batch_norm(x, torch.arange(4.0), torch.ones(4) * 2)),
    "one spatial dim": lambda x: (F.pad(x[0], (1, 2), mode="reflect"), F.pad(x[0], (1, 2), mode="replicate"),
                                  F.interpolate(x[0], scale_factor=2), F.interpolate(x[0], size=9, mode="linear")),
    "three spatial dims": lambda x: (F.max_pool3d(x[None], 2), F.avg_pool3d(x[None], (2, 3, 2)),
                                     F.adaptive_avg_pool3d(x[None], (2, 3, 2)), F.interpolate(x[None], scale_factor=2),
                                     F.pad(x[None], (1, 1, 1, 0, 0, 1), mode="replicate")),
    "indices of some dims": lambda x: (x[:, indices, indices], x[..., indices, indices[0]], x[indices % 2, :, indices],
                                       x[:, indices[0], :, indices[1]], x[:, indices, 2:], x[0, indices[0], 1]),
    "puts into first dims": lambda x: x.index_put((indices % 2, indices), x[0, 0]),
    "cubic": lambda x: F.interpolate(x, size=(9, 12), mode="bicubic"),
    "slopes": lambda x: F.prelu(x, torch.arange(4) / 4),
    "shuffle": lambda x: F.pixel_shuffle(x, 2),
    "convolutions": lambda x: (F.conv2d(x, randn(6, 2, 3, 3), randn(6), 2, 1, 1, 2),
                               F.conv_transpose2d(x, randn(4, 3, 3, 3), randn(3), 2, 1, 1),
                               F.conv1d(x[0], randn(3, 6, 2), dilation=2),
                               F.conv2d(x, randn(4, 4, 3, 3), padding="same")),
    "attention": lambda x: _attention(x, None, True),
    "attention with a mask": lambda x: (_attention(x, x[:, :, None, :, 0] > -1, False), _attention(x, x[..., :1], False)),
}


if hasattr(torch, "export"):  # functionalize of torch 1.13 cannot put into dims that are not the first
    IMAGES["puts into some dims"] = _put_rows


def _attention(x, mask, is_causal):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(x, x, x, mask, is_causal=is_causal)
    return torch._C._nn._scaled_dot_product_attention(x, x, x, mask, 0.0, False, is_causal)[0]
