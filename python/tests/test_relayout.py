# SPDX-License-Identifier: Apache-2.0
"""Relayouts of arrays, against what locate() says; their memory, types and errors."""

import array as arrays
import ctypes
import mmap
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tessera


def placed(tensor, data):
    """The memory of a tensor with these elements, by locate(); other slots are 0."""
    memory = np.zeros((tensor.places, tensor.slots), data.dtype)
    for index in np.ndindex(*tensor.shape):
        location = tensor.locate(index)
        for place in location.places:
            memory[np.ravel_multi_index(place, tensor.mesh) if tensor.mesh else 0, location.slot] = data[index]
    return memory


def layouts(shape):
    return st.one_of(
        st.tuples(st.integers(1, 4), st.integers(1, 4)).map(
            lambda g: tessera.pyflame.grid(shape, "f32", *g) if len(shape) > 1 else
            tessera.strided.row_major(shape, "f32")),
        st.permutations(range(len(shape))).map(
            lambda order: tessera.xla.make(shape, "f32", order, [(2, 3)] if len(shape) > 1 else [])),
        st.just(tessera.strided.row_major(shape, "f32")), st.just(tessera.spyre.default(shape, "f32")))


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.data())
def test_every_element_moves(shape, data):
    a, b = data.draw(layouts(shape)), data.draw(layouts(shape))
    values = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    source = placed(a, values)
    made = tessera.relayout(source, b, layout=a)
    np.testing.assert_array_equal(made.reshape(b.places, b.slots), placed(b, values))
    back = tessera.plan(b, a, padding="zero")(made)
    np.testing.assert_array_equal(back.reshape(source.shape), source)


@given(st.data())
def test_arrays_as_they_lie(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    array = np.random.default_rng(2).integers(0, 1000, shape).astype(np.int64)
    array = array.transpose(data.draw(st.permutations(range(len(shape)))))
    array = array[tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1, -3]))) for _ in shape)]
    rows = tessera.strided.row_major(array.shape, "i64")
    np.testing.assert_array_equal(tessera.relayout(array, rows), array)
    # The destination, too, may be an array with strides.
    room = np.zeros(tuple(2 * n for n in array.shape), np.int64)
    out = room[tuple(slice(None, None, 2) for _ in shape)]
    tessera.plan(rows, tessera.layout_of(out), padding="leave")(np.ascontiguousarray(array), out)
    np.testing.assert_array_equal(out, array)
    assert room.sum() == array.sum()


def test_out_is_written_and_returned():
    plan = tessera.plan("tensor<4x6xf32, strided<[6, 1]>>", "tensor<4x6xf32, pyflame.Grid(2, 2)>")
    source = np.arange(24, dtype=np.float32)
    out = tessera.empty(plan.destination)
    where = out.ctypes.data
    assert plan(source, out) is out and out.ctypes.data == where
    assert plan(source, out=out) is out
    np.testing.assert_array_equal(out[1, 1], [15, 16, 17, 21, 22, 23])
    raw = bytearray(96)
    plan(source, raw)
    assert bytes(raw) == out.tobytes()


def test_buffers_of_every_kind():
    plan = tessera.plan("tensor<6xf32, strided<[1]>>", "tensor<6xf32, strided<[-1], offset: 5>>")
    values = np.arange(6, dtype=np.float32)
    expected = values[::-1]
    sources = [values, values.tobytes(), bytearray(values.tobytes()), memoryview(values), arrays.array("f", values),
               (ctypes.c_float * 6)(*values), values.view(np.uint8), values.reshape(2, 3)]
    for source in sources:
        np.testing.assert_array_equal(plan(source), expected)
    with mmap.mmap(-1, 24) as room:
        plan(values, room)
        np.testing.assert_array_equal(np.frombuffer(room[:], np.float32), expected)


class OnlyDlpack:
    """Hides the buffer protocol of an array."""

    def __init__(self, array, device=None):
        self.array, self.device = array, device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device or self.array.__dlpack_device__()


def test_dlpack():
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    assert str(tessera.layout_of(OnlyDlpack(values.T))) == "tensor<6x4xf32, strided<[1, 6]>>"
    out = np.zeros((6, 4), np.float32)
    assert isinstance(tessera.relayout(OnlyDlpack(values[:, ::2]), "tensor<4x3xf32, strided<[3, 1]>>"), np.ndarray)
    tessera.plan(tessera.layout_of(values.T), "tensor<6x4xf32, strided<[4, 1]>>")(OnlyDlpack(values), OnlyDlpack(out))
    np.testing.assert_array_equal(out, values.T)
    with pytest.raises(tessera.TesseraError) as caught:
        tessera.layout_of(OnlyDlpack(values, device=(2, 0)))
    assert caught.value.code == "not_supported"


def test_single_elements():
    array = np.array(3.5)
    assert str(tessera.layout_of(array)) == "tensor<f64, strided<[]>>" == str(tessera.layout_of(OnlyDlpack(array)))
    made = tessera.relayout(array, "tensor<f32, strided<[]>>")
    assert made.shape == () and made.dtype == np.float32 and made == 3.5
    out = np.array(0, np.float64)
    assert tessera.plan(tessera.layout_of(array), tessera.layout_of(out))(array, out) is out and out == 3.5
    assert tessera.layout_of(np.float32(1)).shape == () and tessera.layout_of(b"abc").shape == (3,)


