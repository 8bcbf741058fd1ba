// SPDX-License-Identifier: Apache-2.0
// Tensors to begin with, by the notation's owner.

export const EXAMPLES: { owner: string; items: [string, string][] }[] = [
  { owner: 'Cerebras', items: [
    ['53x63 over 3x2 processors', 'tensor<53x63xf32, pyflame.Grid(3, 2)>'],
    ['A matrix over a whole wafer', 'tensor<9940x7500xf16, pyflame.Grid(994, 750)>'],
    ['Rows split, columns copied', 'tensor<64x64xf16, pyflame.Grid(2, 4, replicate=[1])>'],
  ] },
  { owner: 'Tenstorrent', items: [
    ['tt-mlir, 53x63 in tiles on 3x2', 'tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>>>'],
    ['tt-mlir today, aligned to 96x64', 'tensor<3x2x32x32xf32, #ttcore.metal_layout<logical_shape = 53x63, dim_alignments = 96x64, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, l1, sharded>>'],
    ['TTNN, block sharded', 'tensor<53x63xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <3x2>, memref<1x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<l1>>, <block_sharded>, core_ranges = <[#ttnn.core_range<(0, 0), (1, 2)>]>>>'],
    ['TTNN, interleaved in DRAM', 'tensor<64x64xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>'],
    ['TTNN, by stride and shard', 'tensor<53x63xf32, ttnn<stride=[3339, 63, 1], shard_shape=[18, 32], tile_shape=[32, 32]>>'],
  ] },
  { owner: 'IBM Spyre', items: [
    ['Sticks of 128 bytes', 'tensor<64x64xf16, spyre<device_size=[64, 64], dim_map=[0, 1]>>'],
  ] },
  { owner: 'Google', items: [
    ['XLA, tiles of 8x128', 'tensor<100x200xf32, xla{1,0:T(8,128)}>'],
    ['GSPMD on 8 devices', 'tensor<64x64xf16, gspmd{devices=[2,1,4]<=[8] last_tile_dim_replicate}>'],
    ['Morello, packed 32x32', 'tensor<64x64xf16, morello[(0, Dynamic), (1, Dynamic), (0, Packed(32)), (1, Packed(32))]>'],
  ] },
  { owner: 'PyTorch, NumPy', items: [
    ['Row-major', 'tensor<12x16xf32, strided<[16, 1]>>'],
    ['A row read four times', 'tensor<4x64xf16, strided<[0, 1]>>'],
    ['DTensor, one dim split', 'tensor<64x64xf16, dtensor<mesh=[2, 4], [Shard(0), Replicate()]>>'],
  ] },
  { owner: 'NVIDIA, Intel', items: [
    ['CuTe', 'tensor<64x64xf16, cute<((32,2),(32,2)):((32,2048),(1,1024))>>'],
    ['oneDNN, blocked', 'tensor<64x64xf16, onednn.AB32a32b>'],
  ] },
];

export const PAIRS: [string, string, string][] = [
  ['Rows to columns', 'tensor<64x64xf16, pyflame.Grid(4, 1)>', 'tensor<64x64xf16, pyflame.Grid(1, 4)>'],
  ['Blocks to more blocks', 'tensor<64x64xf32, pyflame.Grid(2, 2)>', 'tensor<64x64xf32, pyflame.Grid(8, 4)>'],
  ['All-gather', 'tensor<64x64xf16, dtensor<mesh=[8], [Shard(0)]>>', 'tensor<64x64xf16, dtensor<mesh=[8], [Replicate()]>>'],
  ['Partial sums combined', 'tensor<64x64xf16, dtensor<mesh=[2, 4], [Shard(0), Partial(sum)]>>', 'tensor<64x64xf16, dtensor<mesh=[2, 4], [Shard(0), Shard(1)]>>'],
  ['Row-major to tiles', 'tensor<64x64xf16, strided<[64, 1]>>', 'tensor<64x64xf16, morello[(0, Dynamic), (1, Dynamic), (0, Packed(32)), (1, Packed(32))]>'],
];

export const BUFFERS = `id,lower,upper,size,alignment
embeddings,0,3,96,32
query,2,6,64,32
key,2,5,64,32
value,2,7,64,32
scores,5,8,128,32
softmax,7,9,128,32
context,8,11,64,32
projection,10,13,96,32
residual,1,13,32,32
mlp_up,12,15,192,32
mlp_act,14,16,192,32
mlp_down,15,18,96,32
logits,17,20,224,32
`;
