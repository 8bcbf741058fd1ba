// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::test {

/// The instruction sets that kernels were compiled for and this machine supports, best first, as
/// Highway's numbers.
std::vector<std::int64_t> instruction_sets();
std::string instruction_set_name(std::int64_t set);

/// During its lifetime, the run-time dispatch of kernels uses only one set.
class OnlyInstructionSet {
 public:
  explicit OnlyInstructionSet(std::int64_t set);
  ~OnlyInstructionSet();
  OnlyInstructionSet(const OnlyInstructionSet&) = delete;
  OnlyInstructionSet& operator=(const OnlyInstructionSet&) = delete;
};

}  // namespace tessera::test
