// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "tessera/mpi/mpi_exchange.h"

namespace tessera::mpi {

/// Watches over calls of MPI that wait for all ranks and cannot be interrupted: if it still exists
/// after `timeouts.silence`, a separate thread calls `on_silence` of the options with kRankSilent.
/// Nothing is watched without such a function, or where the system refuses a thread.
///
///     const Watch watch(options, "MPI has not started");
///     MPI_Init_thread(..);
class Watch {
 public:
  Watch(const MpiOptions& options, std::string_view what);
  /// Waits for `on_silence` if it has been called.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::mpi
