// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"
#include "tessera/mpi/session.h"

namespace tessera::mpi {

/// Collective: a lane through shared memory to ranks near this one, and through messages to the
/// rest. Messages leave from the slots that near ranks read, and arrive in memory of this rank that
/// waits for them, so that the network need not keep them.
Result<std::unique_ptr<exchange::Lane>> open_mpi_lane(std::shared_ptr<Session> session,
                                                      const exchange::LaneSize& size);

}  // namespace tessera::mpi
