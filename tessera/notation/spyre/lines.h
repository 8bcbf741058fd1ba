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

/// What the parts of the Spyre notation share: words as lines of device digits.
namespace tessera::notation::spyre {

/// What an error may point at.
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

/// Where the items of a text stand; nothing for words that were never text.
struct Spans {
  struct Of {
    Span whole;
    std::vector<Span> numbers;
  };
  std::array<std::optional<Of>, kItems> items;

  std::optional<Of>& operator[](Item item) { return items[static_cast<std::size_t>(item)]; }
  /// The error, placed at an item or at one of its numbers where the text says it.
  Error blame(Item item, Error error) const;
  Error blame(Item item, std::size_t number, Error error) const;
};

/// One device dim's part in a line: coordinate = (what is left of the line) div width.
struct Digit {
  std::size_t device_dim = 0;
  std::int64_t width = 1;
  std::int64_t extent = 1;  ///< coordinates that the device dim has for it
  std::int64_t stride = 1;  ///< slots of the undivided tensor that one step moves
};

/// Logical dims joined into a line (usually one dim, with coefficient 1) and the device digits that
/// cut it. Without terms, only coordinate 0 of each digit holds data.
struct DeviceLine {
  std::vector<Term> terms;
  std::vector<Digit> digits;  ///< falling widths, the last is 1
  bool synthetic = false;     ///< said to be so by -1

  /// Which digit is the stick's, or part of it.
  std::optional<std::size_t> stick(std::size_t device_rank) const;
};

/// The words, understood: device coordinates are read off independent lines. Every dim longer than
/// 1 is in exactly one line; device dims of extent 1 that are not divided over cores are in none.
struct DeviceLines {
  Shape shape;
  std::vector<std::int64_t> device_size;
  std::vector<std::int64_t> device_stride;  ///< row-major
  std::vector<DeviceLine> lines;
};

/// Needs no bound but the ranks: the cost does not grow with any extent.
Result<DeviceLines> device_lines(const SpyreLayout& words, const Shape& shape, DType dtype,
                                 const Spans& spans);

/// The line's needed length: one past its largest position, 0 when a dim is empty.
std::int64_t line_extent(const std::vector<Term>& terms, const Shape& shape);

/// The host tensor's strides, as said or row-major. kContradiction, kOutOfRange or kNotInjective
/// when what is said cannot hold the tensor.
Result<std::vector<std::int64_t>> host_strides(const SpyreLayout& words, const Shape& shape,
                                               const Spans& spans);
/// Whether each dim steps over everything that dims of smaller stride span.
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
/// allow it, so that padding has the cause of its own dim. `cores` tells which device dims are
/// divided and must stay whole.
Result<std::vector<DeviceLine>> lines_of_strides(const SpyreLayout& words, const Shape& shape,
                                                 const std::vector<std::int64_t>& host_stride,
                                                 const Spans& spans);

/// As `lower`, blaming the text.
Result<Layout> lower_text(const SpyreLayout& words, const Shape& shape, DType dtype,
                          const Spans& spans);

/// Row-major strides of device extents; kOverflow when the device tensor has too many slots.
Result<std::vector<std::int64_t>> device_strides(const std::vector<std::int64_t>& device_size);

/// Extents of one core's piece of the device tensor.
std::vector<std::int64_t> piece_size(const std::vector<std::int64_t>& device_size,
                                     const std::vector<std::int64_t>& cores);

/// Pieces that a device dim is divided into: 1 where nothing is said.
inline std::int64_t cores_of(const SpyreLayout& words, std::size_t device_dim) {
  return words.cores.empty() ? 1 : words.cores[device_dim];
}

/// Text of a layout → words, and where each stands.
struct Parsed {
  SpyreLayout words;
  Spans spans;
};
Result<Parsed> parse(std::string_view text);

}  // namespace tessera::notation::spyre
