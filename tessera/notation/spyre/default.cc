// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/spyre/lines.h"

namespace tessera::notation::spyre {
namespace {

constexpr std::int64_t kSynthetic = -1;

/// The dims, slowest first, as given or 0 .. n-1.
Result<std::vector<std::int64_t>> order_of(const SpyreLayout& words, const Shape& shape,
                                           const Spans& spans) {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::vector<std::int64_t> order(shape.rank());
  std::iota(order.begin(), order.end(), 0);
  if (!words.dim_order) return order;
  if (words.dim_order->size() != shape.rank()) {
    const bool ends_in_synthetic =
        words.dim_order->size() == shape.rank() + 1 && words.dim_order->back() == kSynthetic;
    return spans.blame(
        Item::kDimOrder,
        {ErrorCode::kContradiction,
         cat("dim_order has ", words.dim_order->size(), " dims for a tensor of rank ", rank),
         std::nullopt,
         ends_in_synthetic ? "omit the -1 and give sparse=true"
                           : cat("every dim once, such as dim_order=", bracketed(order))});
  }
  std::vector<bool> seen(shape.rank(), false);
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const std::int64_t dim = (*words.dim_order)[i];
    const bool exists = dim >= 0 && dim < rank;
    if (exists && !seen[static_cast<std::size_t>(dim)]) {
      seen[static_cast<std::size_t>(dim)] = true;
      continue;
    }
    return spans.blame(Item::kDimOrder, i,
                       {ErrorCode::kOutOfRange,
                        exists ? cat("dim_order names dim ", dim, " twice")
                               : cat("dim_order names dim ", dim, " of a tensor of rank ", rank),
                        std::nullopt, cat("every dim once, such as dim_order=", bracketed(order))});
  }
  return *words.dim_order;
}

}  // namespace

Result<DefaultDims> default_dims(const SpyreLayout& words, const Shape& shape,
                                 std::int64_t per_stick, const Spans& spans) {
  TESSERA_TRY(std::vector<std::int64_t> order, order_of(words, shape, spans));
  const bool document = words.era == SpyreLayout::Era::kDocument;
  const auto extent = [&](std::int64_t dim) {
    return dim == kSynthetic ? 1 : shape[static_cast<std::size_t>(dim)];
  };
  if (document) std::erase_if(order, [&](std::int64_t dim) { return extent(dim) == 1; });
  // A scalar is a sparse tensor of one stick.
  if (words.sparse || order.empty()) order.push_back(kSynthetic);
  const std::int64_t stick = order.back();
  DefaultDims result;
  const auto add = [&](std::int64_t dim, std::int64_t size) {
    result.dims.push_back(dim);
    result.device_size.push_back(size);
  };
  for (std::size_t i = 1; i + 1 < order.size(); ++i) add(order[i], extent(order[i]));
  if (!document || stick != kSynthetic) add(stick, ceil_div(extent(stick), per_stick));
  if (order.size() > 1) add(order.front(), extent(order.front()));
  add(stick, per_stick);
  return result;
}

}  // namespace tessera::notation::spyre

namespace tessera::notation {

Result<SpyreLayout> spelled_out(const SpyreLayout& words, const Shape& shape, DType dtype) {
  if (words.form != SpyreLayout::Form::kDefault) return words;
  const spyre::Spans nowhere;
  TESSERA_TRY(const std::int64_t per_stick, elements_per_stick(dtype));
  TESSERA_TRY(const std::vector<std::int64_t> host, spyre::host_strides(words, shape, nowhere));
  TESSERA_TRY(spyre::DefaultDims dims, spyre::default_dims(words, shape, per_stick, nowhere));
  SpyreLayout result = words;
  result.dim_order = std::nullopt;
  result.sparse = false;
  if (words.era == SpyreLayout::Era::kDocument || !spyre::strides_nest(host, shape)) {
    result.form = SpyreLayout::Form::kDimMap;
    result.map = std::move(dims.dims);
    for (std::int64_t& dim : result.map) {
      if (dim >= 0 && shape[static_cast<std::size_t>(dim)] == 1) dim = -1;
    }
  } else {
    result.form = SpyreLayout::Form::kStrideMap;
    TESSERA_TRY(result.map, spyre::strides_of_dims(dims.device_size, dims.dims, shape, host));
  }
  result.device_size = std::move(dims.device_size);
  return result;
}

}  // namespace tessera::notation
