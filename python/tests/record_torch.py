# SPDX-License-Identifier: Apache-2.0
"""What tessera.torch makes of torch 2: traces, programs of torch.export, DTensors, and tensors of an accelerator, each
compared with torch. test_torch_2.py runs the same cases under pytest.

usage: PYTHONPATH=build/dev/python python3 python/tests/record_torch.py [--out RECORD.md]

Needs torch 2 and NumPy alone. Prints a line for each case; the status is 1 if one of them failed.
"""

import argparse
import platform
import sys
import traceback

import numpy as np
import torch
from torch import nn

import tessera
import tessera.torch
from torch_programs import CALLS, IMAGES, Block, ConvBlock, image, randn, same, x43


def trained(block):
    """With statistics that differ from 0 and 1."""
    for _ in range(3):
        block(randn(4, 3, 12, 12))
    return block.eval()


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
        self.register_buffer("scale", torch.tensor(2.0), persistent=False)
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x, extra=None):
        self.calls.add_(1)
        done = self.body(x) * self.scale
        return {"done": done, "extra": extra, "sum": done.sum() + torch.tensor(1.5)}


def names_and_outputs():
    """Parameters, buffers and constants have their names and data; a buffer that is written is no output."""
    net, x = Head().eval(), randn(2, 8)
    program = torch.export.export(net, (x,))
    graph = tessera.torch.graph_of(program)
    kept = {one.name for one in graph.values if one.kind == "parameter"}
    assert {"body.0.weight", "body.0.bias", "body.2.weight", "body.2.bias", "scale"} <= kept, kept
    assert "calls" not in kept, kept
    assert [one.name for one in graph.inputs] == ["x"] and len(graph.outputs) == 2
    named = [node["name"] for node in graph.nodes]
    assert any(name.startswith("body.0.") for name in named), named
    wanted = net(x)
    found = graph.run(x, target="wse2", check=True)
    assert found.agrees
    np.testing.assert_allclose(found[0], wanted["done"].detach().numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], wanted["sum"].detach().numpy(), rtol=1e-4, atol=1e-4)


def dynamic_shapes():
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(nn.Linear(8, 4), (randn(3, 8),), dynamic_shapes=({0: batch},))
    error = refused(lambda: tessera.torch.graph_of(program))
    assert error.code == "not_supported" and "not fixed" in str(error), error


def missing_ops():
    program = torch.export.export(Odd(), (x43,))
    error = refused(lambda: tessera.torch.graph_of(program))
    listed = [one["op"] for one in error.reasons]
    assert listed == ["aten.lgamma.default", "aten.erfinv.default"], listed
    kinds = [node["op"] for node in tessera.torch.graph_of(program, opaque=True).nodes]
    assert kinds.count("opaque") == 2 and "add" in kinds, kinds


class Odd(nn.Module):
    def forward(self, x):
        return torch.lgamma(x) + torch.erfinv(x)


def refused(call):
    try:
        call()
    except tessera.TesseraError as error:
        return error
    raise AssertionError("it is not refused")


