// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

namespace tessera::graph {

/// The version that to_json writes and parse_graph reads.
inline constexpr std::int64_t kGraphFormat = 1;
inline constexpr std::size_t kMaxGraphBytes = std::size_t{1} << 31;

/// The graph as JSON (docs/graph.md), one value and one node per line. Parameters and constants
/// keep their data: short ones as numbers, others in base64; files are named.
/// Law: parse_graph(to_json(g)) == g for every g that `check` accepts.
std::string to_json(const Graph& graph);

/// Reads that form. Nodes may be in any order, and values that nodes compute need not be listed: an
/// op's rule has their types. A listed type must be what the rule gives. Errors have a span:
/// kSyntax, kBadNumber, kTextTooLong for the text; kBadGraph for names that nothing defines, names
/// that are used twice and cycles; kUnknownName for an op; the errors of `check`.
Result<Graph> parse_graph(std::string_view text);

}  // namespace tessera::graph
