// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/testing/notation/rule_check.h"

/// Spyre's own rule, evaluated by plain loops: the reference that the notation is tested against. A
/// device tensor is walked coordinate by coordinate in row-major order, and the rule gives the
/// element of the host tensor that each coordinate holds.
namespace tessera::test {

/// A Spyre layout of a tensor as it is written.
struct SpyreRule {
  enum class Form : std::uint8_t { kDimMap, kStrideMap, kDefault };

  Numbers shape;
  std::string dtype = "f16";
  Form form = Form::kDefault;
  Numbers device_size;
  Numbers map;  ///< dim_map or stride_map
  std::optional<Numbers> dim_order;
  bool sparse = false;
  std::string era;  ///< "document", "now", or empty when unsaid
  std::optional<Numbers> host_stride;
  std::optional<std::int64_t> storage_offset;
  Numbers cores;

  /// "spyre<device_size=[4, 512, 64], dim_map=[1, 0, 1]>".
  std::string text() const;
};

/// Elements of a 128-byte stick; 0 for types that Spyre does not support.
std::int64_t spyre_stick(const std::string& dtype);

/// A device layout in full: the layout that a default abbreviates.
struct SpyreDevice {
  Numbers size;
  Numbers dim_map;  ///< -1 for synthetic dims, and for the appended dim of today's sparse tensors
};

/// Device dims of rank n and order o: o[1], .., o[n-1] as stick count, o[0], o[n-1] inside the
/// stick; the Spyre document drops dims of size 1 first; a sparse tensor keeps one element per
/// stick.
SpyreDevice spyre_default(const SpyreRule& rule);

/// The device layout of a dim_map or default text.
SpyreDevice spyre_device(const SpyreRule& rule);

/// As given, otherwise row-major, where an empty dim counts as one as in PyTorch.
Numbers spyre_host_stride(const SpyreRule& rule);

/// From right to left: the first visit of dim d gives stride[d], later ones the previous value x
/// the previous device extent; -1 for synthetic dims and dims of size 1.
Numbers spyre_stride_map(const SpyreDevice& device, const Numbers& shape, const Numbers& stride);

/// The device coordinate of every element, in row-major order of elements. By dim_map: the
/// coordinates of a dim combine with strides that grow from right to left. By stride_map: the host
/// offset Σ coordinate·stride is the element's; where padding reaches the same offset too, the
/// coarser steps are taken first, as the chain of divisions by falling strides does.
std::vector<Numbers> spyre_coordinates(const SpyreRule& rule);

Ruled ruled(const SpyreRule& rule);

SpyreRule random_spyre(Dice& dice);

}  // namespace tessera::test
