# SPDX-License-Identifier: Apache-2.0
"""Makers of tensors from numbers: what they make is what parse() reads from the text."""

import numpy as np
import pytest

import tessera
from tessera import (cute, dtensor, gspmd, metal, metal_today, morello, native, onednn, pyflame, spyre, strided, ttnn,
                     xla)

MADE = [
    (lambda: native.make((4, 6), "f32", ["{d0} / (1 -> mem*6)", "{d1} / (1 -> mem)"], options=["slots=30"]),
     "tensor<4x6xf32, native<{d0} / (1 -> mem*6), {d1} / (1 -> mem), slots=30>>"),
    (lambda: native.view((4, 6), "f32", ["{d0} / (1 -> none)", "{d1} / (1 -> mem)"]),
     "tensor<4x6xf32, native.view<{d0} / (1 -> none), {d1} / (1 -> mem)>>"),
    (lambda: native.pieces((5,), "f32", [([(0, 3)], ["{d0} / (2 -> m1, 1 -> mem)"], ["fixed(m0=0)"]),
                                         ([slice(3, 5)], ["{d0} / (1 -> m1)"], ["fixed(m0=1)"])], mesh=[2, 2]),
     "tensor<5xf32, native.pieces<[0:3] native<mesh=[2, 2], {d0} / (2 -> m1, 1 -> mem), fixed(m0=0)>, "
     "[3:5] native<mesh=[2, 2], {d0} / (1 -> m1), fixed(m0=1)>>>"),
    (lambda: strided.strides((4, 6), "f32", (1, -4), 20), "tensor<4x6xf32, strided<[1, -4], offset: 20>>"),
    (lambda: strided.row_major((), "f32"), "tensor<f32, strided<[]>>"),
    (lambda: strided.column_major((2, 3, 4), "i8"), "tensor<2x3x4xi8, strided<[1, 2, 6]>>"),
    (lambda: pyflame.single_pe((4, 6), "f32", origin=(2, 3)), "tensor<4x6xf32, pyflame.SinglePE(origin=(2, 3))>"),
    (lambda: pyflame.rows((8, 6), "f32", 4), "tensor<8x6xf32, pyflame.RowPartition(4)>"),
    (lambda: pyflame.columns((8, 6), "f32", 2, dim_to_pe=[1, -1]),
     "tensor<8x6xf32, pyflame.ColPartition(2, dim_to_pe=[1, -1])>"),
    (lambda: pyflame.grid((8, 6), "f32", 2, 2, dim_to_pe=[-1, (0, 1)]),
     "tensor<8x6xf32, pyflame.Grid(2, 2, dim_to_pe=[-1, [0, 1]])>"),
    (lambda: pyflame.grid((8, 6), "f32", 4, 2, dim_to_pe=[0, -1], partial={1: "sum"}),
     "tensor<8x6xf32, pyflame.Grid(4, 2, dim_to_pe=[0, -1], partial=[1:sum])>"),
    (lambda: pyflame.block_cyclic((8, 8), "f32", 2, 2, 2, 2), "tensor<8x8xf32, pyflame.BlockCyclic(2, 2, 2, 2)>"),
    (lambda: spyre.device((128, 256, 512), "f16", (256, 8, 128, 64), dim_map=(1, 2, 0, 2)),
     "tensor<128x256x512xf16, spyre<device_size=[256, 8, 128, 64], dim_map=[1, 2, 0, 2]>>"),
    (lambda: pyflame.custom((4, 6), "f32", 2, 1, [(3, 4), (1, 2)]),
     "tensor<4x6xf32, pyflame.Custom(2, 1, [(3, 4), (1, 2)])>"),
    (lambda: spyre.default((512, 240), "f16", dim_order=(1, 0), sparse=True, era="document"),
     "tensor<512x240xf16, spyre.default(dim_order=[1, 0], sparse=true, era=document)>"),
    (lambda: spyre.stick_dim((8, 512, 256), "f16", -2), "tensor<8x512x256xf16, spyre.default(dim_order=[0, 2, 1])>"),
    (lambda: metal.make((53, 63), "f32", (3, 2)),
     "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, "
     "memref<18x32xf32, #tt.memory_space<l1>>>>"),
    (lambda: metal_today.make((53, 63), "f32", (3, 2), (32, 32), alignments=(96, 64)),
     "tensor<3x2x32x32xf32, #ttcore.metal_layout<logical_shape = 53x63, dim_alignments = 96x64, "
     "collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, l1, sharded>>"),
    (lambda: ttnn.make((64, 128), "bf16"),
     "tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!tt.tile<32x32, bf16>, "
     "#ttnn.buffer_type<dram>>, <interleaved>>>"),
    (lambda: ttnn.terms((53, 63), "f32", (3339, 63, 1), (18, 32), tile_shape=(32, 32)),
     "tensor<53x63xf32, ttnn<stride=[3339, 63, 1], shard_shape=[18, 32], tile_shape=[32, 32]>>"),
    (lambda: morello.make((6, 8), "f32", [1, 0, (1, morello.odd_even(4))]),
     "tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, OddEven(4))]>"),
    (lambda: morello.row_major((6, 8), "f32"), "tensor<6x8xf32, morello.row_major()>"),
    (lambda: morello.col_major((6, 8), "f32"), "tensor<6x8xf32, morello.col_major()>"),
    (lambda: morello.nhwc((2, 3, 4, 5), "f32"), "tensor<2x3x4x5xf32, morello.nhwc()>"),
    (lambda: xla.make((3, 5), "f32", (0, 1), [(2, 2)], space=1), "tensor<3x5xf32, xla{0,1:T(2,2)S(1)}>"),
    (lambda: onednn.make((2, 33, 7, 7), "f32", "aBcd16b"), "tensor<2x33x7x7xf32, onednn.aBcd16b>"),
    (lambda: cute.make((8, 8), "f32", ((2, 4), 8), ((1, 16), 2)), "tensor<8x8xf32, cute<((2,4),8):((1,16),2)>>"),
    (lambda: cute.make((4, 8), "f32", (4, 8)), "tensor<4x8xf32, cute<(4,8):(1,4)>>"),
    (lambda: gspmd.make((8, 6), "f32", (4, 2), devices=[7, 6, 5, 4, 3, 2, 1, 0]),
     "tensor<8x6xf32, gspmd{devices=[4,2]7,6,5,4,3,2,1,0}>"),
    (lambda: gspmd.make((8, 6), "f32", (2, 1, 4), iota=(4, 2), transpose=(1, 0), replicate_last=True),
     "tensor<8x6xf32, gspmd{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}>"),
    (lambda: gspmd.make((8, 6), "f32", (2, 1, 2, 2), last=["replicated", "unreduced"]),
     "tensor<8x6xf32, gspmd{devices=[2,1,2,2]<=[8] last_tile_dims={replicated, unreduced}}>"),
    (lambda: gspmd.replicated((8,), "f32", 4), "tensor<8xf32, gspmd{replicated num_partitions=4}>"),
    (lambda: gspmd.unreduced((8,), "f32", 4), "tensor<8xf32, gspmd{unreduced num_partitions=4}>"),
    (lambda: gspmd.maximal((8,), "f32", 2, 4), "tensor<8xf32, gspmd{maximal device=2 num_partitions=4}>"),
    (lambda: dtensor.make((5, 6), "f32", (2, 2), [0, "Partial(sum)"]),
     "tensor<5x6xf32, dtensor<mesh=[2,2], [Shard(0), Partial(sum)]>>"),
    (lambda: dtensor.make((8, 6), "f32", (2, 2), ["_StridedShard(dim=0, sf=2)", "Shard(dim=0)"]),
     "tensor<8x6xf32, dtensor<mesh=[2,2], [_StridedShard(0, split_factor=2), Shard(0)]>>"),
]


