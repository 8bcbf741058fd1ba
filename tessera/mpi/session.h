// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/mpi/mpi_exchange.h"

namespace tessera::mpi {

/// MPI as used by one exchange, with everything that it has opened: its own communicators, the
/// ranks near this one, and whether MPI can still be called. MPI is finalised when the last holder
/// is destroyed, if this session initialised it and nothing has failed. After an error of MPI or
/// abandon() it is not finalised, because finalising would wait for ranks that may never come.
class Session {
 public:
  /// Collective. kPlansDiffer on all ranks when their options differ. Ranks of one machine with
  /// different `part`s share no memory, as if they were on different machines: for tests.
  static Result<std::shared_ptr<Session>> begin(const MpiOptions& options, int part = 0);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  MPI_Comm packets() const { return packets_; }
  MPI_Comm notes() const { return notes_; }

  /// The ranks that share memory with this one, including itself, by ascending number. The index of
  /// a rank in this list is its seat.
  const std::vector<int>& near() const { return near_; }
  int seat() const { return seat_of_[static_cast<std::size_t>(rank_)]; }
  /// -1 for a rank that shares no memory with this one.
  int seat_of(int rank) const { return seat_of_[static_cast<std::size_t>(rank)]; }
  /// All ranks of this machine (or part of it), in the order of near() where memory is shared.
  MPI_Comm machine() const { return machine_; }

  /// For calls of MPI that wait for all ranks.
  const MpiOptions& options() const { return options_; }

  /// A tag that no other lane uses, the same on all ranks that have called this equally often.
  int new_tag();

  /// An error if MPI has failed or was abandoned. Check this before every MPI call.
  Status alive() const;
  /// Converts `code`, the result of MPI's function `call`, to a Status. Errors end the session.
  Status answer(int code, std::string_view call);
  /// Waits for a request of a collective call, and yields in between: MPI's own wait would keep the
  /// processor busy while other ranks still need it.
  Status finish(MPI_Request& request, std::string_view call);

  /// Collective: the same outcome on all ranks. Success only if all ranks succeed; otherwise the
  /// error of the lowest rank that has one, which is named. Used where Agreement::settle is not
  /// available: while lanes and shared memory are opened. It waits in collectives of MPI, without
  /// the failure detector; the callers keep a Watch over it.
  Status settle(const Status& mine);

  /// Collective: true when all ranks have the same numbers.
  Result<bool> alike(std::vector<std::int64_t> numbers);

  /// Takes over messages that are still in flight when their lane is destroyed, with the memory
  /// that they need.
  void keep(std::vector<MPI_Request> requests, std::shared_ptr<void> memory);
  /// Releases those that are complete.
  void sweep();

  void abandon(int status);

 private:
  struct Kept {
    std::vector<MPI_Request> requests;
    std::shared_ptr<void> memory;
  };

  explicit Session(MpiOptions options) : options_(std::move(options)) {}
  Status find_near(int part);

  MpiOptions options_;
  int rank_ = 0;
  int ranks_ = 1;
  int tags_ = 0;
  int most_tag_ = 32767;  // the minimum that MPI guarantees
  bool began_ = false;
  bool dead_ = false;
  MPI_Comm packets_ = MPI_COMM_NULL;
  MPI_Comm notes_ = MPI_COMM_NULL;
  MPI_Comm machine_ = MPI_COMM_NULL;
  std::vector<int> near_;
  std::vector<int> seat_of_;
  std::vector<Kept> kept_;
};

/// The exchange of the ranks of `session` (mpi_exchange.cc).
std::unique_ptr<exchange::Exchange> exchange_over(std::shared_ptr<Session> session);

}  // namespace tessera::mpi
