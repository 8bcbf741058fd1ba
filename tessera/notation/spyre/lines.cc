// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/spyre/lines.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::notation::spyre {
namespace {

/// The rules for every explicit text, independent of its map: one entry per device dim, valid
/// extents, a whole stick at the end, and cores that do not divide the stick.
Status check_device(const SpyreLayout& words, DType dtype, const Spans& spans) {
  const std::vector<std::int64_t>& size = words.device_size;
  const std::size_t rank = size.size();
  TESSERA_TRY(const std::int64_t per_stick, elements_per_stick(dtype));
  for (std::size_t j = 0; j < rank; ++j) {
    if (size[j] >= 0) continue;
    return spans.blame(Item::kDeviceSize, j,
                       {ErrorCode::kBadShape, cat("device dim ", j, " has the extent ", size[j]),
                        std::nullopt, "extents are 0 or more"});
  }
  if (size.empty() || size.back() != per_stick) {
    const std::string found =
        size.empty() ? "there is no device dim" : cat("the last device extent is ", size.back());
    return spans.blame(
        Item::kDeviceSize, rank - 1,
        {ErrorCode::kContradiction,
         cat("a stick holds ", per_stick, " elements of ", dtype_name(dtype), ", but ", found),
         std::nullopt, cat("end device_size in ", per_stick)});
  }
  if (words.map.size() != rank) {
    const std::string_view name =
        words.form == SpyreLayout::Form::kDimMap ? "dim_map" : "stride_map";
    return spans.blame(Item::kMap, {ErrorCode::kContradiction,
                                    cat(name, " has ", words.map.size(),
                                        words.map.size() == 1 ? " number for " : " numbers for ",
                                        rank, rank == 1 ? " device dim" : " device dims"),
                                    std::nullopt, "one number per device dim"});
  }
  return ok_status();
}

Status check_cores(const SpyreLayout& words, std::size_t rank, const Spans& spans) {
  const std::vector<std::int64_t>& cores = words.cores;
  if (cores.empty()) return ok_status();
  if (cores.size() != rank) {
    return spans.blame(
        Item::kCores,
        {ErrorCode::kContradiction,
         cat("cores has ", cores.size(), cores.size() == 1 ? " number for " : " numbers for ", rank,
             rank == 1 ? " device dim" : " device dims"),
         std::nullopt, "pieces of each device dim; 1 where it stays whole"});
  }
  for (std::size_t j = 0; j < rank; ++j) {
    if (cores[j] < 1) {
      return spans.blame(
          Item::kCores, j,
          {ErrorCode::kOutOfRange, cat("device dim ", j, " is divided into ", cores[j], " pieces"),
           std::nullopt, "1 or more"});
    }
  }
  if (cores.back() != 1) {
    return spans.blame(
        Item::kCores, rank - 1,
        {ErrorCode::kNotSupported, cat("the stick is divided into ", cores.back(), " pieces"),
         std::nullopt, "a stick is never split: divide another device dim"});
  }
  return ok_status();
}

/// Whether a device dim has only one coordinate and therefore needs no digit.
bool says_nothing(const SpyreLayout& words, const std::vector<std::int64_t>& device_size,
                  std::size_t j) {
  return device_size[j] == 1 && cores_of(words, j) == 1;
}

/// One line for each dim; its rightmost digit is the fastest.
Result<std::vector<DeviceLine>> lines_of_dims(const SpyreLayout& words,
                                              const std::vector<std::int64_t>& device_size,
                                              const std::vector<std::int64_t>& device_stride,
                                              const std::vector<std::int64_t>& dims,
                                              const Shape& shape, const Spans& spans) {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::vector<DeviceLine> lines;
  std::vector<std::vector<Digit>> digits(shape.rank());
  std::vector<Checked> width(shape.rank(), Checked(1));
  std::vector<std::optional<Digit>> leftmost(shape.rank());
  for (std::size_t j = dims.size(); j-- > 0;) {
    if (dims[j] < -1 || dims[j] >= rank) {
      return spans.blame(
          Item::kMap, j,
          {ErrorCode::kOutOfRange,
           cat("device dim ", j, " is mapped to dim ", dims[j], " of a tensor of rank ", rank),
           std::nullopt,
           rank == 0 ? "-1, because a scalar has no dims"
                     : cat("0 to ", rank - 1, ", or -1 for a synthetic dim")});
    }
    if (dims[j] == -1) {
      if (says_nothing(words, device_size, j)) continue;
      lines.push_back({{}, {{j, 1, device_size[j], device_stride[j]}}, true});
      continue;
    }
    const auto dim = static_cast<std::size_t>(dims[j]);
    const Result<std::int64_t> step = width[dim].value(cat("the step of device dim ", j));
    if (!step) return spans.blame(Item::kDeviceSize, j, step.error());
    leftmost[dim] = Digit{j, *step, device_size[j], device_stride[j]};
    // In an empty dim even a single coordinate holds nothing.
    if (shape[dim] == 0 || !says_nothing(words, device_size, j)) {
      digits[dim].push_back(*leftmost[dim]);
    }
    width[dim] *= std::max<std::int64_t>(device_size[j], 1);
  }
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (!leftmost[dim]) {
      if (shape[dim] == 1) continue;
      return spans.blame(Item::kMap, {ErrorCode::kContradiction,
                                      cat("dim_map omits dim ", dim, " of extent ", shape[dim]),
                                      std::nullopt, "only dims of extent 1 may be omitted"});
    }
    const auto [j, step, extent, stride] = *leftmost[dim];
    const std::int64_t need = ceil_div(shape[dim], step);
    if (extent < need) {
      const bool is_stick = j + 1 == dims.size();
      return spans.blame(
          Item::kDeviceSize, j,
          {ErrorCode::kCountTooSmall,
           cat("device dim ", j, " has the extent ", extent, ", but dim ", dim, " of extent ",
               shape[dim], " needs ", need, step == 1 ? std::string() : cat(" steps of ", step)),
           std::nullopt,
           is_stick ? cat("count its sticks in another device dim of extent ",
                          ceil_div(shape[dim], extent), " or more")
                    : cat("an extent of ", need, " or more")});
    }
    std::reverse(digits[dim].begin(), digits[dim].end());
    if (digits[dim].empty()) continue;
    lines.push_back({{{static_cast<int>(dim), 1}}, std::move(digits[dim]), false});
  }
  return lines;
}

}  // namespace

