// SPDX-License-Identifier: Apache-2.0
// 53 rows on 3 cores are 18 a core, not 17. docs/checking.md shows what `tessera check` says.
#l1 = #tt.memory_space<l1>
#shards = #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<17x32xf32, #l1>>
#wide = #tt.metal_layout<(d0, d1, d2) -> (d0 * 96 + d1, d1, d2), undef, <1x1x1>, memref<768x96x32xf32, #l1>>

module {
  func.func @forward(%x: tensor<53x63xf32, #shards>) -> tensor<53x63xf32, #shards> {
    %y = "my.op"(%x) : (tensor<53x63xf32, #shards>) -> tensor<8x96x32xf32, #wide>
    // tessera: allow(contradiction)
    %z = "my.op"(%y) : (tensor<8x96x32xf32, #wide>) -> tensor<64x64xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <2x2>, memref<64x64xf32, #l1>>>
    %s = "my.op"(%z) : (tensor<?x64xf32>) -> tensor<64x64xf32, #sparse_tensor.encoding<{}>>
    return %x : tensor<53x63xf32, #shards>
  }
}
