// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "tessera/fabric/simulate.h"

/// The machine of fabric/simulate.h, implemented literally: every queue is a list, and every router
/// is examined in every cycle. It shares nothing with the simulator but its inputs.
namespace tessera::test {

/// The directed links (router, port) that a message's wavelets cross, each destination walked
/// separately: along the row, then along the column.
std::set<std::pair<std::int32_t, fabric::Port>> walked_links(const fabric::FabricMesh& mesh,
                                                             const fabric::Traffic& traffic,
                                                             const fabric::FabricMessage& message);

/// The routers on those routes, including both ends.
std::set<std::int32_t> walked_routers(const fabric::FabricMesh& mesh,
                                      const fabric::Traffic& traffic,
                                      const fabric::FabricMessage& message);

/// Steps between two routers.
std::int64_t distance(const fabric::FabricMesh& mesh, std::int32_t a, std::int32_t b);

struct NaiveRun {
  bool finished = false;
  std::vector<fabric::MessageTimes> messages;
  /// (message, destination, index) to (word, cycle).
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>,
           std::pair<std::uint32_t, std::int64_t>>
      deliveries;
};

/// Runs the messages in the phases and colours that `given` assigns (in ideal mode all 0).
NaiveRun naive_run(const fabric::FabricMesh& mesh, const fabric::Traffic& traffic,
                   const fabric::SimulateOptions& options,
                   const std::vector<fabric::MessageTimes>& given);

}  // namespace tessera::test
