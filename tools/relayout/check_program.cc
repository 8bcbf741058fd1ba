// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"
#include "tessera/relayout/verify.h"
#include "tools/command/bug.h"
#include "tools/relayout/relayout_files.h"

namespace tessera::tools {

Status check_program(const relayout::Program& program, const Placement& from, const Placement& to,
                     relayout::PaddingRule padding) {
  TESSERA_TRY(const std::vector<relayout::Finding> findings,
              relayout::verify(program, from, to, padding));
  if (findings.empty()) return ok_status();
  const relayout::Finding& first = findings.front();
  return Error{ErrorCode::kContradiction,
               cat("the program is wrong (", relayout::flaw_name(first.flaw), "): ", first.message),
               std::nullopt, cat(kBugHelp, " with the two tensors")};
}

}  // namespace tessera::tools
