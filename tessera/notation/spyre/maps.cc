// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/spyre/lines.h"

namespace tessera::notation {
namespace spyre {

Result<std::vector<std::int64_t>> strides_of_dims(const std::vector<std::int64_t>& device_size,
                                                  const std::vector<std::int64_t>& dims,
                                                  const Shape& shape,
                                                  const std::vector<std::int64_t>& host_stride) {
  std::vector<std::int64_t> strides(dims.size(), -1);
  std::vector<Checked> next(host_stride.begin(), host_stride.end());
  for (std::size_t j = dims.size(); j-- > 0;) {
    if (dims[j] < 0) continue;
    const auto dim = static_cast<std::size_t>(dims[j]);
    if (shape[dim] == 1) continue;
    TESSERA_TRY(strides[j], next[dim].value(cat("the stride of device dim ", j)));
    next[dim] *= std::max<std::int64_t>(device_size[j], 1);
  }
  return strides;
}

namespace {

Error no_dim_map(const std::string& message) {
  return Error{ErrorCode::kNotSupported, cat("a dim_map cannot express that ", message),
               std::nullopt, "a stride_map can"};
}

/// The dim and width of each device dim longer than 1; -1 if nothing moves along it.
struct Owner {
  std::int64_t dim = -1;
  std::int64_t width = 1;
};

Result<std::vector<Owner>> owners(const DeviceLines& device) {
  std::vector<Owner> result(device.device_size.size());
  std::vector<bool> taken(device.device_size.size(), false);
  for (const DeviceLine& line : device.lines) {
    if (line.terms.empty()) continue;
    for (const Digit& digit : line.digits) {
      if (line.terms.size() > 1 || taken[digit.device_dim]) {
        const std::int64_t other =
            line.terms.size() > 1 ? line.terms[1].dim : result[digit.device_dim].dim;
        return no_dim_map(cat("device dim ", digit.device_dim, " runs across dims ",
                              std::min<std::int64_t>(line.terms[0].dim, other), " and ",
                              std::max<std::int64_t>(line.terms[0].dim, other)));
      }
      if (line.terms[0].coef != 1) {
        return no_dim_map(cat("one step along dim ", line.terms[0].dim, " moves ",
                              line.terms[0].coef, " coordinates of device dim ",
                              line.digits.back().device_dim));
      }
      taken[digit.device_dim] = true;
      result[digit.device_dim] = {line.terms[0].dim, digit.width};
    }
  }
  return result;
}

/// The widths of a dim's digits must grow from right to left by exactly the extents of the digits.
Result<std::vector<std::int64_t>> dims_of_owners(const DeviceLines& device,
                                                 const std::vector<std::int64_t>& strides,
                                                 const std::vector<std::int64_t>& host_stride) {
  TESSERA_TRY(const std::vector<Owner> owner, owners(device));
  const Shape& shape = device.shape;
  std::vector<std::int64_t> dims(device.device_size.size(), -1);
  std::vector<Checked> width(shape.rank(), Checked(1));
  for (std::size_t j = dims.size(); j-- > 0;) {
    if (device.device_size[j] == 1) {
      // A single coordinate: assigned to the dim whose next digit it would be.
      for (std::size_t dim = 0; dim < shape.rank() && dims[j] < 0; ++dim) {
        const Checked stride = width[dim] * host_stride[dim];
        if (shape[dim] > 1 && !stride.overflowed() && stride.raw() == strides[j]) {
          dims[j] = static_cast<std::int64_t>(dim);
        }
      }
      continue;
    }
    if (owner[j].dim < 0) continue;
    const auto dim = static_cast<std::size_t>(owner[j].dim);
    const std::int64_t expected = width[dim].saturated();
    if (owner[j].width != expected) {
      for (std::size_t left = 0; left < j; ++left) {
        if (owner[left].dim != owner[j].dim || owner[left].width >= owner[j].width) continue;
        return no_dim_map(cat("dim ", dim, " steps ", owner[j].width, " in device dim ", j, " and ",
                              owner[left].width, " in device dim ", left,
                              " to its left: the digits of a dim widen from right to left"));
      }
      return no_dim_map(cat("dim ", dim, " steps ", owner[j].width, " in device dim ", j,
                            ", where the extents to its right make ", expected));
    }
    dims[j] = owner[j].dim;
    width[dim] *= device.device_size[j];
  }
  return dims;
}

}  // namespace
}  // namespace spyre

Result<std::vector<std::int64_t>> stride_map_of(const SpyreLayout& words, const Shape& shape,
                                                DType dtype) {
  const spyre::Spans nowhere;
  TESSERA_TRY(const spyre::DeviceLines device, spyre::device_lines(words, shape, dtype, nowhere));
  if (words.form == SpyreLayout::Form::kStrideMap) return words.map;
  TESSERA_TRY(const std::vector<std::int64_t> host, spyre::host_strides(words, shape, nowhere));
  TESSERA_TRY(const std::vector<std::int64_t> dims, dim_map_of(words, shape, dtype));
  return spyre::strides_of_dims(device.device_size, dims, shape, host);
}

Result<std::vector<std::int64_t>> dim_map_of(const SpyreLayout& words, const Shape& shape,
                                             DType dtype) {
  const spyre::Spans nowhere;
  TESSERA_TRY(const spyre::DeviceLines device, spyre::device_lines(words, shape, dtype, nowhere));
  if (words.form == SpyreLayout::Form::kDimMap) return words.map;
  if (words.form == SpyreLayout::Form::kDefault) {
    TESSERA_TRY(const std::int64_t per_stick, elements_per_stick(dtype));
    TESSERA_TRY(spyre::DefaultDims dims, spyre::default_dims(words, shape, per_stick, nowhere));
    return std::move(dims.dims);
  }
  if (shape.empty()) {
    return Error{ErrorCode::kNotSupported,
                 "the strides of an empty tensor do not determine its dims", std::nullopt,
                 "give the dim_map itself"};
  }
  TESSERA_TRY(const std::vector<std::int64_t> host, spyre::host_strides(words, shape, nowhere));
  return spyre::dims_of_owners(device, words.map, host);
}

Result<bool> same_device_layout(const SpyreLayout& a, const SpyreLayout& b, const Shape& shape,
                                DType dtype) {
  TESSERA_TRY(const SpyreLayout spelled_a, spelled_out(a, shape, dtype));
  TESSERA_TRY(const SpyreLayout spelled_b, spelled_out(b, shape, dtype));
  TESSERA_TRY(const std::vector<std::int64_t> strides_a, stride_map_of(a, shape, dtype));
  TESSERA_TRY(const std::vector<std::int64_t> strides_b, stride_map_of(b, shape, dtype));
  if (spelled_a.device_size != spelled_b.device_size) return false;
  for (std::size_t j = 0; j < strides_a.size(); ++j) {
    if (spelled_a.device_size[j] != 1 && strides_a[j] != strides_b[j]) return false;
  }
  return true;
}

}  // namespace tessera::notation
