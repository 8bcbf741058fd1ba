// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/base/text.h"
#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"

namespace tessera::fabric {

/// kOutOfRange for a network or mechanism that does not exist.
inline Status check_travel(const Topology& topology, const Machine& machine, const Travel& travel) {
  const auto mechanisms = static_cast<std::int64_t>(machine.mesh.back().mechanisms.size());
  if (travel.network < 0 || travel.network >= topology.networks()) {
    return Error{ErrorCode::kOutOfRange,
                 cat("network ", travel.network, " of ", topology.networks()), std::nullopt,
                 "networks of the innermost level count from 0"};
  }
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
