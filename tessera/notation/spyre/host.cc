// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/spyre/lines.h"

namespace tessera::notation::spyre {
namespace {

Status check_strides(const std::vector<std::int64_t>& strides, const Shape& shape,
                     const Spans& spans) {
  if (strides.size() != shape.rank()) {
    return spans.blame(
        Item::kHostStride,
        {ErrorCode::kContradiction,
         cat("host_stride has ", strides.size(), strides.size() == 1 ? " number" : " numbers",
             " for a tensor of rank ", shape.rank()),
         std::nullopt, cat("row-major is host_stride=", bracketed(shape.row_major_strides()))});
  }
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] <= 1 || strides[dim] > 0) continue;
    if (strides[dim] == 0) {
      return spans.blame(Item::kHostStride, dim,
                         {ErrorCode::kNotInjective,
                          cat("dim ", dim, " has host stride 0: its ", shape[dim],
                              " elements would share one host element"),
                          std::nullopt, "copy the expanded tensor on the host first"});
    }
    return spans.blame(
        Item::kHostStride, dim,
        {ErrorCode::kOutOfRange, cat("dim ", dim, " has host stride ", strides[dim]), std::nullopt,
         "host strides are 1 or more; flip the dim on the host first"});
  }
  return ok_status();
}

}  // namespace

bool strides_nest(const std::vector<std::int64_t>& strides, const Shape& shape) {
  std::vector<std::size_t> dims;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] > 1) dims.push_back(dim);
  }
  std::sort(dims.begin(), dims.end(),
            [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  Checked span = 0;
  for (const std::size_t dim : dims) {
    if (span.saturated() >= strides[dim]) return false;
    span += Checked(strides[dim]) * (shape[dim] - 1);
  }
  return true;
}

Result<std::vector<std::int64_t>> host_strides(const SpyreLayout& words, const Shape& shape,
                                               const Spans& spans) {
  const std::int64_t offset = words.storage_offset.value_or(0);
  if (offset < 0) {
    return spans.blame(Item::kStorageOffset,
                       {ErrorCode::kOutOfRange, cat("the storage offset is ", offset), std::nullopt,
                        "host elements count from 0"});
  }
  const std::vector<std::int64_t> strides =
      words.host_stride ? *words.host_stride : shape.row_major_strides();
  if (words.host_stride) TESSERA_CHECK_OK(check_strides(strides, shape, spans));
  if (shape.empty()) return strides;
  Checked last = 0;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] > 1) last += Checked(strides[dim]) * (shape[dim] - 1);
  }
  // One past the last offset is the length of the line of host offsets.
  Result<std::int64_t> end = (last + 1).value("the host tensor");
  if (!end) return spans.blame(Item::kHostStride, end.error());
  end = (last + offset + 1).value("the host tensor with its storage offset");
  if (!end) return spans.blame(Item::kStorageOffset, end.error());
  if (strides_nest(strides, shape)) return strides;
  const Result<Layout> host = Layout::strided(shape, DType::kI8, strides);
  if (host) return strides;
  Error error = host.error();
  if (error.code == ErrorCode::kNotInjective) {
    error.message = cat("host_stride ", bracketed(strides), ": ", error.message);
    error.help = "strides of a tensor whose elements do not share memory";
  }
  return spans.blame(Item::kHostStride, error);
}

}  // namespace tessera::notation::spyre
