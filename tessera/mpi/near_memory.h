// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/shared_memory/pages.h"
#include "tessera/mpi/session.h"

namespace tessera::mpi {

/// Memory of this rank that the ranks near it can read, and their memory, by seat. It is not an MPI
/// window: freeing a window is collective, and would wait for a silent rank. Each rank releases its
/// own memory independently; other ranks keep what they have mapped.
struct NearMemory {
  std::vector<exchange::Pages> parts;

  /// Collective: each rank gets `bytes` of its own. The same error on all ranks, kTooLarge, when
  /// the ranks of some machine ask for more memory than it has.
  static Result<std::shared_ptr<NearMemory>> make(Session& session, std::int64_t bytes);
};

}  // namespace tessera::mpi
