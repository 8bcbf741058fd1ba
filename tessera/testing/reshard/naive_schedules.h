// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tessera/testing/reshard/naive_reshard.h"
#include "tessera/testing/reshard/reshard_pairs.h"

/// What the schedules of reshard/schedules/ take, by their definitions: every multicast is listed,
/// every line is walked position by position, every link is looked at.
namespace tessera::test {

/// The cycles of each schedule that moves data, by name; empty if nothing crosses. Those that need
/// more colours than the mesh has are missing.
std::map<std::string, std::int64_t> naive_schedules(const NaiveReshard& moves,
                                                    const Placement& placement,
                                                    const reshard::PhysicalMesh& physical);

/// The cycles that one reduction takes in all its stages, by the name of the schedule: from the
/// places of the shares of A.
std::map<std::string, std::int64_t> naive_reductions(const NaiveReshard& moves,
                                                     const Placement& placement,
                                                     const reshard::PhysicalMesh& physical);

/// schedules_of has exactly the naive schedules with their cycles, and reductions followed by the
/// cheapest of them. `reductions` counts pairs that have some.
std::string schedules_mistake(const ReshardPair& pair, const NaiveReshard& moves,
                              std::int64_t& reductions);

}  // namespace tessera::test
