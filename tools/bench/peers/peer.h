// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// tools/bench/peers/: other libraries that perform the moves of `tessera bench relayout` and the
/// products of `tessera bench run`. They live in a separate module that the command loads when it
/// is present, so that neither the library nor the command depends on them. This header is all that
/// the two share: plain structs, no C++ types.
namespace tessera::tools {

inline constexpr int kPeerRank = 12;
inline constexpr int kPeerShuffleRank = 6;
/// Changes with every change of these structs.
inline constexpr int kPeerVersion = 3;

/// A memory of blocks: the offset of x is Σ (x[d] div block[d])·stride[d] and, inside the block,
/// the digits of `blocks` in row-major order. block[d] is the product of the blocks of dim d.
/// Example: 32x32 tiles of [64, 96]: strides (3072, 1024), blocks of dims (0, 1), sizes (32, 32).
struct PeerSide {
  std::int64_t padded[kPeerRank] = {};  ///< extents that are allocated; zero beyond the data
  std::int64_t strides[kPeerRank] = {};
  int blocks = 0;
  int block_dims[kPeerRank] = {};
  std::int64_t block_sizes[kPeerRank] = {};
};

/// The work, described in two ways; a peer uses the one it supports.
struct PeerMove {
  int element_bytes = 4;
  int threads = 1;
  const void* from = nullptr;
  void* to = nullptr;
  int rank = 0;  ///< 0: blocks and strides cannot describe this move
  std::int64_t dims[kPeerRank] = {};
  PeerSide source;
  PeerSide destination;
  /// Axis i of the dense row-major result is axis permutation[i] of the dense row-major source.
  int shuffle_rank = 0;  ///< 0: not a permutation of axes
  std::int64_t extents[kPeerShuffleRank] = {};
  int permutation[kPeerShuffleRank] = {};
};

struct Peer {
  const char* name;
  /// Everything that can be done ahead of time; null when the peer does not support this move.
  void* (*prepare)(const PeerMove* move);
  /// 0 on success.
  int (*run)(void* prepared);
  void (*forget)(void* prepared);
};

/// A way to multiply row-major square matrices of f32 on one thread.
struct MatmulPeer {
  const char* name;
  /// c = a·b. 0 on success.
  int (*run)(std::int64_t extent, const float* a, const float* b, float* c);
};

/// A convolution of images: x [batch, channels, rows, columns], weights [filters, channels, window,
/// window], all row-major f32, with zeros around the images and steps of one.
struct ConvSizes {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t filters = 1;
  std::int64_t window = 1;
  std::int64_t padding = 0;
};

/// A way to convolve on one thread.
struct ConvPeer {
  const char* name;
  /// 0 on success.
  int (*run)(const ConvSizes* sizes, const float* x, const float* weights, float* y);
};

/// What the module exports under the name `tessera_bench_peers`.
struct PeerList {
  int version;
  int count;
  const Peer* peers;
  int matmul_count;
  const MatmulPeer* matmuls;
  int conv_count;
  const ConvPeer* convs;
};
using PeerListFunction = const PeerList* (*)();

extern const Peer kOneDnnPeer;
extern const Peer kEigenPeer;
inline constexpr int kOneDnnMatmuls = 2;
extern const MatmulPeer kOneDnnMatmulPeers[kOneDnnMatmuls];
inline constexpr int kOneDnnConvs = 2;
extern const ConvPeer kOneDnnConvPeers[kOneDnnConvs];

}  // namespace tessera::tools
