// SPDX-License-Identifier: Apache-2.0
#include "tessera/mpi/near_memory.h"

#include <unistd.h>

#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::mpi {
namespace {

/// Untouched pages take no memory. Without this check, a size beyond the machine would be granted
/// and the process killed later.
Status check_machine(Session& session, const std::vector<exchange::PagesKey>& keys) {
  Checked asked(0);
  for (const exchange::PagesKey& key : keys) asked += key.bytes;
  const std::int64_t has =
      (Checked(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE)).saturated();
  if (asked.saturated() <= has) return ok_status();
  return Error{ErrorCode::kOutOfMemory,
               cat("the ", session.near().size(), " ranks of this machine need ", asked.saturated(),
                   " bytes of shared memory, but it has ", has),
               std::nullopt, "use shorter packets, fewer at once, or fewer ranks per machine"};
}

/// Maps the parts of the other ranks, after all have made theirs.
Status find_parts(Session& session, NearMemory& memory,
                  const std::vector<exchange::PagesKey>& keys) {
  TESSERA_CHECK_OK(check_machine(session, keys));
  for (std::size_t seat = 0; seat < keys.size(); ++seat) {
    if (static_cast<int>(seat) == session.seat()) continue;
    TESSERA_TRY(memory.parts[seat], exchange::Pages::find(keys[seat]));
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<NearMemory>> NearMemory::make(Session& session, std::int64_t bytes) {
  const auto seat = static_cast<std::size_t>(session.seat());
  const std::size_t seats = session.near().size();
  auto memory = std::make_shared<NearMemory>();
  memory->parts.resize(seats);
  Result<exchange::Pages> mine =
      seats == 1 ? exchange::Pages::anonymous(bytes) : exchange::Pages::shared(bytes);
  TESSERA_CHECK_OK(session.settle(mine ? ok_status() : Status(mine.error())));
  memory->parts[seat] = std::move(*mine);

  std::vector<exchange::PagesKey> keys(seats);
  const exchange::PagesKey key = memory->parts[seat].key();
  keys[seat] = key;
  if (seats > 1) {
    MPI_Request request = MPI_REQUEST_NULL;
    TESSERA_CHECK_OK(
        session.answer(MPI_Iallgather(&key, sizeof key, MPI_BYTE, keys.data(), sizeof key, MPI_BYTE,
                                      session.machine(), &request),
                       "MPI_Iallgather"));
    TESSERA_CHECK_OK(session.finish(request, "MPI_Iallgather"));
  }
  TESSERA_CHECK_OK(session.settle(find_parts(session, *memory, keys)));
  memory->parts[seat].hide();
  return memory;
}

}  // namespace tessera::mpi
