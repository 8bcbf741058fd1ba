// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <vector>

#include "tools/bench/peers/mpi_peer.h"

namespace tessera::tools {
namespace {

int barrier() { return MPI_Barrier(MPI_COMM_WORLD); }

/// Counts and displacements of one call of MPI_Alltoallv.
struct Portions {
  explicit Portions(int ranks)
      : counts(static_cast<std::size_t>(ranks)), begins(static_cast<std::size_t>(ranks)) {}
  std::vector<int> counts;
  std::vector<int> begins;

  /// The portion of `round` of `bytes[i]` for every rank but `self`; returns their sum.
  std::int64_t fill(const std::int64_t* bytes, int self, std::int64_t round, std::int64_t most) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const bool other = static_cast<int>(i) != self;
      const std::int64_t left = other ? std::max<std::int64_t>(0, bytes[i] - round * most) : 0;
      counts[i] = static_cast<int>(std::min(left, most));
      begins[i] = static_cast<int>(sum);
      sum += counts[i];
    }
    return sum;
  }
};

/// MPI counts and displacements are ints, so longer messages are sent in several rounds: in one
/// round a rank sends at most INT_MAX bytes to all other ranks together.
int exchange(const MpiFloorMove& move, int ranks, int self) {
  const std::int64_t most = INT_MAX / ranks;
  std::int64_t longest = 0;
  for (int i = 0; i < ranks; ++i) {
    if (i != self) longest = std::max({longest, move.send[i], move.receive[i]});
  }
  if (MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD) != 0) return 1;
  Portions send(ranks);
  Portions receive(ranks);
  const std::byte* packed = static_cast<const std::byte*>(move.packed);
  std::byte* unpacked = static_cast<std::byte*>(move.unpacked);
  for (std::int64_t round = 0; round * most < longest; ++round) {
    const std::int64_t sent = send.fill(move.send, self, round, most);
    const std::int64_t received = receive.fill(move.receive, self, round, most);
    if (MPI_Alltoallv(packed, send.counts.data(), send.begins.data(), MPI_BYTE, unpacked,
                      receive.counts.data(), receive.begins.data(), MPI_BYTE,
                      MPI_COMM_WORLD) != 0) {
      return 1;
    }
    packed += sent;
    unpacked += received;
  }
  return 0;
}

int run_floor(const MpiFloorMove* move) {
  int ranks = 0;
  int self = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  std::int64_t crossing_out = 0;
  std::int64_t crossing_in = 0;
  for (int i = 0; i < ranks; ++i) {
    if (i == self) continue;
    crossing_out += move->send[i];
    crossing_in += move->receive[i];
  }
  const auto* source = static_cast<const std::byte*>(move->source);
  auto* destination = static_cast<std::byte*>(move->destination);
  std::memcpy(move->packed, source, static_cast<std::size_t>(crossing_out));
  if (exchange(*move, ranks, self) != 0) return 1;
  std::memcpy(destination, move->unpacked, static_cast<std::size_t>(crossing_in));
  std::memcpy(destination + crossing_in, source + crossing_out,
              static_cast<std::size_t>(move->send[self]));
  return 0;
}

#ifdef TESSERA_PEER_SCALAPACK
const MpiMatrixPeer* const kMatrices = &kScalapackPeer;
#else
const MpiMatrixPeer* const kMatrices = nullptr;
#endif

const MpiPeers kPeers{kMpiPeersVersion, barrier, run_floor, kMatrices};

}  // namespace
}  // namespace tessera::tools

extern "C" __attribute__((visibility("default"))) const tessera::tools::MpiPeers*
tessera_bench_mpi() {
  return &tessera::tools::kPeers;
}
