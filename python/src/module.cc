// SPDX-License-Identifier: Apache-2.0
#include "native.h"
#include "tessera/version.h"

PYBIND11_MODULE(_native, module) {
  namespace own = tessera::python;
  module.doc() = "The compiled part of the package tessera. Use the package, not this module.";
  module.attr("__version__") = std::string(tessera::kVersion);
  own::bind_errors(module);
  own::bind_tensor(module);
  own::bind_relayout(module);
  own::bind_reshard(module);
  own::bind_memory(module);
  own::bind_choose(module);
  own::bind_notations(module);
  own::bind_lazy(module);  // before layouts, which name machines
  own::bind_mesh_layout(module);
  own::bind_command(module);
}
