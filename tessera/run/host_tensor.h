// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/base/result.h"
#include "tessera/device/device.h"
#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"

namespace tessera::run {

/// A whole tensor in the memory of this process: row-major elements, packed as in graph/data.h.
struct HostTensor {
  graph::TensorType type;
  std::string bytes;
};

/// kShapeMismatch or kBadDType, with both types, for a tensor of another type than `wanted`;
/// kContradiction for a wrong number of bytes.
Status check_tensor(const HostTensor& tensor, const graph::TensorType& wanted);

/// Writes a tensor to a buffer that has this layout: to every replica; to the first share, if it
/// keeps shares, while the others become neutral.
Status write_tensor(device::Device& device, device::BufferId buffer, const Layout& layout,
                    const HostTensor& tensor);

/// The tensor that a buffer with this layout holds, its shares combined in their order.
/// Law: read_tensor after write_tensor gives the same bytes.
Result<HostTensor> read_tensor(const device::Device& device, device::BufferId buffer,
                               const Layout& layout);

/// The places that hold a part of a tensor, as numbers on the layout's mesh, ascending.
Result<std::vector<std::int64_t>> places_of(const Layout& layout);

}  // namespace tessera::run