std::optional<std::size_t> DeviceLine::stick(std::size_t device_rank) const {
  for (std::size_t k = 0; k < digits.size(); ++k) {
    if (digits[k].device_dim + 1 == device_rank) return k;
  }
  return std::nullopt;
}

std::int64_t line_extent(const std::vector<Term>& terms, const Shape& shape) {
  Fold fold;
  fold.terms = terms;
  return fold.extent(shape);
}

Result<std::vector<std::int64_t>> device_strides(const std::vector<std::int64_t>& device_size) {
  std::vector<std::int64_t> strides(device_size.size());
  Checked stride = 1;
  for (std::size_t j = device_size.size(); j-- > 0;) {
    strides[j] = stride.saturated();
    stride *= std::max<std::int64_t>(device_size[j], 1);
  }
  TESSERA_TRY([[maybe_unused]] const std::int64_t slots, stride.value("the device tensor"));
  return strides;
}

Result<DeviceLines> device_lines(const SpyreLayout& words, const Shape& shape, DType dtype,
                                 const Spans& spans) {
  TESSERA_TRY(const std::vector<std::int64_t> host, host_strides(words, shape, spans));
  DeviceLines result{shape, words.device_size, {}, {}};
  std::vector<std::int64_t> dims = words.map;
  if (words.form == SpyreLayout::Form::kDefault) {
    TESSERA_TRY(const std::int64_t per_stick, elements_per_stick(dtype));
    TESSERA_TRY(DefaultDims by_rule, default_dims(words, shape, per_stick, spans));
    result.device_size = std::move(by_rule.device_size);
    dims = std::move(by_rule.dims);
    for (std::int64_t& dim : dims) {  // kept in era now, with stride -1
      if (dim >= 0 && shape[static_cast<std::size_t>(dim)] == 1) dim = -1;
    }
  } else {
    TESSERA_CHECK_OK(check_device(words, dtype, spans));
  }
  TESSERA_CHECK_OK(check_cores(words, result.device_size.size(), spans));
  Result<std::vector<std::int64_t>> strides = device_strides(result.device_size);
  if (!strides) return spans.blame(Item::kDeviceSize, strides.error());
  result.device_stride = *std::move(strides);
  if (words.form == SpyreLayout::Form::kStrideMap) {
    TESSERA_TRY(result.lines, lines_of_strides(words, shape, host, spans));
  } else {
    TESSERA_TRY(result.lines,
                lines_of_dims(words, result.device_size, result.device_stride, dims, shape, spans));
  }
  // Dims in order, then device dims that no dim moves along, so that both kinds of maps give equal
  // lines.
  const auto key = [](const DeviceLine& line) {
    return std::pair(line.terms.empty(), line.terms.empty()
                                             ? line.digits[0].device_dim
                                             : static_cast<std::size_t>(line.terms[0].dim));
  };
  std::sort(result.lines.begin(), result.lines.end(),
            [&](const DeviceLine& a, const DeviceLine& b) { return key(a) < key(b); });
  return result;
}

}  // namespace tessera::notation::spyre
