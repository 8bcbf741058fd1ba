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
from torch_programs import CALLS, IMAGES, Block, ConvBlock, image, indices, randn, same, x43  # noqa: E402

import tessera.torch  # noqa: E402


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


def test_recurrent_layers():
    x = randn(3, 2, 4)
    same(lambda x, net=nn.LSTM(4, 5): net(x)[0], x)
    same(lambda x, net=nn.GRU(4, 5, bidirectional=True): net(x)[0], x)


def test_conv_block():
    block = ConvBlock()
    for _ in range(3):
        block(randn(4, 3, 12, 12))  # statistics that differ from 0 and 1
    graph = same(block.eval(), randn(2, 3, 12, 12))
    assert graph.facts()["ops"]["conv"] == 3


def test_graph_modules_of_fx():
    traced = torch.fx.symbolic_trace(ConvBlock().eval())
    same(traced, randn(2, 3, 12, 12))


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    same(CALLS[name], x43)


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
    for call in (torch.fft.fft, lambda x: torch.fft.fft(x).abs()):  # complex numbers are in no graph
        with pytest.raises(tessera.TesseraError) as caught:
            tessera.torch.graph_of(call, x43, opaque=True)
        assert [one["op"] for one in caught.value.reasons] == ["aten._fft_r2c.default"] and not caught.value.help


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
