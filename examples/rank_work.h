// SPDX-License-Identifier: Apache-2.0
// The work of one rank of a reshard, for any kind of exchange: exchange.cc runs it on threads,
// mpi/exchange.cc on the processes of mpirun.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "tessera/exchange/agreement.h"
#include "tessera/exchange/resharder.h"
#include "tessera/notation/notation.h"

namespace example {

/// Calls visit(bytes, number) for every element that this rank keeps: its bytes in `memory`, and
/// its row-major number in the tensor.
template <typename Memory, typename Visit>
tessera::Status for_each_element(const tessera::Placement& placement,
                                 const tessera::exchange::RankSide& side, Memory& memory,
                                 const Visit& visit) {
  for (std::int64_t number = 0; number < placement.shape().elements(); ++number) {
    TESSERA_TRY(const tessera::Location at, placement.locate(placement.shape().delinear(number)));
    for (const tessera::Place& coordinates : at.places) {
      const std::int64_t place = placement.mesh().linear(coordinates);
      if (!std::binary_search(side.places.begin(), side.places.end(), place)) continue;
      const std::int64_t slot = side.position(place) * placement.slots() + at.slot;
      visit(memory.data() + static_cast<std::size_t>(slot) * sizeof(float),
            static_cast<float>(number));
    }
  }
  return tessera::ok_status();
}

/// Four row shards, as in PyTorch, become 64x64 blocks distributed over a 2x2 grid, as in
/// ScaLAPACK. Every rank of `exchange` calls this.
inline tessera::Status reshard_on(tessera::exchange::Exchange& exchange) {
  TESSERA_TRY(const tessera::Tensor a,
              tessera::parse_tensor("tensor<512x512xf32, dtensor<mesh=[4], [Shard(0)]>>"));
  TESSERA_TRY(const tessera::Tensor b,
              tessera::parse_tensor("tensor<512x512xf32, pyflame.BlockCyclic(2, 2, 64, 64)>"));

  // Meshes of 4 and of 2x2 are matched by number: place p of A and place p of B are on the same
  // rank.
  TESSERA_TRY(const tessera::reshard::PhysicalMesh physical,
              tessera::reshard::PhysicalMesh::in_a_row(a.placement, b.placement));
  TESSERA_TRY(const tessera::reshard::Reshard reshard,
              tessera::reshard::Reshard::make(a.placement, b.placement, physical));
  TESSERA_TRY(const tessera::exchange::RankMap ranks,
              tessera::exchange::RankMap::blocks(4, exchange.ranks()));

  // The plan is made once, and can be run any number of times.
  tessera::exchange::ResharderOptions options;
  options.checksums = true;
  TESSERA_TRY(tessera::exchange::Resharder resharder,
              tessera::exchange::Resharder::make(exchange, reshard, ranks, ranks, options));

  std::vector<std::byte> from(static_cast<std::size_t>(resharder.from().bytes()));
  std::vector<std::byte> to(static_cast<std::size_t>(resharder.to().bytes()));
  const auto write = [](std::byte* bytes, float value) {
    std::memcpy(bytes, &value, sizeof value);
  };
  // An error that one rank finds alone becomes the outcome of all ranks: none is left waiting.
  tessera::exchange::Agreement agreement(exchange, options.timeouts);
  TESSERA_CHECK_OK(agreement.settle(for_each_element(a.placement, resharder.from(), from, write)));

  TESSERA_CHECK_OK(resharder.run(from, to));

  std::int64_t wrong = 0;
  const auto compare = [&wrong](const std::byte* bytes, float value) {
    float found = 0;
    std::memcpy(&found, bytes, sizeof found);
    wrong += found == value ? 0 : 1;
  };
  tessera::Status checked = for_each_element(b.placement, resharder.to(), to, compare);
  if (wrong > 0) {
    checked =
        tessera::Error{tessera::ErrorCode::kContradiction,
                       std::to_string(wrong) + " elements are wrong", std::nullopt, "report a bug"};
  }
  return agreement.settle(checked);
}

}  // namespace example
