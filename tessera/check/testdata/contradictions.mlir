// SPDX-License-Identifier: Apache-2.0
// A line that ends in `expect: CODE, ..` has these diagnostics, and no other line has any.
#dram = #ttnn.buffer_type<dram>
#l1 = #ttnn.buffer_type<l1>
#system_memory = #ttnn.buffer_type<system_memory>
#memref = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>> // expect: contradiction
#rank = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>> // expect: contradiction
#unpadded = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 15 + d1, d2), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>> // expect: contradiction, contradiction
#grid = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>> // expect: contradiction
#host = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x128xbf16, #system_memory>, <interleaved>> // expect: contradiction
#bare = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x128xbf16, #dram>> // expect: contradiction
#coreless = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>> // expect: contradiction
#cores = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (7,0)>]>> // expect: contradiction
#backward = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = <[#ttnn.core_range<(3,1), (0,0)>]>> // expect: contradiction
#overlap = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x1>, memref<32x128xbf16, #l1>, <height_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (0,0)>, #ttnn.core_range<(0,0), (0,0)>]>> // expect: contradiction
#tile = #ttnn.ttnn_layout<(d0, d1) -> (d0 * 128 + d1), <1x1>, memref<1x256x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>> // expect: contradiction, contradiction
#syntax = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1, <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>> // expect: syntax
#slip = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleavd>> // expect: unknown_name
#number = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<99999999999999999999x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>> // expect: bad_number
#shared = #tt.metal_layout<(d0, d1) -> (d0 + d1, 0), undef, <1x1>, memref<115x1xf32, #tt.memory_space<l1>>> // expect: not_injective
#metal = #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<17x32xf32, #tt.memory_space<l1>>> // expect: contradiction
#alignment = #ttcore.metal_layout<logical_shape = 53x63, dim_alignments = 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, l1, sharded> // expect: contradiction
#overlapping = #ttcore.metal_layout<logical_shape = 2x4x64, dim_alignments = 1x1x1, collapsed_intervals = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, l1, sharded> // expect: out_of_range
#missing = #ttcore.metal_layout<logical_shape = 2x4x64, dim_alignments = 1x1x1, collapsed_intervals = dense<> : tensor<0x2xi64>, l1, sharded> // expect: contradiction
#typed = #ttcore.metal_layout<logical_shape = 53x63, dim_alignments = 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<1x2xi64>, l1, sharded> // expect: contradiction
#shard = #ttcore.metal_layout<logical_shape = 53x63, dim_alignments = 32x32, collapsed_intervals = dense<[[0, -1]]> : tensor<1x2xi64>, l1, sharded>
#wasteful = #tt.metal_layout<(d0, d1, d2) -> (d0 * 96 + d1, d1, d2), undef, <1x1x1>, memref<768x96x32xf32, #tt.memory_space<l1>>> // expect: waste
#empty = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <3x2>, memref<1x1x!ttcore.tile<32x32, f32>, #l1>, <block_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (1,2)>]>> // expect: empty_cores
#unusual = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = <[#ttnn.core_range<(2,2), (5,3)>]>> // expect: unusual_core_ranges
func.func @f(%0: tensor<64x128xbf16, #memref>, %1: tensor<2x15x10xf32, #rank>, %2: tensor<2x15x10xf32, #unpadded>, %3: tensor<64x128xbf16, #memref>) {
  %4 = op : tensor<64x128xbf16, #grid>, tensor<64x128xbf16, #host>, tensor<64x128xbf16, #bare>
  %5 = op : tensor<64x128xbf16, #coreless>, tensor<64x128xbf16, #cores>, tensor<64x128xbf16, #backward>, tensor<64x128xbf16, #overlap>
  %6 = op : tensor<64x128xbf16, #tile>, tensor<64x128xbf16, #syntax>, tensor<64x128xbf16, #slip>, tensor<64x128xbf16, #number>
  %7 = op : tensor<53x63xf32, #shared>, tensor<53x63xf32, #metal>, tensor<3x2x32x32xf32, #alignment>, tensor<1x1x8x64xf32, #overlapping>
  %8 = op : tensor<1x1x8x64xf32, #missing>, tensor<1x1x64x64xf32, #typed>
  %9 = op : tensor<1x1x53x63xf32, #shard> // expect: contradiction
  %10 = op : tensor<8x96x32xf32, #wasteful>, tensor<53x63xf32, #empty>, tensor<64x128xbf16, #unusual>
  %11 = op : tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>> // expect: contradiction
}
