// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/base/result.h"
#include "tessera/notation/notation.h"

/// A JSON file next to a .npy file of raw bits states what the .npy file cannot: y.npy.json
/// describes y.npy as
///
///     {"dtype": "bf16", "shape": [53, 63], "tensor": "tensor<53x63xbf16, ..>"}
///
/// dtype is the type in memory, shape the tensor's.
namespace tessera::tools {

std::string sidecar_name(const std::string& file);

/// Checks that the sidecar of `file`, if there is one, agrees with `tensor`.
/// Errors: kContradiction with both sides; kBadJson for a file that is not a sidecar.
Status check_sidecar(const std::string& file, const Tensor& tensor);

/// Writes the sidecar, or, with `is_needed` false, removes one that an earlier run left, because it
/// describes a file that no longer exists. A file of that name which is not a sidecar is kIo, and
/// is kept.
Status update_sidecar(const std::string& file, const Tensor& tensor, bool is_needed);

}  // namespace tessera::tools