def dtensors():
    """The layout of a DTensor puts every element where torch has it, on each of four ranks."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.placement_types import _StridedShard
    from torch.testing._internal.distributed.fake_pg import FakeStore

    x = torch.arange(5 * 6).reshape(5, 6)
    placements = [[Shard(0), Replicate()], [Replicate(), Shard(1)], [Shard(0), Shard(1)], [Shard(1), Shard(0)],
                  [Shard(0), Shard(0)], [Replicate(), Replicate()]]
    for rank in range(4):
        dist.init_process_group("fake", rank=rank, world_size=4, store=FakeStore())
        try:
            mesh = init_device_mesh("cpu", (2, 2))
            place = (rank // 2, rank % 2)
            for both in placements:
                part = distribute_tensor(x, mesh, both, src_data_rank=None)
                layout = tessera.torch.layout_of(part)
                assert layout.shape == (5, 6) and layout.mesh == (2, 2) and layout.dtype == "i64", layout
                assert held(layout, x, place) == part.to_local().flatten().tolist(), (both, rank, layout)
            if rank:
                continue
            part = distribute_tensor(x, mesh, [Replicate(), Shard(0)], src_data_rank=None)
            for both, text in (([Partial(), Shard(0)], "[Partial(sum), Shard(0)]"),
                               ([Partial("max"), Replicate()], "[Partial(max), Replicate()]"),
                               ([_StridedShard(0, split_factor=2), Shard(0)],
                                "[_StridedShard(0, split_factor=2), Shard(0)]")):
                layout = tessera.dtensor.make((8, 6), "f32", tuple(part.device_mesh.shape), both)
                assert str(layout) == f"tensor<8x6xf32, dtensor<mesh=[2,2], {text}>>", layout
        finally:
            dist.destroy_process_group()


def held(layout, x, place):
    """The elements that a place has, in the order of their slots."""
    slots = {}
    for index in np.ndindex(*layout.shape):
        location = layout.locate(index)
        if place in location.places:
            slots[location.slot] = x[index].item()
    return [slots[slot] for slot in sorted(slots)]


def fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        layout = tessera.torch.layout_of(torch.empty(6, 4, dtype=torch.bfloat16).t())
    assert str(layout) == "tensor<4x6xbf16, strided<[1, 4]>>", layout
    fake = tessera.torch.graph_of(Block().eval(), randn(2, 6, 16), fake=True)
    assert fake.nodes == tessera.torch.graph_of(Block().eval(), randn(2, 6, 16)).nodes


def new_types():
    for dtype in tessera.torch.DTYPES:
        tensor = torch.zeros(3, 4, dtype=dtype)
        layout = tessera.torch.layout_of(tensor)
        assert tessera.torch.torch_dtype(layout.dtype) == dtype and tessera.torch.empty(layout).dtype == dtype
    x = randn(8, 8)
    small = tessera.torch.relayout(x, "tensor<8x8xf8E4M3FN, strided<[1, 8]>>", rounding="saturate")
    assert small.dtype == torch.float8_e4m3fn and small.shape == (64,), small.shape  # memory that no shape describes
    assert torch.equal(small.float(), x.t().reshape(-1).to(torch.float8_e4m3fn).float())
    small = tessera.torch.relayout(x, "tensor<8x8xf8E4M3FN, strided<[8, 1]>>", rounding="saturate")
    assert small.dtype == torch.float8_e4m3fn and torch.equal(small.float(), x.to(torch.float8_e4m3fn).float())


def on_an_accelerator():
    """Modules and programs of an accelerator are traced there and their data fetched; moves are for the host."""
    device = torch.device("cuda")
    net, x = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval(), randn(2, 8)
    wanted = net(x).detach().numpy()
    net = net.to(device)
    for graph in (tessera.torch.graph_of(net, x.to(device)),
                  tessera.torch.graph_of(torch.export.export(net, (x.to(device),)))):
        np.testing.assert_allclose(graph.run(x, target="wse2", check=True)[0], wanted, rtol=1e-4, atol=1e-5)
    assert str(tessera.torch.layout_of(x.to(device).t())) == "tensor<8x2xf32, strided<[1, 8]>>"
    error = refused(lambda: tessera.torch.relayout(x.to(device), "tensor<2x8xf32, strided<[1, 2]>>"))
    assert error.code == "not_supported" and "device" in str(error), error


def cases():
    """The name of each case, and what runs it."""
    found = {f"traced: {name}": lambda call=call, x=x: same(call, x)
             for calls, x in ((CALLS, x43), (IMAGES, image)) for name, call in calls.items()}
    found.update({f"exported: {name}": lambda call=call, x=x: same(call, x, export=True)
                  for calls, x in ((CALLS, x43), (IMAGES, image)) for name, call in calls.items()})
    for kind, export in (("traced", False), ("exported", True)):
        found[f"{kind}: a decoder block"] = lambda e=export: same(Block().eval(), randn(2, 6, 16), export=e)
        found[f"{kind}: a convolution block"] = lambda e=export: same(trained(ConvBlock()), randn(2, 3, 12, 12),
                                                                      export=e)
        found[f"{kind}: an encoder layer of torch"] = lambda e=export: same(
            nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval(), randn(2, 5, 16), export=e)
    found["exported: names and outputs"] = names_and_outputs
    found["exported: dynamic shapes are refused"] = dynamic_shapes
    found["exported: missing ops are listed"] = missing_ops
    found["DTensor: placements"] = dtensors
    found["FakeTensor: layouts and traces"] = fake_tensors
    found["types of torch 2"] = new_types
    if torch.cuda.is_available():
        found["on an accelerator"] = on_an_accelerator
    return found


def main():
    parser = argparse.ArgumentParser(description="What tessera.torch makes of torch 2, compared with torch.")
    parser.add_argument("--out", help="also write the record to this file")
    options = parser.parse_args()
    where = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"
    lines = [f"torch {torch.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
             f"tessera {tessera.__version__}, accelerator: {where}"]
    print(lines[0], flush=True)
    failed = 0
    for name, case in cases().items():
        try:
            case()
            lines.append(f"ok      {name}")
        except Exception as error:  # each case is reported
            failed += 1
            lines.append(f"FAILED  {name}: {type(error).__name__}: {error}".replace("\n", " | ")[:600])
            traceback.print_exc(limit=-6)
        print(lines[-1], flush=True)
    lines.append(f"{len(cases()) - failed} of {len(cases())} cases agree with torch")
    print(lines[-1])
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
