// SPDX-License-Identifier: Apache-2.0
// A stranger's program: returns 0 when the installed headers and library work together.
#include "tessera/base/shape.h"
#include "tessera/version.h"

int main() {
  const auto shape = tessera::Shape::make({53, 63});
  return shape.ok() && shape->elements() == 53 * 63 && !tessera::kVersion.empty() ? 0 : 1;
}
