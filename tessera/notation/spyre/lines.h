// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/spyre/spyre.h"

/// Code shared by the parts of the Spyre notation: a Spyre layout as lines of device digits.
namespace tessera::notation::spyre {

/// The items of the text that an error can point at.
enum class Item : std::uint8_t {
  kDeviceSize,
  kMap,
  kDimOrder,
  kSparse,
  kEra,
  kHostStride,
  kStorageOffset,
  kCores
};
inline constexpr std::size_t kItems = 8;

/// The spans of the items of a text; empty for a layout that was not read from text.
struct Spans {
  struct Of {
    Span whole;
    std::vector<Span> numbers;
  };
  std::array<std::optional<Of>, kItems> items;

  std::optional<Of>& operator[](Item item) { return items[static_cast<std::size_t>(item)]; }
  /// The error with the span of an item, or of one of its numbers, if the text has it.
  Error blame(Item item, const Error& error) const;
  Error blame(Item item, std::size_t number, Error error) const;
};

/// The part of one device dim in a line: coordinate = (remainder of the wider digits) div width.
struct Digit {
  std::size_t device_dim = 0;
  std::int64_t width = 1;
  std::int64_t extent = 1;  ///< coordinates of the device dim for this digit
  std::int64_t stride = 1;  ///< slots of the undivided tensor per step
};

/// Logical dims joined into a line (usually one dim, with coefficient 1) and the device digits that
/// cut it. Without terms, only coordinate 0 of each digit holds data.
struct DeviceLine {
  std::vector<Term> terms;
  std::vector<Digit> digits;  ///< decreasing widths, the last is 1
  bool synthetic = false;     ///< given as -1

  /// The digit that is the stick, or part of it.
  std::optional<std::size_t> stick(std::size_t device_rank) const;
};

/// A Spyre layout as independent lines, which give the device coordinates. Every dim longer than 1
/// is in exactly one line; device dims of extent 1 that are not divided over cores are in no line.
struct DeviceLines {
  Shape shape;
  std::vector<std::int64_t> device_size;
  std::vector<std::int64_t> device_stride;  ///< row-major
  std::vector<DeviceLine> lines;
};

/// The cost depends only on the ranks, not on any extent.
Result<DeviceLines> device_lines(const SpyreLayout& words, const Shape& shape, DType dtype,
                                 const Spans& spans);

/// The length that the line needs: one past its largest position, 0 when a dim is empty.
std::int64_t line_extent(const std::vector<Term>& terms, const Shape& shape);

/// The host tensor's strides, as given or row-major. kContradiction, kOutOfRange or kNotInjective
/// when the given strides cannot hold the tensor.
Result<std::vector<std::int64_t>> host_strides(const SpyreLayout& words, const Shape& shape,
                                               const Spans& spans);
/// Whether the stride of each dim is larger than the span of all dims with smaller strides.
bool strides_nest(const std::vector<std::int64_t>& strides, const Shape& shape);

/// device_size and the logical dim (-1: synthetic) of each device dim, by the default rule.
struct DefaultDims {
  std::vector<std::int64_t> device_size;
  std::vector<std::int64_t> dims;
};
Result<DefaultDims> default_dims(const SpyreLayout& words, const Shape& shape,
                                 std::int64_t per_stick, const Spans& spans);

/// The stride_map of a dim_map over a host.
Result<std::vector<std::int64_t>> strides_of_dims(const std::vector<std::int64_t>& device_size,
                                                  const std::vector<std::int64_t>& dims,
                                                  const Shape& shape,
                                                  const std::vector<std::int64_t>& host_stride);

/// Cuts the line of host offsets by the strides of the device, and separates dims where the cuts
/// allow it, so that padding has the cause of its own dim. `cores` gives the device dims that are
/// divided and must stay whole.
Result<std::vector<DeviceLine>> lines_of_strides(const SpyreLayout& words, const Shape& shape,
                                                 const std::vector<std::int64_t>& host_stride,
                                                 const Spans& spans);

/// Like `lower`, but errors point into the text.
Result<Layout> lower_text(const SpyreLayout& words, const Shape& shape, DType dtype,
                          const Spans& spans);

/// Row-major strides of device extents; kOverflow when the device tensor has too many slots.
Result<std::vector<std::int64_t>> device_strides(const std::vector<std::int64_t>& device_size);

/// Extents of one core's piece of the device tensor.
std::vector<std::int64_t> piece_size(const std::vector<std::int64_t>& device_size,
                                     const std::vector<std::int64_t>& cores);

/// The number of pieces of a device dim; default 1.
inline std::int64_t cores_of(const SpyreLayout& words, std::size_t device_dim) {
  return words.cores.empty() ? 1 : words.cores[device_dim];
}

/// A layout as read from its text, with spans.
struct Parsed {
  SpyreLayout words;
  Spans spans;
};
Result<Parsed> parse(std::string_view text);

}  // namespace tessera::notation::spyre
