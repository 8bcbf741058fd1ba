// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/shared_memory/pages.h"
#include "tessera/mpi/session.h"

namespace tessera::mpi {

/// Memory of this rank that the ranks near it see, and theirs, by seat. It is not an MPI window: to
/// free one is collective, and would wait for a rank that is silent. Whoever is done with this
/// lets go of it alone; others keep what they see.
struct NearMemory {
  std::vector<exchange::Pages> parts;

  /// Collective: each rank has `bytes` of its own. On all ranks the same error, kTooLarge, when the
  /// ranks of some machine ask for more memory than it has.
  static Result<std::shared_ptr<NearMemory>> make(Session& session, std::int64_t bytes);
};

}  // namespace tessera::mpi
