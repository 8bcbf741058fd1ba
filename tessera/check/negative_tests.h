// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/check/mlir_scan.h"

namespace tessera::check {

/// The parts of a file that exist to be refused: negative tests.
///
///   `// expected-error {{..}}`   makes its part of the file a negative test. Parts lie between
///                                lines `// -----`; a file whose RUN lines do not split it
///                                (`split-input-file`) has one part
///   `// RUN: not COMMAND %s ..`  makes the whole file a negative test, also where the command
///   reads
///                                the file through a pipe. `not` before a program that only
///                                inspects output (FileCheck, grep, diff, ..) does not
class NegativeTests {
 public:
  NegativeTests(std::string_view text, const MlirScan& scan);

  /// Whether the byte is in a negative test.
  bool has(std::int64_t byte) const;

 private:
  std::vector<Span> parts_;  // increasing, disjoint
};

}  // namespace tessera::check
