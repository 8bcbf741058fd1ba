# SPDX-License-Identifier: Apache-2.0
"""Errors as exceptions, and tensors as Python objects."""

import copy
import pickle

import pytest

import tessera


def error_of(call, *arguments, **named):
    with pytest.raises(tessera.TesseraError) as caught:
        call(*arguments, **named)
    return caught.value


def test_errors_have_their_parts():
    text = "tensor<53x63xf32, pyflame.Gird(3, 2)>"
    error = error_of(tessera.parse, text)
    assert error.code == "unknown_name" and error.source == text
    assert text[slice(*error.span)].startswith("pyflame.Gird") or text[slice(*error.span)].startswith("Gird")
    assert "Grid" in error.help
    lines = str(error).splitlines()
    marked = next(i for i, line in enumerate(lines) if text in line)
    assert lines[marked + 1].index("^") == lines[marked].index("Gird") or \
        lines[marked + 1].index("^") == lines[marked].index("pyflame")
    assert isinstance(error, ValueError)


def test_corrections_and_reasons():
    error = error_of(tessera.parse, "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, "
                     "memref<17x32xf32, #tt.memory_space<l1>>>>")
    assert error.code == "contradiction" and error.correction
    error = error_of(tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>").convert, "strided")
    assert error.code == "not_supported" and error.reasons and "name" in error.reasons[0]


@pytest.mark.parametrize("text", ["", "tensor<", "tensor<4xf32, nothing>", "x" * 100000, "tensor<4xf99, strided<[1]>>",
                                  "tensor<99999999999999999999xf32, strided<[1]>>", "tensor<4xf32, strided<[1]>>\0",
                                  "tensor<\u00e9xf32, strided<[1]>>", "tensor<4xf32, strided<[" + "1, " * 200 + "1]>>"])
def test_texts_that_are_wrong(text):
    error = error_of(tessera.parse, text)
    assert error.code in tessera.error_codes and error.message and str(error)


def test_errors_can_be_pickled():
    error = error_of(tessera.parse, "tensor<4xf32, strided<[x]>>")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    assert (again.code, again.span, again.help) == (error.code, error.span, error.help)


def test_index_errors_are_index_errors():
    tensor = tessera.parse("tensor<4xf32, strided<[1]>>")
    with pytest.raises(IndexError):
        tensor.locate((4,))
    with pytest.raises(IndexError):
        tensor.element_at((), 4)
    with pytest.raises(IndexError):
        tensor[7]


@pytest.mark.parametrize("value", [None, 5, b"tensor<4xf32, strided<[1]>>", object()])
def test_tensors_are_texts_or_tensors(value):
    for call in [tessera.empty, tessera.parse, lambda v: tessera.plan(v, v), lambda v: tessera.reshard(v, v)]:
        with pytest.raises(TypeError):
            call(value)


def test_tensors_are_values():
    text = "tensor<53x63xf32, pyflame.Grid(3, 2)>"
    a, b = tessera.parse(text), tessera.parse(text)
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != tessera.parse("tensor<53x63xf32, pyflame.Grid(2, 3)>") and a != text
    assert eval(repr(a)) == a
    assert pickle.loads(pickle.dumps(a)) == a and copy.deepcopy(a) == a
    with pytest.raises(AttributeError):
        a.shape = (1, 2)


def test_views_and_pieces_say_what_they_are():
    view = tessera.parse("tensor<2x3xf32, strided<[0, 1]>>")
    assert view.kind == "view" and view.elements_at((), 1) == [(0, 1), (1, 1)]
    assert error_of(view.padding).code == "not_supported"
    assert error_of(view.element_at, (), 1).code == "not_injective"
    pieces = tessera.parse("tensor<5x6xf32, dtensor<mesh=[2,2], [Shard(0), Shard(0)]>>")
    assert pieces.kind == "pieces"
    assert error_of(pieces.place_classes).code == "not_supported"


def test_verbs_show_where_too():
    wrong = "tensor<4x6xf32, pyflame.Gird(2, 2)>"
    for call in (lambda: tessera.fits(wrong, "wse2"), lambda: tessera.propagate("relu", [wrong]),
                 lambda: tessera.propagate("matmul", ["4x6xf32", "6x4xf32"], [wrong])):
        error = error_of(call)
        assert error.source[slice(*error.span)] == "Gird" and "^^^^" in str(error)


def test_tensors_show_themselves():
    tensor = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
    assert "18 rows" in tensor.show() or "pieces of 18" in tensor.show()
    assert tensor.facts()["padding"] == {"grid": 117}
    picture = tensor._repr_svg_()
    assert picture.startswith("<svg") and picture.count('class="place ') == 6
    assert picture.count('class="element ') == 27 * 32  # every second row and column
    large = tessera.pyflame.grid((8192, 8192), "f32", 994, 750)._repr_svg_()
    assert large.count('class="place ') <= 32 * 32
    assert tessera.parse("tensor<4xf32, strided<[1]>>")._repr_svg_().count('class="slot ') == 4


def test_diff_is_about_functions():
    tensor = tessera.parse("tensor<8x8xf32, gspmd{devices=[2,2]<=[4]}>")
    same = tensor.diff("tensor<8x8xf32, dtensor<mesh=[2,2], [Shard(0), Shard(1)]>>")
    assert same and same.moved_elements == 0 and same.first is None
    other = tensor.diff("tensor<8x8xf32, pyflame.Grid(4, 1)>")
    assert not other and other.first == (0, 4) and other.stays_on_place is False
    assert other._repr_svg_().startswith("<svg") and pickle.loads(pickle.dumps(other)) == other
    a = tessera.parse("tensor<4x6xf32, pyflame.Grid(4, 1)>")
    assert a.function_hash() == tessera.parse("tensor<4x6xf32, pyflame.RowPartition(4)>").function_hash()
