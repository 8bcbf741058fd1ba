# SPDX-License-Identifier: Apache-2.0
"""Reshards, memory plans, choices, propagation and machines."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tessera


def code_of(call, *arguments, **named):
    with pytest.raises(tessera.TesseraError) as caught:
        call(*arguments, **named)
    return caught.value.code


@given(st.integers(1, 12), st.integers(1, 12), *(st.integers(1, 4) for _ in range(4)))
def test_pairs_are_what_crosses(rows, columns, r0, c0, r1, c1):
    a = tessera.pyflame.grid((rows, columns), "f32", r0, c0)
    b = tessera.pyflame.grid((rows, columns), "f32", r1, c1)
    mesh = (max(r0, r1), max(c0, c1))
    move = tessera.reshard(a, b)
    crossing, staying = {}, {}
    for index in np.ndindex(rows, columns):
        pair = tuple(int(np.ravel_multi_index(t.locate(index).place, mesh)) for t in (a, b))
        kind = staying if pair[0] == pair[1] else crossing
        kind[pair] = kind.get(pair, 0) + 1
    pairs = move.pairs()
    assert dict(zip(zip(pairs.sources.tolist(), pairs.destinations.tolist()), pairs.elements.tolist())) == crossing
    assert move.bytes == 4 * sum(crossing.values()) and move.messages == len(crossing)
    assert move.pairs(messages=False, local=True).bytes.sum() == 4 * sum(staying.values())
    memory = np.zeros((rows * columns,))
    for transfer in move.transfers(local=True):
        memory[:transfer.elements] += 0  # loops have as many steps as elements
        assert int(np.prod([loop[0] for loop in transfer.loops], dtype=int)) == transfer.elements
    assert sum(t.elements for t in move.transfers(local=True)) == rows * columns
    assert len(move.transfers(local=True, limit=1)) == 1


def test_reshards_on_machines():
    move = tessera.reshard("tensor<64x64xf32, pyflame.Grid(2, 8)>", "tensor<64x64xf32, pyflame.Grid(4, 4)>", "wse2")
    assert move.cycles > 0 and move.steps and move.algorithms
    assert {"step", "seconds"} <= set(move.steps[0])
    assert repr(move).startswith("<RESHARD of") and "messages" in str(move)
    loads = move.link_loads()
    assert set(loads) == {"east", "west", "north", "south"} and loads["east"].ndim == 2
    assert code_of(tessera.reshard, move.source, move.destination, "no-such-machine") == "unknown_target"
    assert code_of(tessera.reshard, move.source, "tensor<64x63xf32, pyflame.Grid(4, 4)>") == "shape_mismatch"
    swapped = "tensor<8x1xf32, pyflame.Custom(4, 1, [(1, 0), (0, 0), (3, 0), (2, 0)])>"
    assert tessera.reshard("tensor<8x1xf32, pyflame.Grid(4, 1)>", swapped).bytes == 32
    better = tessera.reshard("tensor<8x1xf32, pyflame.Grid(4, 1)>", swapped, relabel=True)
    assert better.bytes == 0


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(0, 50), st.sampled_from([1, 4, 8])),
                min_size=1, max_size=12))
def test_memory_plans_do_not_overlap(rows):
    buffers = [tessera.Buffer(lower, lower + length, size, alignment) for lower, length, size, alignment in rows]
    plan = tessera.alloc(buffers, seconds=2)
    assert plan and plan.validate() == []
    for (i, a), (j, b) in itertools.combinations(enumerate(buffers), 2):
        if a.lower < b.upper and b.lower < a.upper and a.size and b.size:
            x, y = plan.offsets[i], plan.offsets[j]
            assert x + a.size <= y or y + b.size <= x
    ends = [offset + b.size for offset, b in zip(plan.offsets, buffers)]
    assert max(ends) == plan.peak or plan.peak == 0
    live = max(sum(b.size for b in buffers if b.lower <= t < b.upper) for t in range(31))
    assert plan.peak >= plan.lower_bound >= live


def test_memory_plans_say_when_they_do_not_fit():
    plan = tessera.alloc([(0, 2, 40), (1, 3, 40)], capacity=64)
    assert not plan and plan.outcome == "does_not_fit"
    assert plan.validate([0, 0])[0][0] == "overlap"
    both = tessera.alloc([tessera.Buffer(0, 9, 8, gaps=[(3, 6, 0, 2)]), (3, 6, 6)])
    assert both.peak == 8 and both.optimal
    alias = tessera.alloc([(0, 4, 32), tessera.Buffer(1, 6, 8, alias=0, delta=16), tessera.Buffer(0, 1, 4, offset=64)])
    assert alias.offsets[1] == alias.offsets[0] + 16 and alias.offsets[2] == 64
    assert both._repr_svg_().startswith("<svg") and str(both)
    assert code_of(tessera.alloc, [(3, 3, 8)]) == "bad_buffer"
    assert code_of(tessera.alloc, [(0, 3, 8, 0)]) == "bad_alignment"


PROBLEM = {"nodes": {"intervals": [[0, 4], [2, 6]], "costs": [[5, 1], [0, 2]], "usages": [[4, 8], [5, 1]]},
           "edges": {"nodes": [[0, 1]], "costs": [[0, 0, 3, 0]]}, "usage_limit": 10}


@given(st.data())
def test_choices_are_the_best(data):
    counts = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    number = st.integers(0, 20)
    costs = [[data.draw(number) for _ in range(n)] for n in counts]
    usages = [[data.draw(number) for _ in range(n)] for n in counts]
    edges = [(i, i + 1) for i in range(len(counts) - 1)]
    between = [[data.draw(number) for _ in range(counts[a] * counts[b])] for a, b in edges]
    limit = data.draw(st.integers(0, 60))
    choice = tessera.choose({"nodes": {"intervals": np.array([[0, 1]] * len(counts)), "costs": costs, "usages": usages},
                             "edges": {"nodes": edges, "costs": between}, "usage_limit": limit}, seconds=5)

    def cost(picked):
        if sum(u[p] for u, p in zip(usages, picked)) > limit:
            return None
        return sum(c[p] for c, p in zip(costs, picked)) + sum(
            e[picked[a] * counts[b] + picked[b]] for (a, b), e in zip(edges, between))

    allowed = [c for c in map(cost, itertools.product(*map(range, counts))) if c is not None]
    if not allowed:
        assert choice.outcome == "infeasible" and not choice
    else:
        assert choice and choice.optimal and choice.cost == min(allowed) == cost(choice.choices.tolist())


def test_choices_refuse_what_is_wrong():
    assert code_of(tessera.choose, '{"problem": {') == "syntax"
    wrong = {**PROBLEM, "nodes": {**PROBLEM["nodes"], "usages": [[4], [5, 1]]}}
    assert code_of(tessera.choose, wrong) == "bad_problem"
    with pytest.raises(TypeError):
        tessera.choose({"nodes": {"intervals": {1, 2}}})
    assert tessera.choose({"problem": PROBLEM}, rounds=50, seed=3).cost == 3


def test_propagation():
    answer = tessera.propagate("relu", ["tensor<64x64xf32, pyflame.Grid(4, 4)>"])
    assert answer["legal"] and answer["outputs"] == ["tensor<64x64xf32, pyflame.Grid(4, 4)>"]
    answer = tessera.propagate("softmax", [tessera.pyflame.grid((8, 16), "f32", 1, 4)], attributes={"axis": 1})
    assert not answer["legal"] and answer["reason"]
    assert tessera.propagate("transpose", ["tensor<4x6xf32, pyflame.Grid(2, 1)>"], attributes={"perm": [1, 0]})["legal"]
    assert code_of(tessera.propagate, "no_such_op", ["4xf32"]) == "unknown_name"


def test_machines():
    assert {"wse2", "wormhole", "spyre"} <= set(tessera.targets())
    assert tessera.target("wse2")["name"] == "wse2"
    assert code_of(tessera.target, "nothing") == "unknown_target"
    fit = tessera.fits("tensor<1024x1024xf32, pyflame.SinglePE()>", "wse2")
    assert not fit["fits"] and fit["reasons"]


def test_checks_of_mlir():
    text = ("#l1 = #tt.memory_space<l1>\n"
            "#shards = #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<17x32xf32, #l1>>\n"
            "func.func private @f(tensor<53x63xf32, #shards>)\n")
    assert [one["fix"] for one in tessera.check(text)] == ["18x32"]
    waste = ("#wide = #tt.metal_layout<(d0, d1, d2) -> (d0 * 96 + d1, d1, d2), undef, <1x1x1>, "
             "memref<768x96x32xf32, #l1>>\nfunc.func private @g(tensor<8x96x32xf32, #wide>)\n")
    assert [one["code"] for one in tessera.check(text + waste)] == ["contradiction", "waste"]
    assert tessera.check(text.replace("17x32", "18x32")) == tessera.check("") == []


def test_makers_of_spyre():
    a = tessera.spyre.default((512, 256), "f16")
    b = tessera.spyre.stick_dim((512, 256), "f16", 0)
    done = tessera.spyre.restickify(a, b)
    assert (done.kind, done.sticks_read, done.sticks_written) == ("transpose", 4 * 512, 8 * 256)
    assert tessera.spyre.elements_per_stick("f32") == 32 and tessera.spyre.covered_sticks(a) == 4 * 512
    assert tessera.spyre.spelled_out(a).diff(a)
    values = np.arange(5 * 100, dtype=np.float16).reshape(5, 100)
    t = tessera.spyre.default(values.shape, "f16")
    device = np.zeros(t.slots, np.float16)
    for nest in tessera.spyre.nests(t):
        host, there = np.array(nest.host_offset), np.array(nest.device_offset)
        for extent, h, d in zip(nest.extent, nest.host_stride, nest.device_stride):
            host = np.add.outer(host, np.arange(extent) * h)
            there = np.add.outer(there, np.arange(extent) * d)
        device[there] = values.reshape(-1)[host]
    np.testing.assert_array_equal(tessera.relayout(values, t, padding="zero").reshape(-1), device)
    assert tessera.spyre.dim_map(tessera.spyre.device((5, 100), "f16", (2, 5, 64), dim_map=(1, 0, 1))) == (1, 0, 1)


def test_makers_of_morello():
    t = tessera.morello.make((6, 8), "f32", [1, 0, (1, tessera.morello.packed(4))])
    formula = tessera.morello.expression(t).replace("/", "//")
    for d0, d1 in np.ndindex(6, 8):
        assert eval(formula, {"d0": d0, "d1": d1}) == t.locate((d0, d1)).slot
    assert tessera.morello.physical_sizes(t) == (2, 6, 4)
    assert tessera.morello.nhwc((1, 2, 3, 4), "f32").locate((0, 1, 0, 0)).slot == 1
    assert tessera.morello.make((8,), "f32", [(0, tessera.morello.odd_even(8))]).locate((1,)).slot == 4


@pytest.mark.parametrize("notation", tessera.notation_names)
def test_every_notation_has_a_module(notation):
    module = getattr(tessera, notation.replace("-", "_"))
    makers = [name for name in vars(module) if not name.startswith("_") and callable(getattr(module, name))]
    assert makers and module.__doc__
