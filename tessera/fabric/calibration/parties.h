// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/fabric/calibration/measurement.h"
#include "tessera/fabric/topology.h"

namespace tessera::fabric {

/// The endpoints that take part in a measurement: for each master, those that it moves data to or
/// from. A master that moves data to itself is in its own list.
struct Parties {
  std::vector<std::int32_t> masters;
  std::vector<std::vector<std::int32_t>> far;  ///< one list per master, none empty
};

/// Which places and banks a measurement means, on the first device of a machine whose innermost
/// level has rows and columns.
///
///     one to one        (0, 0) and (1, 0) on the same axis, else (1, 1)
///     all               the places of a rectangle from (0, 0) on: `subordinates` = g² is g x g,
///                       otherwise whole rows, otherwise whole columns
///     row, column       the first `subordinates` places of row 0, of column 0
///     one to many       a master outside: to the right of a rectangle (below it if there is no
///                       column left), below a row and to the right of a column. With loopback the
///                       master is (0, 0), inside. Unicast from inside does not count the master:
///                       55 is 7 x 8 less (0, 0), and a row of 8 is 7.
///     many to many      masters = subordinates. Multicasts without loopback come from the same
///                       rectangle one step outside.
///     banks             masters as above, (0, 0) if there is one. Master i begins at bank i mod
///                       banks.
///
/// If there are fewer transactions than subordinates, only the first of them take part.
/// Errors: kNotSupported for meshes without rows and columns; kOutOfRange, with the number, where
/// no such rectangle exists; kTooLarge for more than kMaxPairs pairs.
Result<Parties> parties_of(const Topology& topology, const Machine& machine,
                           const Measurement& measurement);

/// The number of places that the machine had which was measured, if rows tell: machines are sold
/// with fewer rows or columns than their description has. It is that of the largest rectangle of
/// whole rows or whole columns in a row of the table. Rows of `all` with 0 subordinates, as tables
/// of banks have them, mean these places.
/// Example: one_to_all with 55 subordinates on a description of 8x8 places is 7 x 8 less the
/// master: 56.
std::optional<std::int64_t> measured_places(const Machine& machine,
                                            std::span<const Measurement> measurements);

inline constexpr std::int64_t kMaxPairs = std::int64_t{1} << 20;

}  // namespace tessera::fabric