def test_types_of_numpy():
    for name, dtype in [("f64", "f8"), ("f32", "f4"), ("f16", "f2"), ("i64", "i8"), ("i32", "i4"), ("i16", "i2"),
                        ("i8", "i1"), ("ui64", "u8"), ("ui32", "u4"), ("ui16", "u2"), ("ui8", "u1"), ("i1", "?")]:
        array = np.zeros((2, 3), dtype)
        tensor = tessera.layout_of(array)
        assert tensor.dtype == name
        assert tessera.empty(tensor).dtype == array.dtype and tessera.empty(tensor).shape == (2, 3)
    assert tessera.empty("tensor<2x3xbf16, strided<[3, 1]>>").dtype == np.uint16
    assert tessera.empty("tensor<64x64xbfp_bf8, ttnn<stride=[4096, 64, 1], shard_shape=[32, 64], "
                         "tile_shape=[32, 32]>>").shape == (2, 1, 2176)
    for array in [np.zeros(3, ">f4"), np.zeros(3, "c8"), np.zeros(3, "S4"), np.zeros(3, [("a", "f4")])]:
        with pytest.raises(tessera.TesseraError) as caught:
            tessera.layout_of(array)
        assert caught.value.code == "bad_dtype"
    swapped = np.arange(3, dtype=">f4")
    native = swapped.astype(swapped.dtype.newbyteorder("="))  # as the help says
    np.testing.assert_array_equal(tessera.relayout(native, "tensor<3xf32, strided<[1]>>"), swapped)


def test_conversions_round_as_numpy_does():
    values = np.random.default_rng(3).standard_normal((32, 32)).astype(np.float32)
    half = tessera.plan("tensor<32x32xf32, strided<[32, 1]>>", "tensor<32x32xf16, strided<[1, 32]>>")(values)
    np.testing.assert_array_equal(half.reshape(32, 32), values.T.astype(np.float16))
    large = np.full((2,), 300, np.int32)
    pair = "tensor<2xi32, strided<[1]>>", "tensor<2xui8, strided<[1]>>"
    with pytest.raises(tessera.TesseraIndexError) as caught:
        tessera.plan(*pair)(large)
    assert caught.value.reasons[0]["name"] == "number_does_not_fit"
    clipping = tessera.plan(*pair, rounding="saturate")
    assert clipping(large).tolist() == [255, 255] and clipping.clipped(large) == 2


def test_what_is_refused():
    plan = tessera.plan("tensor<4x6xf32, strided<[6, 1]>>", "tensor<4x6xf32, strided<[1, 4]>>")
    values = np.zeros((4, 6), np.float32)
    fixed = np.zeros(24, np.float32)
    fixed.flags.writeable = False
    both = np.zeros(36, np.float32)
    for source, out, code in [(np.zeros((4, 5), np.float32), None, "out_of_range"),
                              (values.astype(np.float64), None, "bad_dtype"),
                              (np.zeros((6, 4), np.float32).T, None, "not_supported"), (values, fixed, "not_supported"),
                              (values, b"\0" * 96, "not_supported"), (both[:24], both[12:], "not_supported"),
                              (values, np.zeros(23, np.float32), "out_of_range")]:
        with pytest.raises(tessera.TesseraError) as caught:
            plan(source, out)
        assert caught.value.code == code
    for source in [None, 5, [1.0] * 24, object()]:
        with pytest.raises(TypeError):
            plan(source)
    for threads in [0, -1, 100000]:
        with pytest.raises(tessera.TesseraIndexError):
            plan(values, threads=threads)
    with pytest.raises(tessera.TesseraError):
        tessera.plan("tensor<4xf32, strided<[1]>>", "tensor<5xf32, strided<[1]>>")
    with pytest.raises(tessera.TesseraError) as caught:
        tessera.plan("tensor<4xf32, strided<[1]>>", "tensor<4xf32, strided<[0]>>")
    assert caught.value.code == "not_injective"
    with pytest.raises(tessera.TesseraError) as caught:
        tessera.plan(plan.source, plan.destination, padding="zeros")
    assert caught.value.code == "unknown_name"


def test_programs():
    program = tessera.Program("tensor<53x63xf32, strided<[63, 1]>>", "tensor<53x63xf32, pyflame.Grid(3, 2)>", "zero")
    assert program.verify() == [] and program.elements == 53 * 63
    values = np.arange(53 * 63, dtype=np.float32)
    by_hand = np.zeros(program.destination_bytes // 4, np.float32)
    for elements, source, destination, loops in program.nests():
        from_, to = np.array([source]), np.array([destination])
        for extent, a, b in loops:
            from_ = np.add.outer(from_, np.arange(extent) * a)
            to = np.add.outer(to, np.arange(extent) * b)
        assert from_.size == elements
        by_hand[to] = values[from_]
    np.testing.assert_array_equal(program.plan()(values).reshape(-1), by_hand)
    assert all(":" in line for line in program.plan().describe())


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c_does_the_same(tmp_path):
    program = tessera.Program("tensor<53x63xf32, strided<[63, 1]>>", "tensor<53x63xf32, pyflame.Grid(3, 2)>", "zero")
    (tmp_path / "move.c").write_text(program.emit_c("move"))
    subprocess.run(["cc", "-std=c99", "-O1", "-shared", "-fPIC", "move.c", "-o", "move.so"], cwd=tmp_path, check=True)
    values = np.arange(53 * 63, dtype=np.float32)
    made = np.full((3, 2, 576), 7, np.float32)
    function = ctypes.CDLL(str(tmp_path / "move.so")).move
    function(values.ctypes.data_as(ctypes.c_void_p), made.ctypes.data_as(ctypes.c_void_p))
    np.testing.assert_array_equal(made, program.plan()(values))
