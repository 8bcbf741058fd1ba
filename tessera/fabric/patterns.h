// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/fabric/mesh.h"
#include "tessera/fabric/traffic.h"

namespace tessera::fabric {

/// Classic traffic. In the patterns of one row, the P = mesh.cols processors of row 0 take part,
/// and the root is the westernmost, router 0. Processor p's own B words are payload[p·B .. (p +
/// 1)·B); all payload words are distinguishable. Errors: kOutOfRange for fewer than 2 processors or
/// 1 word; kTooLarge beyond 2^28 words.

/// Every processor adds its words to those of its eastern neighbour and sends the sums to the west.
/// The root receives the sum of all words except its own.
Result<Traffic> chain_reduce(const FabricMesh& mesh, std::int64_t words);
/// Every processor sends its words to the root, which adds them as they arrive.
Result<Traffic> star_reduce(const FabricMesh& mesh, std::int64_t words);
/// Processor p sends to p - 2^k, 2^k the lowest bit of p, once it has added what p + 1, p + 2, ..,
/// p + 2^(k-1) sent: log2(P) steps.
Result<Traffic> tree_reduce(const FabricMesh& mesh, std::int64_t words);
/// One multicast from the root to all others.
Result<Traffic> broadcast_row(const FabricMesh& mesh, std::int64_t words);

/// Cycles by the closed forms of Near-Optimal Wafer-Scale Reduce (HPDC 2024). The three do not
/// share one convention: for P = 2 and B = 4 the same traffic takes 10, 9 and 10 cycles (T_R = 2).
/// In the convention of simulate.h, the simulated cycles are chain - 1, star, broadcast - 1.
std::int64_t chain_cycles(std::int64_t processors, std::int64_t words, std::int64_t ramp_cycles);
std::int64_t star_cycles(std::int64_t processors, std::int64_t words, std::int64_t ramp_cycles);
std::int64_t broadcast_cycles(std::int64_t processors, std::int64_t words,
                              std::int64_t ramp_cycles);

// Patterns of a whole mesh, all messages of `words` words; router n's words begin at n·words.

/// Every router sends to another one, and no two to the same. The same `seed` gives the same
/// permutation.
Result<Traffic> random_permutation(const FabricMesh& mesh, std::int64_t words, std::uint64_t seed);
/// Every router but `root` sends to `root`.
Result<Traffic> gather_to(const FabricMesh& mesh, std::int32_t root, std::int64_t words);
/// Router (r, c) sends to (c, r), r != c, of a square mesh.
Result<Traffic> transpose_mesh(const FabricMesh& mesh, std::int64_t words);
/// One multicast from `root` to all other routers.
Result<Traffic> broadcast_from(const FabricMesh& mesh, std::int32_t root, std::int64_t words);

}  // namespace tessera::fabric
