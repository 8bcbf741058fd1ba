// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/spyre/cores.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/spyre/lines.h"

namespace tessera::notation {
namespace spyre {
namespace {

constexpr std::int64_t kMaxCores = std::int64_t{1} << 16;
constexpr std::int64_t kStickBytes = 128;

/// A device tensor and how it is divided.
struct Divided {
  std::vector<std::int64_t> device_size;
  std::vector<std::int64_t> stick_stride;  ///< sticks that one coordinate moves; 0 inside the stick
  std::vector<std::int64_t> cores;
  std::int64_t count = 1;

  SpyreSpan span(std::int64_t core) const {
    const std::vector<std::int64_t> piece = piece_size(device_size, cores);
    SpyreSpan result{core, 0, 0};
    std::int64_t first = 0;
    std::int64_t last = 0;
    for (std::size_t j = device_size.size(); j-- > 0;) {
      const std::int64_t start = core % cores[j] * piece[j];
      core /= cores[j];
      const std::int64_t end = std::min(start + piece[j], device_size[j]);
      if (end <= start) return result;
      first += start * stick_stride[j];
      last += (end - 1) * stick_stride[j];
    }
    result.first_byte = first * kStickBytes;
    result.bytes = (last - first + 1) * kStickBytes;
    return result;
  }
};

Result<Divided> divided(const SpyreLayout& words, const Shape& shape, DType dtype) {
  // Lowering checks that every count fits, cores included.
  TESSERA_TRY(const Layout layout, lower(words, shape, dtype));
  TESSERA_TRY(const DeviceLines device, device_lines(words, shape, dtype, Spans()));
  Divided result{device.device_size, device.device_stride, words.cores, layout.places()};
  result.cores.resize(device.device_size.size(), 1);
  for (std::int64_t& stride : result.stick_stride) stride /= device.device_size.back();
  return result;
}

/// Divides from the outermost device dim inwards, each dim as little as needed; empty when not even
/// single sticks fit.
std::vector<std::int64_t> fitting_division(const Divided& tensor, std::int64_t limit_bytes) {
  std::vector<std::int64_t> cores(tensor.device_size.size(), 1);
  for (std::size_t j = 0; j + 1 < cores.size(); ++j) {
    const std::int64_t coordinate_bytes = tensor.stick_stride[j] * kStickBytes;
    const std::int64_t fitting = limit_bytes / coordinate_bytes;
    cores[j] = ceil_div(tensor.device_size[j], std::max<std::int64_t>(fitting, 1));
    if (fitting >= 1) return cores;
  }
  return {};
}

}  // namespace
}  // namespace spyre

Result<SpyreSpan> core_span(const SpyreLayout& words, const Shape& shape, DType dtype,
                            std::int64_t core) {
  TESSERA_TRY(const spyre::Divided tensor, spyre::divided(words, shape, dtype));
  if (core < 0 || core >= tensor.count) {
    return Error{ErrorCode::kOutOfRange, cat("core ", core, " of ", tensor.count), std::nullopt,
                 "cores count from 0"};
  }
  return tensor.span(core);
}

Result<std::vector<SpyreSpan>> core_spans(const SpyreLayout& words, const Shape& shape,
                                          DType dtype) {
  TESSERA_TRY(const spyre::Divided tensor, spyre::divided(words, shape, dtype));
  if (tensor.count > spyre::kMaxCores) {
    return Error{
        ErrorCode::kTooLarge,
        cat("spans of ", tensor.count, " cores, at most ", spyre::kMaxCores, " are listed"),
        std::nullopt, "ask for one core"};
  }
  std::vector<SpyreSpan> spans;
  for (std::int64_t core = 0; core < tensor.count; ++core) spans.push_back(tensor.span(core));
  return spans;
}

Status check_core_spans(const SpyreLayout& words, const Shape& shape, DType dtype,
                        std::int64_t limit_bytes) {
  TESSERA_TRY(const spyre::Divided tensor, spyre::divided(words, shape, dtype));
  // Pieces are largest on core 0.
  const SpyreSpan span = tensor.span(0);
  if (span.bytes <= limit_bytes) return ok_status();
  const std::vector<std::int64_t> cores = spyre::fitting_division(tensor, limit_bytes);
  Error error{ErrorCode::kTooLarge,
              cat("core 0 spans ", span.bytes, " bytes of the tensor, the limit is ", limit_bytes),
              std::nullopt,
              cores.empty() ? "no division fits: a stick alone takes 128 bytes"
                            : cat("cores=", bracketed(cores), " would fit")};
  error.reasons = {
      {"core_span", {{"bytes", span.bytes}, {"limit", limit_bytes}, {"fitting_cores", cores}}}};
  return error;
}

}  // namespace tessera::notation