@pytest.mark.parametrize("make,text", MADE, ids=[text[:60] for _, text in MADE])
def test_makers(make, text):
    made = make()
    assert made == tessera.parse(text)
    assert made.diff(text).equal
    assert tessera.parse(str(made)) == made


class Type:
    """As types of torch print themselves."""

    def __str__(self):
        return "torch.bfloat16"


def test_types_are_taken_in_every_form():
    for given, name in ((np.float32, "f32"), (np.dtype("u2"), "ui16"), ("int64", "i64"), (bool, "i1"), (Type(), "bf16"),
                        ("i8", "i8")):
        assert strided.row_major((4, 6), given).dtype == name
        assert pyflame.grid((4, 6), given, 2, 2) == pyflame.grid((4, 6), name, 2, 2)
    assert metal.make((64, 64), np.float32, (1, 1), tile=(32, 32)) == metal.make((64, 64), "f32", (1, 1), tile=(32, 32))
    assert ttnn.make((64, 64), np.float32) == ttnn.make((64, 64), "f32")
    assert spyre.elements_per_stick(np.float16) == 64
    with pytest.raises(tessera.TesseraError):
        strided.row_major((4, 6), np.complex64)


def test_every_notation_has_a_maker():
    assert {tessera.parse(text).notation for _, text in MADE} == set(tessera.notation_names)
