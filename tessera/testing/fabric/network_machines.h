// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"
#include "tessera/testing/generate.h"

/// Random machines and messages for tests of routes and costs.
namespace tessera::test {

/// The kinds of network that tests tell apart.
enum class NetworkCase : std::uint8_t {
  kMesh,
  kTorus,        ///< both ways
  kOneWayTorus,  ///< each axis up, down or both
  kRing,
  kAllToAll,
  kTwoLevels,  ///< devices joined through gateways, sometimes boxes of devices
  kBanks,      ///< with alternatives, on any network
  kShared,     ///< shared memories, on any network
};
inline constexpr NetworkCase kNetworkCases[] = {
    NetworkCase::kMesh,  NetworkCase::kTorus,    NetworkCase::kOneWayTorus,
    NetworkCase::kRing,  NetworkCase::kAllToAll, NetworkCase::kTwoLevels,
    NetworkCase::kBanks, NetworkCase::kShared,
};
std::string_view case_name(NetworkCase kind);

/// A small machine of this kind: odd sizes, extents of 1, any order of axes, routers without
/// places, one or two networks, with and without mechanisms, packets and bandwidths.
Machine random_network_machine(Dice& dice, NetworkCase kind);

/// Some are from an endpoint to itself, some have no bytes.
std::vector<fabric::Message> random_messages(Dice& dice, std::int64_t endpoints,
                                             std::int64_t count);

}  // namespace tessera::test
