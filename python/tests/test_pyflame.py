# SPDX-License-Identifier: Apache-2.0
"""The package pyflame: PyFlame's document, and lazy tensors against NumPy."""

import gc
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import pyflame as pf
import tessera
from pyflame.layout import Layout, get_tile_shape, memory_usage_per_pe, to_layout

ROOT = Path(__file__).resolve().parents[2]
TITLE = "## 9. Example: Memory-Aware Model Design"
SMALL = dict(target=str(Path(__file__).parent / "small.json"))


def documents():
    return [path for path in sorted((ROOT.parent / "shared" / "seeds").glob("*.txt"))
            if TITLE in path.read_text(encoding="utf-8")]


@pytest.mark.skipif(not documents(), reason="PyFlame's document is not in ../shared/seeds")
def test_the_program_of_the_document_runs_unchanged(capsys):
    section = documents()[0].read_text(encoding="utf-8").split(TITLE)[1].split("\n## ")[0]
    program = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    names = {"__name__": "document"}
    exec(compile(program, "document", "exec"), names)
    printed = capsys.readouterr().out
    assert "Weight layout: Grid(11, 12)" in printed and "PEs used: 132" in printed
    assert printed.rstrip().endswith("Output shape: (32, 10)")
    result, x = names["result"], names["x"]
    assert isinstance(result, np.ndarray) and result.dtype == np.float32 and (result >= 0).all() and result.any()
    # Its layers again, from the same weights, in NumPy.
    hidden = pf.eval(x).astype(np.float64)
    for layer in ("layer1", "layer2", "layer3"):
        cells = dict(zip(names[layer].__code__.co_freevars, names[layer].__closure__))
        weights = pf.eval(cells["weights"].cell_contents).astype(np.float64)
        hidden = np.maximum(hidden @ weights + pf.eval(cells["bias"].cell_contents), 0)
    np.testing.assert_allclose(result, hidden, rtol=1e-4, atol=1e-2)


