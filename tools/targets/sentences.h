// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/target/machine.h"

/// Sentences about the parts of a machine, for explain.h.
namespace tessera::tools {

/// A part of a sentence, and the path of the figure in it.
struct Figure {
  std::string text;
  std::string path;  ///< empty: not a figure
};

/// The parts, separated by commas. Figures that are known in the same way share one remark.
/// Example: "torus, 9 cycles per hop, 256 bits per cycle (published), 0.5 cycles (assumed)".
std::string sentence(const Machine& machine, const std::vector<Figure>& figures);

/// At most six digits: 28.6, 682.667.
std::string decimal(double number);
/// "1 cycle", "2.5 cycles".
std::string count_of(double count, std::string_view singular);
/// Numbers that increase, with ranges: "1-5, 7-9".
std::string ranges_text(const std::vector<std::int64_t>& numbers);

/// What connects the places of a level: one sentence for routers, each network, each mechanism, and
/// gateways.
std::vector<std::string> network_sentences(const Machine& machine, std::size_t level);
/// Bandwidths, and where the memory is reached; empty if neither is described.
std::string access_sentence(const Machine& machine, std::size_t space);
/// One sentence for each unit: "matrix: lofi 2048, hifi2 1024 (published)".
std::vector<std::string> compute_sentences(const Machine& machine);
std::vector<std::string> rule_sentences(const Machine& machine);

}  // namespace tessera::tools
