// SPDX-License-Identifier: Apache-2.0
// Nothing here is wrong: 18 tensors that are known, 6 that are not.
#dram = #ttnn.buffer_type<dram>
#l1 = #ttnn.buffer_type<l1>
#system = #ttnn.buffer_type<system_memory>
#cores = #ttnn.core_range_set<[#ttnn.core_range<(0,0), (3,1)>]>
#map = affine_map<(d0, d1) -> (d0, d1)>
!tile = !ttcore.tile<32x32, bf16>
#layout = #ttnn.ttnn_layout<#map, <1x1>, memref<2x4x!tile, #dram>, <interleaved>>
#host = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x128xbf16, #system>>
#sharded = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = #cores>
#share = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <interleaved>>
#both = #layout
!type = tensor<64x128xbf16, #layout>
#lines = #ttnn.ttnn_layout<
  (d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, // a comment with > and "
  memref<2x1x!tile, #dram>,
  <interleaved>
>
#metal = #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<18x32xf32, #tt.memory_space<l1>>>
#metal_tiled = #ttcore.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<1x1x!tt.tile<32 x 32, f32>, #ttcore.memory_space<l1>>>
#today = #ttcore.metal_layout<logical_shape = 53x63, dim_alignments = 64x64, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, l1, sharded>
#other = #some.thing<"tensor<1x1xf32, #ttnn.ttnn_layout<garbage>>", 3>
module attributes {a.string = "tensor<64x64xf32, #layout>", a.type = tensor<64x128xbf16, #both>} {
  func.func @f(%a: tensor<64x128xbf16, #layout>, %b: !type, %c: tensor<64x128xbf16, #host>) -> (tensor<64x128xbf16, #sharded>, tensor<?x128xbf16, #layout>) {
    // tensor<1x1xf32, #layout> in a comment
    %0 = "some.op"(%a, %b) <{attr = tensor<64x128xbf16, #share>, limit = affine_set<(d0) : (d0 - 1 >= 0, 5 - d0 >= 0)>}> : (tensor<64x128xbf16, #layout>, !type) -> tensor<2x15x10xf32, #lines>
    %1 = other.op %0 : tensor<53x63xf32, #metal> -> tensor<53x63xf32, #metal_tiled>
    %2 = other.op %1 : tensor<2x2x32x32xf32, #today>, tensor<4x4xf32>, tensor<4x4xf32, #other>, tensor<4x4xf32, #missing>
    %3 = other.op %2 : tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>
    %4 = other.op : tensor<53x63xf32, #ttcore.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<18x32xf32, #l1_space>>>
    %5 = other.op : tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>, newer_item = 3>>, tensor<*xf32, #layout>
    %6 = other.op : tensor<8x8x!quant.uniform<i8:f32, 0.1>, #layout>, tuple<tensor<64x128xbf16, #layout>, tensor<64x128xbf16, #share>>
    %7 = old.op : tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1, (d0, d1) -> (0, d0, d1)>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>
    %8 = old.op : tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>, exactGrid = true>>
    return %0 : (tensor<64x128xbf16, #sharded>) -> ()
  }
}
// -----
#layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
#dram = #ttnn.buffer_type<dram>
func.func private @g(tensor<32x32xf32, #layout>) -> tensor<32x32xf32, #layout>