def test_the_example_runs():
    done = subprocess.run([sys.executable, ROOT / "examples" / "mlp.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "agrees with NumPy" in done.stdout


# Layouts.

LAYOUTS = [Layout.single_pe(), Layout.row_partition(4), Layout.col_partition(3), Layout.grid(3, 2), Layout.grid(8, 7),
           Layout.block_cyclic(2, 3, 2, 4), Layout.grid(2, 3).replace(dim_to_pe=[1, 0]),
           Layout.grid(2, 3).replace(dim_to_pe=[-1, (0, 1)]),
           Layout.grid(2, 2).replace(origin=(3, 5)), Layout.grid(3, 1).replace(replicate=[1]),
           Layout.custom(1, 2, [(4, 4), (0, 1)])]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("shape", [(53, 63), (5, 6), (1, 1), (3, 0)])
def test_memory_is_that_of_a_loop_over_all_pes(layout, shape):
    tensor = pf.zeros(shape, "float16", layout)
    if layout.origin == (0, 0) and not str(layout).startswith("Custom"):
        tiles = [math.prod(layout.tile_shape((r, c), shape)) * 2
                 for r in range(layout.pe_rows) for c in range(layout.pe_cols)]
        assert memory_usage_per_pe(tensor) == {"min": min(tiles), "max": max(tiles), "total": sum(tiles),
                                               "average": sum(tiles) / len(tiles)}
        assert get_tile_shape(tensor) == layout.tile_shape((0, 0), shape)
    assert layout.memory_per_pe(shape, 2) >= memory_usage_per_pe(tensor)["max"]


def test_a_whole_wafer_is_asked_by_classes_of_pes():
    usage = memory_usage_per_pe(pf.zeros([8192, 8192], layout=Layout.grid(994, 750)))
    assert usage["total"] == 8192 * 8192 * 4 and usage["max"] == 9 * 11 * 4 and usage["min"] == 0


def test_layouts_are_equal_as_functions():
    assert Layout.grid(4, 1) == Layout.row_partition(4) and Layout.grid(1, 1) == Layout.single_pe()
    assert Layout.grid(2, 2) != Layout.grid(2, 1) and Layout.grid(2, 2) != "Grid(2, 2)"
    assert str(Layout.grid(3, 2)) == repr(Layout.grid(3, 2)) == "Grid(3, 2)"
    x = pf.zeros([8, 8], layout=Layout.grid(2, 1))
    assert to_layout(x, Layout.row_partition(2)) is x
    moved = to_layout(x, Layout.grid(2, 2))
    assert moved is not x and moved.layout == Layout.grid(2, 2)
    np.testing.assert_array_equal(pf.eval(moved), np.zeros((8, 8)))


def test_layouts_are_taken_in_every_form():
    text = "pyflame.Grid(2, 3)"
    for layout in (text, str(Layout.grid(2, 3)), Layout.grid(2, 3), tessera.parse(f"tensor<4x6xf32, {text}>")):
        x = pf.tensor(np.arange(24, dtype=np.float32).reshape(4, 6), layout=layout)
        assert get_tile_shape(x, (1, 2)) == (2, 2) and memory_usage_per_pe(x)["max"] == 16
        np.testing.assert_array_equal(pf.eval(x + x), 2 * np.arange(24).reshape(4, 6))


@pytest.mark.parametrize("shape", [(181, 181), (1048, 1024), (16384, 2), (65536, 16), (100000, 100), (512, 64, 64),
                                   (8388608,), (64, 3, 224, 224), (2, 3, 3, 300, 300), (7,), (0, 4), ()])
def test_auto_layouts_fit(shape):
    for budget in (None, 32 * 1024, 1000):
        layout = Layout.auto(shape, max_memory_per_pe=budget)
        assert layout.memory_per_pe(shape, 4) <= (budget or 36 * 1024)
        assert layout.pe_rows <= 994 and layout.pe_cols <= 750
        # Every element is on a PE, once.
        usage = memory_usage_per_pe(pf.zeros(shape, layout=layout))
        assert usage["total"] == 4 * math.prod(shape) and usage["max"] <= (budget or 36 * 1024)
    assert get_tile_shape(pf.zeros(shape)) == Layout.auto(shape).tile_shape((0, 0), shape)


def test_auto_layouts_take_the_type_the_machine_and_the_budget():
    assert Layout.auto([128, 144], "float16") == Layout.single_pe() != Layout.auto([128, 144])
    assert Layout.auto([64, 64], max_memory_per_pe=4096) == Layout.grid(2, 2)
    assert 4 <= Layout.auto([64, 1024], **SMALL).total_pes() <= 6
    with pytest.raises(tessera.TesseraError) as caught:
        Layout.auto([64, 64], max_memory_per_pe=-1)
    assert caught.value.code == "out_of_range"


def test_weights_in_auto_layouts_are_multiplied():
    """They leave room for what is multiplied with them."""
    x, shape = pf.randn([16, 300], seed=1), [300, 200]
    w = pf.randn(shape, layout=Layout.auto(shape, max_memory_per_pe=16 * 1024), seed=2)
    assert w.layout.total_pes() > 1
    np.testing.assert_allclose(pf.eval(x @ w), pf.eval(x) @ pf.eval(w), rtol=1e-4, atol=1e-4)


def test_what_fits_no_pe_is_refused():
    with pytest.raises(tessera.TesseraError) as caught:
        Layout.auto([10 ** 10])
    assert caught.value.code == "does_not_fit"


# Element types.

def test_types_have_names_and_members():
    assert {one.value for one in pf.DType} == set(tessera.dtypes)
    for one in pf.DType:
        assert pf.DType(str(one)) is pf.DType(one.value) is pf.DType(one) is getattr(pf, one.name)
        if one.numpy is not None:
            assert one.numpy.itemsize * 8 == one.bits
    assert pf.DType("bool") is pf.DType(bool) is pf.DType(np.bool_) is pf.bool_
    assert pf.DType(np.dtype("u2")) is pf.uint16 and pf.DType("u8") is pf.uint8
    for wrong in ("float33", object, 3.5):
        with pytest.raises(tessera.TesseraError):
            pf.DType(wrong)


@pytest.mark.parametrize("dtype", [one for one in pf.DType if one.bits is not None], ids=str)
def test_every_type_is_computed(dtype):
    x = pf.tensor([0, 1, 1, 0, 1], dtype)
    y = pf.apply("identity", x)
    bits, wanted = pf.eval(y), pf.eval(x)
    np.testing.assert_array_equal(bits, wanted)
    np.testing.assert_array_equal(y.cast("float32").numpy(), [0, 1, 1, 0, 1])
    if dtype.numpy is not None and bits.dtype.kind != "u":
        assert bits.dtype == dtype.numpy


def test_types_are_not_converted_silently():
    x, half, whole = pf.ones([2]), pf.ones([2], "float16"), pf.ones([2], "int32")
    for wrong in (lambda: x + half, lambda: whole / 2, lambda: whole + 0.5, lambda: x @ whole):
        with pytest.raises(tessera.TesseraError) as caught:
            wrong()
        assert caught.value.code == "bad_dtype"
    np.testing.assert_array_equal(pf.eval(x + half.cast("float32")), [2, 2])
    assert x.cast(pf.float32) is x


# Expressions.

def test_errors_are_raised_by_the_line_that_is_wrong():
    with pytest.raises(tessera.TesseraError) as caught:
        pf.zeros([2, 3]) @ pf.zeros([4, 5])
    assert caught.value.code == "shape_mismatch"
    assert "matmul of f32[2, 3] and f32[4, 5]" in caught.value.message
    for wrong, kind in [(lambda: pf.zeros([2])[2], IndexError), (lambda: pf.zeros([2])[0, 0], IndexError),
                        (lambda: pf.zeros([2])["a"], TypeError),
                        (lambda: pf.zeros([2])[np.array([0, 1])], TypeError), (lambda: pf.zeros([2]) + "a", TypeError),
                        (lambda: pf.apply("topk", pf.zeros([2]), k=1), tessera.TesseraError),
                        (lambda: pf.apply("softmax", pf.zeros([2]), axis="x"), TypeError),
                        (lambda: pf.apply("softmax", pf.zeros([2]), axes=1), tessera.TesseraError),
                        (lambda: pf.apply("soft", pf.zeros([2])), tessera.TesseraError),
                        (lambda: pf.eval(pf.zeros([2]) + 1, planning="no"), tessera.TesseraError),
                        (lambda: pf.eval(pf.zeros([2]) + 1, target="wse9"), tessera.TesseraError),
                        (lambda: len(pf.zeros([])), TypeError), (lambda: pf.zeros([2]).item(), tessera.TesseraError)]:
        with pytest.raises(kind):
            wrong()


def test_parts_are_computed_once_and_kept():
    x = pf.tensor([1.0, 2.0])
    y = x * 2
    z = y * y + y
    done = pf.evaluate([z])
    assert done.ops == 3 and y.is_evaluated and pf.evaluate([y, z]).ops == 0
    np.testing.assert_array_equal(pf.eval([z, y])[0], [6, 20])
    assert pf.evaluate([z - 1]).ops == 1


def test_results_are_arrays_of_their_own():
    x = pf.ones([3])
    a = pf.eval(x)
    a[0] = 7
    assert pf.eval(x).tolist() == [1, 1, 1] and np.asarray(x).sum() == 3 and float(x.sum()) == 3.0


def test_random_numbers_follow_from_seeds():
    a, b = pf.randn([4], seed=3), pf.randn([4], seed=3)
    assert (pf.eval(a) == pf.eval(b)).all() and (pf.eval(pf.randn([4])) != pf.eval(pf.randn([4]))).any()
    many = pf.eval(pf.randn([200, 100], "float64", seed=1))
    assert abs(many.mean()) < 0.03 and abs(many.std() - 1) < 0.03
    pf.manual_seed(5)
    first = pf.eval(pf.randn([3]))
    pf.manual_seed(5)
    assert (pf.eval(pf.randn([3])) == first).all()


def test_arrays_come_in_without_changes():
    array = np.arange(24, dtype=np.int16).reshape(4, 6)[::2, ::-1]
    np.testing.assert_array_equal(pf.eval(pf.tensor(array)), array)
    np.testing.assert_array_equal(pf.eval(np.ones((2, 3), np.int16) @ pf.tensor(array[:, :3].T.copy())),
                                  np.ones((2, 3)) @ array[:, :3].T)
    assert pf.tensor(3).dtype is pf.int64 and pf.tensor([1.5]).dtype is pf.float32
    assert pf.tensor(np.float64(2)).dtype is pf.float64 and pf.tensor([True]).dtype is pf.bool_
    assert pf.tensor(3.0).shape == () and pf.eval(pf.tensor(3.0) + 1) == 4 and pf.zeros(3).shape == (3,)


def test_tensors_of_torch_come_in():
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(pf.eval(pf.tensor(x.T) * 2), 2 * x.T.numpy())
    weight = torch.nn.Parameter(x)
    np.testing.assert_array_equal(pf.eval(pf.tensor(weight)), x.numpy())


def test_memory_goes_back():
    gc.collect()
    x = pf.ones([1000, 1000])
    pf.eval(x)
    chain = x
    for _ in range(100_000):
        chain = chain + 1
    del chain
    gc.collect()


def test_a_graph_of_what_is_left():
    x, w = pf.randn([4, 6], seed=1), pf.randn([6, 2], seed=2)
    y = pf.softmax(pf.relu(x @ w))
    graph = pf.graph_of(y, "mine")
    assert graph.name == "mine" and [node["op"] for node in graph.nodes] == ["matmul", "relu", "softmax"]
    np.testing.assert_allclose(graph.run(target="wse2")[0], pf.eval(y), rtol=1e-6)


def test_where_it_does_not_fit_it_is_planned_or_refused():
    x = pf.ones([64, 64])
    one = Layout.single_pe()
    y = (x + 1).to_layout(one)
    assert pf.evaluate([y], **SMALL).target == "small"
    z = pf.ones([300, 300], layout=one) + 1
    with pytest.raises(tessera.TesseraError) as caught:
        pf.eval(z, **SMALL)
    assert caught.value.code == "does_not_fit" and not z.is_evaluated
    planned = pf.evaluate([pf.relu(x @ x)], planning="always", **SMALL)
    assert planned.planned and planned.cycles > 0


# Random expressions against NumPy.

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3)


@st.composite
def arrays(draw, shape=None, kind=np.float64):
    shape = draw(shapes) if shape is None else shape
    count = math.prod(shape)
    numbers = draw(st.lists(st.integers(-6, 6), min_size=count, max_size=count))
    return (np.array(numbers, kind) / (2 if kind is np.float64 else 1)).astype(kind).reshape(shape)


UNARY = [(lambda x: -x, lambda x: -x), (abs, abs), (pf.relu, lambda x: np.maximum(x, 0)),
         (pf.exp, np.exp), (pf.tanh, np.tanh), (lambda x: x.T, lambda x: x.T),
         (lambda x: x.sum(0), lambda x: x.sum(0)), (lambda x: x.mean(-1, True), lambda x: x.mean(-1, keepdims=True)),
         (lambda x: x.max(), lambda x: x.max()), (lambda x: x.min((0,)), lambda x: x.min(0)),
         (lambda x: x.prod(-1), lambda x: x.prod(-1)), (lambda x: x.reshape(-1), lambda x: x.reshape(-1)),
         (lambda x: x[::2], lambda x: x[::2]), (lambda x: x[..., -1], lambda x: x[..., -1]),
         (lambda x: x[::-1, None], lambda x: x[::-1, None]), (lambda x: x[-1:0:-2], lambda x: x[-1:0:-2]),
         (lambda x: x[3:1], lambda x: x[3:1]), (lambda x: 2 - x / 4, lambda x: 2 - x / 4),
         (lambda x: pf.softmax(x, 0), lambda x: np.exp(x) / np.exp(x).sum(0)),
         (lambda x: pf.gelu(x), lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2),
         (lambda x: pf.layer_norm(x, axis=0),
          lambda x: (x - x.mean()) / np.sqrt(x.var() + 1e-5))]
BINARY = [(lambda a, b: a + b, np.add), (lambda a, b: a - b, np.subtract), (lambda a, b: a * b, np.multiply),
          (lambda a, b: a / (b * b + 1), lambda a, b: a / (b * b + 1)), (pf.maximum, np.maximum),
          (pf.minimum, np.minimum), (lambda a, b: a < b, np.less), (lambda a, b: a >= b, np.greater_equal),
          (lambda a, b: a == b, np.equal), (lambda a, b: a != b, np.not_equal),
          (lambda a, b: pf.where(a > b, a, 1), lambda a, b: np.where(a > b, a, 1)),
          (lambda a, b: pf.concat([a, b], -1), lambda a, b: np.concatenate([a, b], -1)),
          (lambda a, b: a.T @ b, lambda a, b: a.T @ b if a.ndim < 3 else None)]


@settings(max_examples=40)
@given(st.data(), arrays(), st.booleans())
def test_functions_are_those_of_numpy(data, a, spread):
    b = data.draw(arrays(list(a.shape)))
    layout = Layout.grid(2, 1) if spread else None
    x, y = pf.tensor(a, layout=layout), pf.tensor(b)
    made, wanted = [], []
    for mine, theirs in UNARY:
        made.append(mine(x))
        wanted.append(theirs(a))
    for mine, theirs in BINARY:
        expected = theirs(a, b)
        if expected is not None:
            made.append(mine(x, y))
            wanted.append(expected)
    for found, expected in zip(pf.eval(made, checked=True, **SMALL), wanted):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=30)
@given(st.data(), arrays(kind=np.int64))
def test_indexing_is_that_of_numpy(data, a):
    parts = []
    for extent in a.shape[:data.draw(st.integers(1, a.ndim))]:
        number = st.one_of(st.none(), st.integers(-7, 7))
        step = st.one_of(st.none(), st.integers(-3, 3).filter(bool))
        parts.append(data.draw(st.one_of(st.integers(-extent, extent - 1), st.builds(slice, number, number, step))))
    if data.draw(st.booleans()):
        parts.insert(data.draw(st.integers(0, len(parts))), None)
    if data.draw(st.booleans()):
        parts.append(...)
    key = tuple(parts)
    np.testing.assert_array_equal(pf.eval(pf.tensor(a)[key], **SMALL), a[key])
