# SPDX-License-Identifier: Apache-2.0
"""Graphs: made, saved, read, run and asked."""

from pathlib import Path

import numpy as np
import pytest

import tessera


def two_layers():
    rng = np.random.default_rng(1)
    data = {"w": rng.standard_normal((6, 8), dtype=np.float32), "b": rng.standard_normal(8, dtype=np.float32)}
    document = {
        "tessera_graph": 1, "name": "layer",
        "values": [{"name": "x", "kind": "input", "dtype": "f32", "shape": [4, 6]},
                   {"name": "w", "kind": "parameter", "dtype": "f32", "shape": [6, 8]},
                   {"name": "b", "kind": "parameter", "dtype": "f32", "shape": [8]}],
        "nodes": [{"op": "relu", "inputs": ["s"], "outputs": ["y"]},
                  {"op": "add", "inputs": ["h", "b"], "outputs": ["s"]},
                  {"op": "matmul", "inputs": ["x", "w"], "outputs": ["h"]}],
        "outputs": ["y", "h"]}
    return tessera.Graph(document, data), data


X = np.arange(24, dtype=np.float32).reshape(4, 6)


def expected(data):
    h = X @ data["w"]
    return np.maximum(h + data["b"], 0), h


def test_nodes_are_sorted_and_types_inferred():
    graph, _ = two_layers()
    assert [node["op"] for node in graph.nodes] == ["matmul", "add", "relu"]
    assert graph.value("s") == ("s", "computed", "f32", (4, 8)) and graph.value("s").type == "4x8xf32"
    assert [one.name for one in graph.outputs] == ["y", "h"] and graph.name == "layer"


@pytest.mark.parametrize("target,layouts", [
    ("wse2", None), ("wse2", {"x": "pyflame.Grid(2, 3)", "*": "pyflame.Grid(1, 1)"}),
    ("wse2", {"b": "pyflame.SinglePE()"})])
def test_runs(target, layouts):
    graph, data = two_layers()
    done = graph.run(X, target=target, layouts=layouts, check=True)
    assert done.agrees and len(done.ops) == 3 and done.peak_bytes
    for found, wanted in zip(done, expected(data)):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    assert done["h"] is done[1]


def test_values_by_name_replace_data():
    graph, data = two_layers()
    done = graph.run(target="wse2", values={"x": X, "w": np.zeros((6, 8), np.float32)})
    np.testing.assert_array_equal(done["y"], np.broadcast_to(np.maximum(data["b"], 0), (4, 8)))


@pytest.mark.parametrize("name", ["model.json", "model.onnx"])
def test_files_keep_the_data(tmp_path, name):
    graph, data = two_layers()
    if name.endswith(".onnx") and not (Path(tessera.__file__).parent / "modules" / "tessera_onnx.so").exists():
        pytest.skip("this build has no module for ONNX: libonnx was not found")
    graph.save(tmp_path / name)
    again = tessera.Graph.read(tmp_path / name)
    if name == "model.json":  # whose data are in a file
        again.save(tmp_path / "again.json")
        assert tessera.Graph.read(tmp_path / "again.json").run(X, target="wse2")["y"].shape == (4, 8)
    assert [node["op"] for node in again.nodes] == ["matmul", "add", "relu"]
    for found, wanted in zip(again.run(X, target="wse2"), expected(data)):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_decomposed_graphs_have_the_same_results():
    data = {"g": np.linspace(1, 2, 8, dtype=np.float32)}
    graph = tessera.Graph({
        "tessera_graph": 1,
        "values": [{"name": "x", "kind": "input", "dtype": "f32", "shape": [4, 8]},
                   {"name": "g", "kind": "parameter", "dtype": "f32", "shape": [8]}],
        "nodes": [{"op": "layer_norm", "inputs": ["x", "g"], "outputs": ["n"]},
                  {"op": "softmax", "inputs": ["n"], "outputs": ["y"]}],
        "outputs": ["y"]}, data)
    x = np.random.default_rng(2).standard_normal((4, 8), dtype=np.float32)
    simpler = graph.decomposed()
    assert not {"softmax", "layer_norm"} & {node["op"] for node in simpler.nodes}
    np.testing.assert_allclose(simpler.run(x, target="wse2")["y"], graph.run(x, target="wse2")["y"], rtol=1e-5)


@pytest.mark.parametrize("dtype,numpy", [("f16", "f2"), ("f64", "f8"), ("i32", "i4"), ("i1", "?"), ("bf16", "u2"),
                                         ("ui8", "u1")])
def test_types(dtype, numpy):
    graph = tessera.Graph({"tessera_graph": 1,
                           "values": [{"name": "x", "kind": "input", "dtype": dtype, "shape": [5]}],
                           "nodes": [{"op": "identity", "inputs": ["x"], "outputs": ["y"]}], "outputs": ["y"]})
    x = np.array([0, 1, 0, 1, 1]).astype(numpy)
    found = graph.run(x, target="wse2")["y"]
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x)


def test_pictures_and_figures():
    graph, _ = two_layers()
    assert graph.svg().startswith("<svg") and graph._repr_svg_() == graph.svg()
    assert graph.facts()["parameters"] == 56 and graph.facts(fuse=True)["groups"]
    assert tessera.Graph.make("bert-base", layers=1, sequence=8).facts()["ops"]["layer_norm"] > 1


def test_layouts_are_carried_and_moves_are_stated():
    graph, _ = two_layers()
    found = graph.propagate({"x": "pyflame.RowPartition(4)"})
    assert [node.legal for node in found.nodes] == [True, True, True] and not found.moves
    assert found.tensors["y"] == "tensor<4x8xf32, pyflame.RowPartition(4)>"
    split = graph.propagate({"x": "pyflame.RowPartition(4)", "w": "pyflame.ColPartition(4)"})
    first = split.nodes[0]
    assert first.legal is False and first.reason and first.moves
    assert split.moves[0][0] == "matmul_0" and not split.stopped
    nothing = graph.propagate({})
    assert all(node.legal is None for node in nothing.nodes) and not nothing.tensors


def test_several_outputs_propagate():
    graph = tessera.Graph({
        "tessera_graph": 1, "values": [{"name": "x", "kind": "input", "dtype": "f32", "shape": [8, 6]}],
        "nodes": [{"op": "split", "inputs": ["x"], "outputs": ["a", "b"], "attributes": {"axis": 1, "sizes": [2, 4]}}],
        "outputs": ["a", "b"]})
    found = graph.propagate({"x": "gspmd{devices=[4,1]<=[4]}"})
    assert found.tensors["b"] == "tensor<8x4xf32, gspmd{devices=[4,1]<=[4]}>"


@pytest.mark.parametrize("call,code", [
    (lambda graph: graph.run(X, X, target="wse2"), "usage"),
    (lambda graph: graph.run(X.astype("f8"), target="wse2"), "bad_dtype"),
    (lambda graph: graph.run(X[:2], target="wse2"), "shape_mismatch"),
    (lambda graph: graph.run(X, target="wse9"), "unknown_target"),
    (lambda graph: graph.run(target="wse2"), None),
    (lambda graph: graph.value("z"), "unknown_name"),
    (lambda graph: tessera.Graph(graph.document, {"x": X}), "usage"),
    (lambda graph: tessera.Graph({**graph.document, "outputs": ["z"]}), None),
    (lambda graph: tessera.Graph("{"), None),
    (lambda graph: tessera.Graph.make("gpt9"), None)])
def test_errors(call, code):
    graph, _ = two_layers()
    with pytest.raises(tessera.TesseraError) as caught:
        call(graph)
    assert code is None or caught.value.code == code
