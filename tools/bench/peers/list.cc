// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/peers/peer.h"

namespace {
// At least one of them exists, or cmake does not build the module.
const tessera::tools::Peer kPeers[] = {
#ifdef TESSERA_PEER_ONEDNN
    tessera::tools::kOneDnnPeer,
#endif
#ifdef TESSERA_PEER_EIGEN
    tessera::tools::kEigenPeer,
#endif
};
}  // namespace

extern "C" __attribute__((visibility("default"))) const tessera::tools::PeerList*
tessera_bench_peers() {
#ifdef TESSERA_PEER_ONEDNN
  constexpr int kMatmuls = tessera::tools::kOneDnnMatmuls;
  const tessera::tools::MatmulPeer* const matmuls = tessera::tools::kOneDnnMatmulPeers;
  constexpr int kConvs = tessera::tools::kOneDnnConvs;
  const tessera::tools::ConvPeer* const convs = tessera::tools::kOneDnnConvPeers;
#else
  constexpr int kMatmuls = 0;
  const tessera::tools::MatmulPeer* const matmuls = nullptr;
  constexpr int kConvs = 0;
  const tessera::tools::ConvPeer* const convs = nullptr;
#endif
  static const tessera::tools::PeerList list{tessera::tools::kPeerVersion,
                                             static_cast<int>(sizeof(kPeers) / sizeof(kPeers[0])),
                                             kPeers,
                                             kMatmuls,
                                             matmuls,
                                             kConvs,
                                             convs};
  return &list;
}
