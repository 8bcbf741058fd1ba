// SPDX-License-Identifier: Apache-2.0
#include "tessera/onnx/module.h"

extern "C" __attribute__((visibility("default"))) const tessera::onnx_import::OnnxModule*
tessera_onnx_module() {
  static constexpr tessera::onnx_import::OnnxModule kModule{
      tessera::kVersion, tessera::onnx_import::kOnnxCompiler, &tessera::onnx_import::import_onnx,
      &tessera::onnx_import::export_onnx};
  return &kModule;
}
