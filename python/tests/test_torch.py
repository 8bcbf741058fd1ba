# SPDX-License-Identifier: Apache-2.0
"""Layouts of real torch tensors; left out where torch is not installed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tessera

torch = pytest.importorskip("torch")
import tessera.torch  # noqa: E402


@given(st.data())
def test_layouts_are_those_of_torch(data):
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    tensor = torch.arange(int(np.prod(shape))).reshape(shape)
    tensor = tensor.permute(data.draw(st.permutations(range(len(shape)))))
    for dim in range(tensor.dim()):
        start = data.draw(st.integers(0, tensor.shape[dim] - 1))
        tensor = tensor.narrow(dim, start, data.draw(st.integers(1, tensor.shape[dim] - start)))
    layout = tessera.torch.layout_of(tensor)
    assert layout.shape == tuple(tensor.shape)
    for index in np.ndindex(*layout.shape):
        assert layout.locate(index).slot == tensor[index].item()  # values count the storage
    back = tessera.torch.empty(layout)
    assert back.storage_offset() == tensor.storage_offset() and back.shape == tensor.shape
    assert all(a == b for a, b, n in zip(back.stride(), tensor.stride(), tensor.shape) if n > 1)


@pytest.mark.parametrize("dtype", list(tessera.torch.DTYPES), ids=str)
def test_types_go_there_and_back(dtype):
    tensor = torch.zeros(3, 4, dtype=dtype)
    layout = tessera.torch.layout_of(tensor)
    assert tessera.torch.torch_dtype(layout.dtype) == dtype and tessera.torch.empty(layout).dtype == dtype


def test_relayouts_of_torch():
    values = torch.randn(53, 63, requires_grad=True)
    grid = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
    shards = tessera.torch.relayout(values, grid)
    assert shards.shape == (3, 2, 576)
    np.testing.assert_array_equal(shards[2, 1].reshape(18, 32)[:17, :31], values.detach()[36:, 32:])
    half = tessera.torch.relayout(values.t(), "tensor<63x53xbf16, strided<[53, 1]>>", rounding="round")
    assert half.dtype == torch.bfloat16 and torch.equal(half, values.detach().t().to(torch.bfloat16))
    assert torch.equal(tessera.torch.relayout(half, "tensor<63x53xf32, strided<[53, 1]>>"), half.float())
    device = tessera.torch.relayout(values.half(), tessera.spyre.default((53, 63), "f16"))
    assert device.dtype == torch.float16


def test_tensors_of_torch_are_buffers_too():
    plan = tessera.plan("tensor<4x6xf32, strided<[6, 1]>>", "tensor<4x6xf32, strided<[1, 4]>>")
    source, out = torch.arange(24.0), torch.zeros(24)
    plan(source, out)
    assert torch.equal(out.reshape(6, 4).t(), source.reshape(4, 6))


class Placement:
    """A placement of torch 2: str() is shorter than repr()."""

    def __init__(self, text, short):
        self.text, self.short = text, short

    def __repr__(self):
        return self.text

    def __str__(self):
        return self.short


class Placed:
    """What a DTensor of torch 2 has."""

    def __init__(self, shape, mesh, placements):
        self.shape, self.dtype, self.placements = torch.Size(shape), torch.float32, placements
        self.device_mesh = type("Mesh", (), {"mesh": torch.arange(int(np.prod(mesh))).reshape(mesh)})()


def test_dtensors():
    shard, partial = Placement("Shard(dim=0)", "S(0)"), Placement("Partial(max)", "P(max)")
    whole, strided = Placement("Replicate()", "R"), Placement("_StridedShard(dim=0, sf=2)", "_S(0, 2)")
    for both, text in (([shard, whole], "[Shard(0), Replicate()]"), ([partial, shard], "[Partial(max), Shard(0)]"),
                       ([strided, shard], "[_StridedShard(0, split_factor=2), Shard(0)]")):
        layout = tessera.torch.layout_of(Placed((8, 6), (2, 2), both))
        assert str(layout) == f"tensor<8x6xf32, dtensor<mesh=[2,2], {text}>>"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no accelerator")
def test_tensors_of_an_accelerator():
    x = torch.arange(24.0, device="cuda").reshape(4, 6)
    assert str(tessera.torch.layout_of(x.t())) == "tensor<6x4xf32, strided<[1, 6]>>"
    with pytest.raises(tessera.TesseraError) as caught:
        tessera.torch.relayout(x, "tensor<4x6xf32, strided<[1, 4]>>")
    assert caught.value.code == "not_supported"


def test_what_has_no_strides():
    with pytest.raises(tessera.TesseraError) as caught:
        tessera.torch.layout_of(torch.eye(3).to_sparse())
    assert caught.value.code == "not_supported"
    with pytest.raises(TypeError):
        tessera.torch.layout_of(np.zeros(3))


def test_what_torch_cannot_express():
    for text in ["tensor<4x6xf32, pyflame.Grid(2, 2)>", "tensor<3x5xf32, xla{1,0:T(2,2)}>",
                 "tensor<4xf32, strided<[-1], offset: 3>>", "tensor<4xi4, strided<[1]>>"]:
        with pytest.raises(tessera.TesseraError):
            tessera.torch.empty(text)
    with pytest.raises(tessera.TesseraError) as caught:
        tessera.torch.layout_of(torch.zeros(3, dtype=torch.complex64))
    assert caught.value.code == "bad_dtype"
