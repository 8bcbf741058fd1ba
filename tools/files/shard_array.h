// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tools/files/array_layout.h"
#include "tools/files/npy.h"

namespace tessera::tools {

/// The memory of one place as a NumPy array.
///
///   a box in row-major order     the shape of the box, one extent per fold: 2048x4096
///   a box in column-major order  that shape, in Fortran order
///   anything else (tiles, ..)    [slots]
///
/// Types are those of file_array: bf16, fp8 and the like are raw bits.
/// Example: 53x63 on 3x2 places without tiles is (18, 32) on every one of them.
FileArray shard_array(const Placement& placement);

/// `places` places in one file: [places] ++ the shape of one place, or [places, slots] where that
/// is not row-major.
FileArray stacked_array(const Placement& placement, std::int64_t places);

/// Whether a file with this header holds the memory that `array` describes. In C order only the
/// product of the shape is compared. Fortran order is valid for a box in column-major order with
/// its own shape, for which C order is invalid, and where at most one extent is above 1. Errors:
/// kBadDType and kShapeMismatch with what was expected and what was found.
Status check_shard_header(const FileArray& array, DType storage, const NpyHeader& header,
                          const std::string& name);

}  // namespace tessera::tools
