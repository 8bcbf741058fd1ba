// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::test {

/// The instruction sets that kernels were compiled for and this machine has, best first, as numbers
/// of Highway.
std::vector<std::int64_t> instruction_sets();
std::string instruction_set_name(std::int64_t set);

/// While it lives, kernels chosen at run time are those of one set.
class OnlyInstructionSet {
 public:
  explicit OnlyInstructionSet(std::int64_t set);
  ~OnlyInstructionSet();
  OnlyInstructionSet(const OnlyInstructionSet&) = delete;
  OnlyInstructionSet& operator=(const OnlyInstructionSet&) = delete;
};

}  // namespace tessera::test
