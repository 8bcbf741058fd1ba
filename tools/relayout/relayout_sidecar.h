// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/base/result.h"
#include "tessera/notation/notation.h"

/// What a .npy file of raw bits cannot say is in a JSON file beside it: y.npy.json says of y.npy
///
///     {"dtype": "bf16", "shape": [53, 63], "tensor": "tensor<53x63xbf16, ..>"}
///
/// dtype is the type in memory, shape the tensor's.
namespace tessera::tools {

std::string sidecar_name(const std::string& file);

/// Whether what the sidecar of `file` says, if it has one, agrees with `tensor`.
/// Errors: kContradiction with both sides; kBadJson for a file that is no sidecar.
Status check_sidecar(const std::string& file, const Tensor& tensor);

/// Writes the sidecar, or, with `is_needed` false, takes away one that an earlier run left, because
/// it would speak of a file that is gone. A file of that name which is no sidecar is kIo, and
/// stays.
Status update_sidecar(const std::string& file, const Tensor& tensor, bool is_needed);

}  // namespace tessera::tools
