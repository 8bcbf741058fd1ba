# SPDX-License-Identifier: Apache-2.0
"""Where elements are, against the rules of the notations written with NumPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tessera

NOTATIONS = [
    "tensor<4x6xf32, strided<[6, 1]>>",
    "tensor<53x63xf32, pyflame.Grid(3, 2)>",
    "tensor<9x7xf32, pyflame.BlockCyclic(2, 2, 2, 3)>",
    "tensor<8x6xf32, pyflame.Grid(2, 2, replicate=[1])>",
    "tensor<5x100xf16, spyre<device_size=[2, 5, 64], dim_map=[1, 0, 1]>>",
    "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<1x1x!tt.tile<32x32, f32>, "
    "#tt.memory_space<l1>>>>",
    "tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>",
    "tensor<3x5xf32, xla{1,0:T(2,2)}>",
    "tensor<2x5x2x2xf32, onednn.nChw4c>",
    "tensor<8x8xf32, cute<((2,4),8):((1,16),2)>>",
    "tensor<5x6xf32, gspmd{devices=[2,2]0,2,1,3}>",
    "tensor<8xf32, gspmd{devices=[2,3]2,0,3,1,5,4 last_tile_dim_replicate}>",
    "tensor<2x5xf32, dtensor<mesh=[2], [Shard(1)]>>",
    "tensor<5x6xf32, dtensor<mesh=[2,2], [Shard(0), Shard(0)]>>",
]


def all_indices(tensor):
    return np.array(list(np.ndindex(*tensor.shape)), dtype=np.int64)


@pytest.mark.parametrize("text", NOTATIONS)
def test_many_are_the_single_ones(text):
    tensor = tessera.parse(text)
    indices = all_indices(tensor)
    where = tensor.locate(indices)
    for index, place, slot in zip(indices, where.places, where.slots):
        one = tensor.locate(tuple(index))
        assert one.slot == slot
        # Where there are copies, the first in row-major order of names may be another one of them.
        assert np.unravel_index(place, tensor.mesh or (1,)) in (one.places if tensor.mesh else [(0,)])
        for holder in one.places:
            assert tuple(index) in tensor.elements_at(holder, one.slot)


@pytest.mark.parametrize("text", NOTATIONS)
def test_slots_hold_each_element_once(text):
    tensor = tessera.parse(text)
    held = {}
    padding = 0
    for place in np.ndindex(*tensor.mesh):
        for slot in range(tensor.slots):
            content = tensor.element_at(place, slot)
            if isinstance(content, tessera.Padding):
                assert content.cause in tessera.padding_causes
                padding += 1
            else:
                held.setdefault(content, []).append((place, slot))
    assert set(held) == set(np.ndindex(*tensor.shape))
    for index, slots in held.items():
        location = tensor.locate(index)
        assert sorted(slots) == sorted((place, location.slot) for place in location.places)
    if tensor.kind == "layout":
        assert sum(tensor.padding().values()) == padding


@given(st.data())
def test_grid_is_ceil_division(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 40), min_size=2, max_size=3)))
    rows, columns = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    tensor = tessera.pyflame.grid(shape, "f32", rows, columns)
    tile = [-(-shape[0] // rows), -(-shape[1] // columns), *shape[2:]]
    grids = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    where = tensor.locate(tuple(grids))
    assert where.slots.shape == shape
    expected = np.ravel_multi_index([grids[0] % tile[0], grids[1] % tile[1], *grids[2:]], tile)
    np.testing.assert_array_equal(where.slots, expected)
    np.testing.assert_array_equal(where.places, grids[0] // tile[0] * columns + grids[1] // tile[1])


@given(st.data())
def test_strides_are_those_of_numpy(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=4)))
    array = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    array = array.transpose(data.draw(st.permutations(range(len(shape)))))
    key = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1, -2]))) for _ in shape)
    view = array[key]
    tensor = tessera.layout_of(view)
    assert tensor.shape == view.shape and tensor.dtype == "i32"
    base = array.transpose(np.argsort([-s for s in array.strides], kind="stable")).reshape(-1)
    low = view.min() if view.size else 0  # values count addresses
    slots = tensor.locate(tuple(np.meshgrid(*(np.arange(n) for n in view.shape), indexing="ij"))).slots
    np.testing.assert_array_equal(slots, view - low)
    assert base.size == array.size


@given(st.data())
def test_views_index_as_numpy_does(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=2, max_size=4)))
    tensor = tessera.strided.row_major(shape, "f32")
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    key = []
    for extent in shape:
        if data.draw(st.booleans()):
            key.append(data.draw(st.integers(-extent, extent - 1)))
        else:
            key.append(slice(data.draw(st.integers(0, extent - 1)), None, data.draw(st.integers(1, 3))))
    if data.draw(st.booleans()):
        key.insert(data.draw(st.integers(0, len(key))), None)
    if data.draw(st.booleans()):
        key = [*key[:-1], ...]
    key = tuple(key)
    view, expected = tensor[key], array[key]
    assert view.shape == expected.shape
    for index in np.ndindex(*expected.shape):
        assert view.locate(index).slot == expected[index]


def test_transpose_reshape_broadcast():
    array = np.arange(24).reshape(2, 3, 4)
    tensor = tessera.strided.row_major((2, 3, 4), "f32")
    for view, expected in [(tensor.T, array.T), (tensor.transpose((1, -1, 0)), array.transpose(1, 2, 0)),
                           (tensor.reshape(6, -1), array.reshape(6, 4)), (tensor.reshape((24,)), array.reshape(24)),
                           (tensor[:, :1].broadcast_to((5, 2, 3, 4)), np.broadcast_to(array[:, :1], (5, 2, 3, 4)))]:
        assert view.shape == expected.shape
        assert all(view.locate(index).slot == expected[index] for index in np.ndindex(*expected.shape))


def test_index_arrays_of_every_kind():
    tensor = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
    wanted = tensor.locate((40, 33)).slot
    assert tensor.locate([40, 33]).slot == tensor.locate(np.array([40, 33])).slot == wanted
    assert tensor.locate((np.int8(40), np.uint64(33))).slot == wanted
    for indices in [np.array([[40, 33]]), [[40, 33]], np.array([[40, 33]], np.uint8), (np.array([40]), 33),
                    ([40], [33]), np.asfortranarray(np.array([[40, 33], [1, 2]])),
                    np.array([[0, 40, 0, 33]])[:, 1::2]]:
        where = tensor.locate(indices)
        assert where.slots[0] == wanted and where.places[0] == 5
    assert tensor.locate(np.zeros((3, 4, 2), int)).slots.shape == (3, 4)
    assert tensor.locate(np.zeros((0, 2), int)).slots.shape == (0,)
    scalar = tessera.parse("tensor<f32, strided<[]>>")
    assert scalar.locate(()).slot == 0 and scalar.element_at((), 0) == ()


@pytest.mark.parametrize("index", [(53, 0), (-1, 0), (0, 63), (0,), (0, 0, 0), np.array([[0, 0], [0, 63]]),
                                   np.array([[0, 0], [-1, 3]]), np.zeros((2, 3), int), (2**62, 0)])
def test_indices_outside(index):
    tensor = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
    with pytest.raises(tessera.TesseraIndexError) as caught:
        tensor.locate(index)
    assert caught.value.code == "out_of_range"


@pytest.mark.parametrize("index", [(0.5, 0), np.array([[0.0, 1.0]]), "12", None, {1, 2}])
def test_indices_of_other_types(index):
    with pytest.raises(TypeError):
        tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>").locate(index)


def test_copies_are_listed_when_asked():
    tensor = tessera.pyflame.grid((8, 8), "f32", 994, 750, replicate=[0, 1])
    location = tensor.locate((1, 1))
    assert location.copies == 994 * 750 and location.place == (0, 0)
    assert len(location.places) == 994 * 750


@pytest.mark.parametrize("text", NOTATIONS)
def test_held_parts_are_slices(text):
    tensor = tessera.parse(text)
    holders = {index: tensor.locate(index).places for index in np.ndindex(*tensor.shape)}
    for place in np.ndindex(*tensor.mesh):
        times = np.zeros(tensor.shape, dtype=int)
        for box in tensor.held_at(place):
            times[box] += 1
        for index, places in holders.items():
            assert times[index] == (place in places), (place, index)


def test_padding_regions_are_the_padding():
    tensor = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
    empty = {(place, slot) for place in np.ndindex(*tensor.mesh) for slot in range(tensor.slots)
             if isinstance(tensor.element_at(place, slot), tessera.Padding)}
    found = [(place, slot) for region in tensor.padding_regions() for place in region.places()
             for slot in region.slots()]
    assert len(found) == len(empty) and set(found) == empty
    classes = tensor.place_classes()
    assert sorted(place for one in classes for place in one.members()) == list(np.ndindex(*tensor.mesh))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
def test_contiguous_runs(shape, data):
    strides = data.draw(st.permutations(tessera.strided.row_major(shape, "f32").strides))
    tensor = tessera.strided.strides(shape, "f32", [2 * s if data.draw(st.booleans()) else s for s in strides]) \
        if data.draw(st.booleans()) else tessera.strided.row_major(shape, "f32")
    slots = tensor.locate(tuple(np.indices(shape))).slots.reshape(-1)
    breaks = [i for i in range(1, slots.size) if slots[i] != slots[i - 1] + 1]
    expected = int(np.gcd.reduce([*breaks])) if breaks else slots.size
    assert tensor.contiguous_run() == expected
    assert tensor.is_contiguous == (not breaks)
