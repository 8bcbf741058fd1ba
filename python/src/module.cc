// SPDX-License-Identifier: Apache-2.0
#include "native.h"
#include "tessera/version.h"

PYBIND11_MODULE(_native, module) {
  using namespace tessera::python;
  module.doc() = "The compiled part of the package tessera. Use the package, not this module.";
  module.attr("__version__") = std::string(tessera::kVersion);
  bind_errors(module);
  bind_tensor(module);
  bind_relayout(module);
  bind_reshard(module);
  bind_memory(module);
  bind_choose(module);
  bind_notations(module);
  bind_command(module);
}
