// SPDX-License-Identifier: Apache-2.0
// `expect: CODE` ends the lines that have diagnostics; seven more are allowed.
// tessera: allow-file(unusual_core_ranges)
#dram = #ttnn.buffer_type<dram>
#l1 = #ttnn.buffer_type<l1>
#a = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>> // tessera: allow(contradiction)
// tessera: allow
#b = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
// tessera: allow(waste)
// tessera: allow(syntax, contradiction): a shortcut of this test
#c = #ttnn.ttnn_layout<
  (d0, d1) -> (d0, d1), <1x1>,
  memref<4x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#d = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>> // tessera: allow(waste) // expect: contradiction
#e = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#f = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>> // expect: contradiction
#g = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = <[#ttnn.core_range<(2,2), (5,3)>]>>
func.func private @f(tensor<64x128xbf16, #a>, tensor<64x128xbf16, #b>, tensor<64x128xbf16, #c>, tensor<64x128xbf16, #d>)
func.func private @g(tensor<64x128xbf16, #e>, tensor<64x128xbf16, #g>) // tessera: allow(contradiction)
func.func private @h(tensor<64x128xbf16, #f>) // tessera: allow(contradiction)
func.func private @i(tensor<64x128xbf16, #f>)
// tessera: allow(contradiction)
func.func private @j(tensor<1x1x53x63xf32, #today>, tensor<1x1x53x63xf32, #today>)

func.func private @k(tensor<1x1x53x63xf32, #today>) // expect: contradiction
// tessera: allowed(contradiction)
func.func private @l(tensor<1x1x53x63xf32, #today>) // expect: contradiction
#today = #ttcore.metal_layout<logical_shape = 53x63, dim_alignments = 32x32, collapsed_intervals = dense<[[0, -1]]> : tensor<1x2xi64>, l1, sharded>
