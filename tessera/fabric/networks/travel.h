// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/result.h"
#include "tessera/base/text.h"
#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"

namespace tessera::fabric {

/// kOutOfRange for a network that does not exist; kNotSupported for one that is left out.
inline Status check_network(const Topology& topology, std::int64_t network) {
  if (network < 0 || network >= topology.networks()) {
    return Error{ErrorCode::kOutOfRange, cat("network ", network, " of ", topology.networks()),
                 std::nullopt, "networks of the innermost level count from 0"};
  }
  if (const std::string& why = topology.why_left_out(network); !why.empty()) {
    return Error{ErrorCode::kNotSupported, why, std::nullopt,
                 "describe routes, widths and latencies of the networks in the target file"};
  }
  return ok_status();
}

/// The same, and kOutOfRange for a mechanism that does not exist.
inline Status check_travel(const Topology& topology, const Machine& machine, const Travel& travel) {
  TESSERA_CHECK_OK(check_network(topology, travel.network));
  const auto mechanisms = static_cast<std::int64_t>(machine.mesh.back().mechanisms.size());
  if (travel.mechanism < -1 || travel.mechanism >= mechanisms) {
    return Error{ErrorCode::kOutOfRange, cat("mechanism ", travel.mechanism, " of ", mechanisms),
                 std::nullopt, "mechanisms of the innermost level count from 0; -1 is none"};
  }
  return ok_status();
}

/// The mechanism of a travel that was checked; null if it has none.
inline const target::Mechanism* mechanism_of(const Machine& machine, const Travel& travel) {
  if (travel.mechanism < 0) return nullptr;
  return &machine.mesh.back().mechanisms[static_cast<std::size_t>(travel.mechanism)];
}

/// Whether the receiver of a message from place to place issues it.
inline bool is_read(const target::Mechanism* mechanism) {
  return mechanism != nullptr && mechanism->name.starts_with("read");
}

}  // namespace tessera::fabric
