// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/onnx/module.h"

namespace tessera::tools {

/// The module of onnx/, which is loaded once. kNotSupported where this installation has none,
/// kContradiction where it is of another version.
Result<const onnx_import::OnnxModule*> load_onnx_module();

}  // namespace tessera::tools
