// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/graph/graph.h"

namespace tessera::graph {

/// 128 bits that identify a graph: names, types, data, nodes, attributes and outputs.
struct ContentHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 hexadecimal digits.
  std::string to_string() const;
  friend bool operator==(const ContentHash&, const ContentHash&) = default;
};

/// The hash of a graph, the same on every machine and in every version of Tessera that has format
/// kGraphFormat. Data in files count by the file's name and offset.
/// Law: a == b gives hash(a) == hash(b). Graphs that differ have different hashes, except by an
/// accident of probability 2^-128 each; the hash is no protection against someone who searches for
/// one.
ContentHash hash(const Graph& graph);

}  // namespace tessera::graph
