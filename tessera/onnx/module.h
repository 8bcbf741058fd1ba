// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/onnx/onnx_export.h"
#include "tessera/onnx/onnx_import.h"
#include "tessera/version.h"

/// The entry point of the module tessera_onnx.so, for programs that load libonnx only when they
/// need it. C++ values pass through, so both sides must have the same version and compiler; before
/// that is checked, only `version` may be read. The module is never unloaded.
namespace tessera::onnx_import {

struct OnnxModule {
  std::string_view version;   ///< of Tessera
  std::string_view compiler;  ///< that compiled the module
  Result<Imported> (*import)(std::string_view bytes, const ImportOptions& options) = nullptr;
  Result<std::string> (*write)(const graph::Graph& graph, const ExportOptions& options) = nullptr;
};

using OnnxModuleFunction = const OnnxModule* (*)();
inline constexpr const char* kOnnxModuleSymbol = "tessera_onnx_module";
inline constexpr std::string_view kOnnxCompiler = __VERSION__;

}  // namespace tessera::onnx_import
