# SPDX-License-Identifier: Apache-2.0
"""Traced modules of torch: a run of the graph has the results of torch. Left out where torch is not installed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tessera

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import tessera.torch  # noqa: E402


def same(module, *examples, rtol=1e-4, atol=1e-5, **flags):
    """Runs a module in torch and its graph on a machine; returns the graph."""
    torch.manual_seed(1)
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


def test_mlp():
    mlp = nn.Sequential(nn.Linear(12, 16), nn.GELU(), nn.Dropout(), nn.Linear(16, 4)).eval()
    graph = same(mlp, randn(3, 12))
    assert [node["op"] for node in graph.nodes] == ["gemm", "gelu", "gemm"]
    assert [one.name for one in graph.values if one.kind == "parameter"] == [
        "0.weight", "0.bias", "3.weight", "3.bias"]
    assert [node["name"] for node in graph.nodes] == ["0.addmm", "1.gelu", "3.addmm_1"]


def test_attention_block():
    graph = same(Block().eval(), randn(2, 6, 16))
    assert graph.facts()["ops"]["softmax"] == 1


def test_layers_of_torch_take_plain_ops():
    same(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval(), randn(2, 5, 16))
    attention = nn.MultiheadAttention(16, 2, batch_first=True).eval()
    same(lambda x: attention(x, x, x)[0], randn(2, 5, 16))


def test_conv_block():
    block = ConvBlock()
    for _ in range(3):
        block(randn(4, 3, 12, 12))  # statistics that differ from 0 and 1
    graph = same(block.eval(), randn(2, 3, 12, 12))
    assert graph.facts()["ops"]["conv"] == 3


def test_graph_modules_of_fx():
    traced = torch.fx.symbolic_trace(ConvBlock().eval())
    same(traced, randn(2, 3, 12, 12))


x43, x345, image = randn(4, 3), randn(3, 4, 5), randn(2, 4, 6, 6)
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
    "scatters": lambda x: (x.scatter(0, indices, x[:2] * 9), x.scatter_add(0, indices, x[:2] * 9)),
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


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    same(CALLS[name], x43)


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


def _attention(x, mask, is_causal):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(x, x, x, mask, is_causal=is_causal)
    return torch._C._nn._scaled_dot_product_attention(x, x, x, mask, 0.0, False, is_causal)[0]


@pytest.mark.parametrize("name", IMAGES)
def test_calls_on_images(name):
    same(IMAGES[name], image)


STEPS = {
    "relu": lambda x, n: F.relu(x - n / 4), "scale": lambda x, n: x * (n + 1) - 1,
    "square": lambda x, n: (x * x).sqrt(),
    "flip": lambda x, n: x.flip(n % x.dim()), "roll": lambda x, n: x.roll(n, n % x.dim()),
    "transpose": lambda x, n: x.transpose(0, n % x.dim()), "flatten": lambda x, n: x.flatten(),
    "unsqueeze": lambda x, n: x.unsqueeze(n % (x.dim() + 1)), "part": lambda x, n: x.narrow(n % x.dim(), 0, 1),
    "every second": lambda x, n: x[::2], "join": lambda x, n: torch.cat([x, -x], n % x.dim()),
    "mean": lambda x, n: x - x.mean(n % x.dim(), keepdim=True), "softmax": lambda x, n: x.softmax(n % x.dim()),
    "running": lambda x, n: x.cumsum(n % x.dim()), "limit": lambda x, n: x.clamp(-n, n + 1),
    "where": lambda x, n: torch.where(x > n / 3, x, -x), "fill": lambda x, n: x.masked_fill(x < 0, n),
    "add in place": lambda x, n: _added(x, n)}


def _added(x, n):
    y = x.clone()
    y.select(n % y.dim(), 0).add_(n)
    return y


@settings(max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3),
       st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 3)), min_size=1, max_size=6))
def test_random_programs(shape, steps):
    def program(x):
        for name, number in steps:
            if x.dim() <= 5:
                x = STEPS[name](x, number)
        return x

    same(program, randn(*shape), rtol=1e-3, atol=1e-4)


def test_inputs_that_are_structures():
    def call(pair, scale, last):
        return pair[0] * scale + pair[1]["b"], last

    graph = tessera.torch.graph_of(call, (x43, {"b": x43 + 1}), 2.5, x43)
    assert [one.name for one in graph.inputs] == ["pair_0", "pair_1", "last"]
    done = graph.run(x43, x43 + 1, x43, target="wse2")
    np.testing.assert_allclose(done[0], x43 * 2.5 + x43 + 1, rtol=1e-6)
    np.testing.assert_array_equal(done[1], x43)


def test_shared_parameters_are_one_value():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(7, 5)
            self.head = nn.Linear(5, 7, bias=False)
            self.head.weight = self.table.weight

        def forward(self, ids):
            return self.head(self.table(ids))

    graph = same(Tied().eval(), indices)
    assert [one.name for one in graph.values if one.kind == "parameter"] == ["table.weight"]


def test_types_of_16_bits():
    net = nn.Linear(8, 4).to(torch.bfloat16)
    x = randn(3, 8).to(torch.bfloat16)
    graph = tessera.torch.graph_of(net, x)
    done = graph.run(x.view(torch.int16).numpy().view(np.uint16), target="wse2", check=True)
    found = torch.from_numpy(done[0].view(np.int16)).view(torch.bfloat16)
    assert torch.allclose(found.float(), net(x).float(), atol=0.05)


def test_all_that_is_missing_is_listed():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x):
            return torch.lgamma(x) + torch.erfinv(self.norm(x)) + x[x > 0].sum()

    with pytest.raises(tessera.TesseraError) as caught:
        tessera.torch.graph_of(Odd(), x43)
    error = caught.value
    assert error.code == "not_supported"
    assert [(one["node"], one["op"]) for one in error.reasons] == [
        ("lgamma", "aten.lgamma.default"), ("norm.native_batch_norm", "aten.native_batch_norm.default"),
        ("erfinv", "aten.erfinv.default"), ("index", "aten.index.Tensor")]
    assert all(one["reason"] and one["node"] in str(error) for one in error.reasons)


def test_opaque_nodes():
    graph = tessera.torch.graph_of(lambda x: torch.erfinv(x) + torch.linalg.qr(x)[1].sum(), x43, opaque=True)
    kinds = [node["op"] for node in graph.nodes]
    assert kinds.count("opaque") == 2 and "add" in kinds
    assert graph.facts()["ops"]["opaque"] == 2


def test_shapes_alone():
    with_data = tessera.torch.graph_of(Block().eval(), randn(2, 6, 16))
    without = tessera.torch.graph_of(Block().eval(), randn(2, 6, 16), fake=True)
    assert without.nodes == with_data.nodes
    meta = tessera.torch.graph_of(nn.Linear(4096, 4096, device="meta"), torch.empty(8, 4096, device="meta"))
    assert meta.facts()["parameters"] == 4096 * 4096 + 4096


def test_layouts_go_through_a_traced_module():
    graph = tessera.torch.graph_of(Block().eval(), randn(8, 6, 16), fake=True)
    found = graph.propagate({"x": "gspmd{devices=[4,1,1]<=[4]}"})
    assert not found.stopped
    assert found.tensors[graph.outputs[0].name] == "tensor<8x6x16xf32, gspmd{devices=[4,1,1]<=[4]}>"
    assert found.moves == []


class Exported:
    """What a program of torch.export has: inputs for parameters, buffers and constants, which a signature names."""

    def __init__(self, module, *examples):
        from torch.fx.experimental.proxy_tensor import make_fx

        parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())
        self.state_dict, self.constants = {**parameters, **buffers}, {"lifted": torch.tensor([2.0])}
        owned = {**parameters, **buffers, "lifted": self.constants["lifted"]}

        def call(*tensors):
            own = dict(zip(owned, tensors))
            scale = own.pop("lifted")
            done = tessera.torch.tracing.functional_call(module, own, tuple(tensors[len(owned):]))
            return own["1.num_batches_tracked"] + 1, done * scale  # a buffer that is written comes first

        held = [one.detach() for one in owned.values()]
        self.graph = make_fx(call)(*held, *examples).graph
        names = [node.name for node in self.graph.nodes if node.op == "placeholder"]
        of = dict(zip(owned, names))
        for node in self.graph.nodes:
            if node.op == "call_function":
                node.meta["nn_module_stack"] = {"L__self__": ("", nn.Sequential), "x": ("L['self'].part", nn.Module)}
        self.graph_signature = type("Signature", (), {
            "inputs_to_parameters": {of[key]: key for key in parameters},
            "inputs_to_buffers": {of[key]: key for key in buffers},
            "inputs_to_lifted_tensor_constants": {of["lifted"]: "lifted"}, "user_outputs": ["mul"]})()

    def run_decompositions(self):
        return self


def test_exported_programs():
    net, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval(), randn(2, 3, 6, 6)
    graph = tessera.torch.graph_of(Exported(net, x))
    assert [node["op"] for node in graph.nodes] == ["conv", "batch_norm", "relu", "mul"]
    assert [one.name for one in graph.values if one.kind == "parameter"] == [
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "lifted"]
    assert graph.nodes[0]["name"] == "part.convolution" and len(graph.outputs) == 1
    found = graph.run(x, target="wse2", check=True)
    np.testing.assert_allclose(found[0], 2 * net(x).detach().numpy(), rtol=1e-4, atol=1e-5)
