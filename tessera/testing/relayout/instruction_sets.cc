// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/relayout/instruction_sets.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

namespace tessera::test {

std::vector<std::int64_t> instruction_sets() { return hwy::SupportedAndGeneratedTargets(); }

std::string instruction_set_name(std::int64_t set) { return hwy::TargetName(set); }

OnlyInstructionSet::OnlyInstructionSet(std::int64_t set) {
  hwy::SetSupportedTargetsForTest(set);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

OnlyInstructionSet::~OnlyInstructionSet() {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace tessera::test
