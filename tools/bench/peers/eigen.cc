// SPDX-License-Identifier: Apache-2.0
#define EIGEN_USE_THREADS
#include <array>
#include <cstdint>
#include <memory>
#include <unsupported/Eigen/CXX11/Tensor>

#include "tools/bench/peers/peer.h"

// Tensor::shuffle on a ThreadPoolDevice, which works in the calling thread when it has one thread:
// https://eigen.tuxfamily.org/dox/unsupported/eigen_tensors.html
namespace tessera::tools {
namespace {

struct Shuffle {
  explicit Shuffle(const PeerMove& the_move)
      : move(the_move), pool(the_move.threads), device(&pool, the_move.threads) {}
  PeerMove move;
  Eigen::ThreadPool pool;
  Eigen::ThreadPoolDevice device;
};

template <typename Element, int kRank>
void shuffle(Shuffle& work) {
  using Map = Eigen::TensorMap<Eigen::Tensor<Element, kRank, Eigen::RowMajor, Eigen::Index>>;
  using ConstMap =
      Eigen::TensorMap<const Eigen::Tensor<Element, kRank, Eigen::RowMajor, Eigen::Index>>;
  std::array<Eigen::Index, kRank> from{};
  std::array<Eigen::Index, kRank> to{};
  std::array<int, kRank> permutation{};
  for (std::size_t i = 0; i < kRank; ++i) {
    from[i] = work.move.extents[i];
    permutation[i] = work.move.permutation[i];
    to[i] = work.move.extents[permutation[i]];
  }
  const ConstMap source(static_cast<const Element*>(work.move.from), from);
  Map destination(static_cast<Element*>(work.move.to), to);
  destination.device(work.device) = source.shuffle(permutation);
}

template <typename Element>
int shuffle_of_rank(Shuffle& work) {
  switch (work.move.shuffle_rank) {
    case 2:
      return shuffle<Element, 2>(work), 0;
    case 3:
      return shuffle<Element, 3>(work), 0;
    case 4:
      return shuffle<Element, 4>(work), 0;
    case 5:
      return shuffle<Element, 5>(work), 0;
    case 6:
      return shuffle<Element, 6>(work), 0;
    default:
      return 1;
  }
}

void* prepare(const PeerMove* move) {
  return move->shuffle_rank < 2 ? nullptr : std::make_unique<Shuffle>(*move).release();
}

int run(void* prepared) {
  auto* work = static_cast<Shuffle*>(prepared);
  switch (work->move.element_bytes) {
    case 1:
      return shuffle_of_rank<std::int8_t>(*work);
    case 2:
      return shuffle_of_rank<std::int16_t>(*work);
    case 4:
      return shuffle_of_rank<float>(*work);
    default:
      return 1;
  }
}

void forget(void* prepared) { delete static_cast<Shuffle*>(prepared); }

}  // namespace

const Peer kEigenPeer = {"eigen", prepare, run, forget};

}  // namespace tessera::tools
