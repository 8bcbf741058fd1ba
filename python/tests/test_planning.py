# SPDX-License-Identifier: Apache-2.0
"""Plans of whole models."""

import json

import numpy as np
import pytest

import tessera
from test_graphs import X, expected, two_layers

FEW = {"candidates": 3, "seconds": 1}


@pytest.fixture(scope="module")
def planned():
    graph, data = two_layers()
    return graph, data, tessera.plan(graph, "wse2", **FEW)


def test_a_plan_has_layouts_prices_and_bounds(planned):
    graph, _, plan = planned
    assert set(plan.layouts) == {one.name for one in graph.values}
    for name, text in plan.layouts.items():
        assert tessera.parse(text).shape == graph.value(name).shape
    assert [op["op"] for op in plan.ops] == ["matmul", "add", "relu"]
    parts = sum(op["bring_cycles"] + op["compute_cycles"] + op["settle_cycles"] for op in plan.ops)
    assert 0 < parts <= plan.cycles and plan.lower_bound_cycles <= plan.cycles and 0 <= plan.gap <= 1
    assert plan.seconds > 0 and plan.peak_bytes["sram"] <= 36 * 1024
    assert set(plan.baselines) == {"max_grid", "each_op_alone", "greedy_forward"}
    assert plan.figures["fits"] and plan.figures["plan_seconds"] > 0 and "cycles" in repr(plan)
    assert plan.check() == []


def test_a_graph_runs_with_its_plan(planned):
    graph, data, plan = planned
    done = graph.run(X, plan=plan, check=True)
    assert done.agrees and done.cycles == pytest.approx(plan.cycles)
    for found, wanted in zip(done, expected(data)):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_files(planned, tmp_path):
    graph, _, plan = planned
    plan.save(tmp_path / "plan.json")
    again = tessera.ModelPlan.read(tmp_path / "plan.json", graph)
    assert again.target == "wse2" and again.document == plan.document and again.check() == []
    assert graph.run(X, plan=again).cycles == pytest.approx(plan.cycles)


def test_a_wrong_plan_is_found(planned):
    graph, _, plan = planned
    document = json.loads(plan.json)
    document["cycles"] *= 2
    findings = tessera.ModelPlan(graph, "wse2", json.dumps(document)).check()
    assert findings and findings[0].flaw == "wrong_sum" and findings[0].message


def test_pins_are_kept():
    graph, _ = two_layers()
    pin = "pyflame.Grid(2, 3)"
    plan = tessera.plan(graph, target="wse2", pins={"x": pin}, **FEW)
    assert tessera.parse(plan.layouts["x"]).diff(f"tensor<4x6xf32, {pin}>").equal


def test_relayouts_are_planned_as_before():
    plan = tessera.plan("tensor<4x6xf32, strided<[6, 1]>>", "tensor<4x6xf32, strided<[1, 4]>>")
    assert isinstance(plan, tessera.Plan)


@pytest.mark.parametrize("call,code", [
    (lambda graph, plan: tessera.plan(graph, "wse9"), "unknown_target"),
    (lambda graph, plan: tessera.plan(graph, "wse2", pins={"nobody": "pyflame.Grid(1, 1)"}), "unknown_name"),
    (lambda graph, plan: tessera.plan(graph, "wse2", pins={"x": "pyflame.Grid(1000, 1000)"}, **FEW), None),
    (lambda graph, plan: tessera.plan(graph, "wse2", objective="beauty"), "usage"),
    (lambda graph, plan: graph.run(X, plan=plan, layouts={"x": "pyflame.Grid(1, 1)"}), "usage"),
    (lambda graph, plan: graph.run(X), "usage"),
    (lambda graph, plan: tessera.Graph.make("mlp", batch_size=1).run(plan=plan, seed=1), "contradiction"),
    (lambda graph, plan: graph.run(X, plan=plan, target="wse3"), "contradiction")])
def test_errors(planned, call, code):
    graph, _, plan = planned
    with pytest.raises(tessera.TesseraError) as caught:
        call(graph, plan)
    assert code is None or caught.value.code == code


def test_what_does_not_fit_says_what_is_missing():
    graph = tessera.Graph({
        "tessera_graph": 1,
        "values": [{"name": "x", "kind": "input", "dtype": "f32", "shape": [300, 300]}],
        "nodes": [{"op": "relu", "inputs": ["x"], "outputs": ["y"]}], "outputs": ["y"]})
    with pytest.raises(tessera.TesseraError) as caught:
        tessera.plan(graph, "wse2", pins={"x": "pyflame.SinglePE()"}, **FEW)
    assert caught.value.code == "does_not_fit" and "360000 bytes" in caught.value.message
