// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/onnx_module.h"

#include "tessera/base/text.h"
#include "tessera/version.h"
#include "tools/files/module_file.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr ModuleFile kModule = {
    "tessera_onnx.so", "ONNX", onnx_import::kOnnxModuleSymbol,
    "build Tessera where libonnx is installed (libonnx-dev, libprotobuf-dev), or keep to graphs as "
    "JSON (docs/graph.md)",
    "install the libraries of ONNX and protobuf that it was built with"};

}  // namespace

Result<const onnx_import::OnnxModule*> load_onnx_module() {
  TESSERA_TRY(const LoadedModule loaded, load_module(kModule));
  const auto entry = reinterpret_cast<onnx_import::OnnxModuleFunction>(loaded.entry);
  const onnx_import::OnnxModule* const module = entry();
  if (module->version != kVersion || module->compiler != onnx_import::kOnnxCompiler) {
    return Error{ErrorCode::kContradiction,
                 cat(quote(loaded.path), " is of another version than the command"), std::nullopt,
                 "install both from the same build"};
  }
  return module;
}

}  // namespace tessera::tools
