// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"
#include "tessera/mpi/session.h"

namespace tessera::mpi {

/// Collective: a lane through shared memory to ranks near this one, and through messages to the
/// others. Messages are sent from the same slots that near ranks read, and are received into memory
/// of this rank that is already waiting for them, so the network need not buffer them.
Result<std::unique_ptr<exchange::Lane>> open_mpi_lane(std::shared_ptr<Session> session,
                                                      const exchange::LaneSize& size);

}  // namespace tessera::mpi
