// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/problem.h"

#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

Status check(const Problem& problem, const std::vector<std::string>& names) {
  TESSERA_TRY(const Packing packing, pack(problem, names));
  return ok_status();
}

Result<MaxLive> max_live(const Problem& problem) {
  TESSERA_TRY(const Packing packing, pack(problem));
  MaxLive most;
  for (std::int32_t s = 0; s < packing.sections; ++s) {
    const auto section = static_cast<std::size_t>(s);
    if (packing.live[section] <= most.bytes) continue;
    most = {packing.live[section], packing.moment[section]};
  }
  return most;
}

}  // namespace tessera::memory
