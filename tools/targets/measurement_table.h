// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/calibration/measurement.h"

namespace tessera::tools {

/// The measurements of a table of comma-separated values. The first row names the columns, in any
/// order:
///
///     mechanism      unicast, multicast, multicast_linked
///     pattern        one_to_one, one_from_all, ..
///     transactions   of each master
///     bytes          of each transaction
///     cycles         measured; may have a fraction
///     memory         optional: a memory of the machine (far_memory_names); its default memory
///     subordinates   optional: 0
///     same_axis, stateful, loopback    optional, 0 or 1: 0
///
/// Every error has the span of its cell, says what was found there and what was expected: kSyntax
/// for rows that do not match the header, kUnknownName for words, kBadNumber for numbers that are
/// malformed or out of range, kContradiction for rows that fabric::check refuses.
Result<std::vector<fabric::Measurement>> read_measurements(std::string_view text,
                                                           const Machine& machine);

inline constexpr std::size_t kMostTableBytes = std::size_t{16} << 20;

}  // namespace tessera::tools
