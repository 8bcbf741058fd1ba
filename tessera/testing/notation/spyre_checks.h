// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/spyre/spyre.h"

/// What the tests of the Spyre notation share: layouts built from plain lists, the notation's rule
/// by plain division, and random layouts.
namespace tessera::notation::spyre_test {

using Numbers = std::vector<std::int64_t>;

inline Shape shape_of(Numbers extents) { return *Shape::make(std::move(extents)); }

inline SpyreLayout dim_map(Numbers device_size, Numbers map) {
  SpyreLayout words;
  words.device_size = std::move(device_size);
  words.map = std::move(map);
  return words;
}

inline SpyreLayout stride_map(Numbers device_size, Numbers map, Numbers host_stride = {}) {
  SpyreLayout words = dim_map(std::move(device_size), std::move(map));
  words.form = SpyreLayout::Form::kStrideMap;
  if (!host_stride.empty()) words.host_stride = std::move(host_stride);
  return words;
}

inline SpyreLayout by_default(std::optional<SpyreLayout::Era> era = std::nullopt,
                              std::optional<Numbers> dim_order = std::nullopt,
                              bool sparse = false) {
  SpyreLayout words;
  words.form = SpyreLayout::Form::kDefault;
  words.era = era;
  words.dim_order = std::move(dim_order);
  words.sparse = sparse;
  return words;
}

/// Row-major position of device coordinates.
inline std::int64_t slot_of(const Numbers& coordinates, const Numbers& device_size) {
  std::int64_t slot = 0;
  for (std::size_t j = 0; j < device_size.size(); ++j)
    slot = slot * device_size[j] + coordinates[j];
  return slot;
}

inline Numbers coordinates_of(std::int64_t slot, const Numbers& device_size) {
  Numbers coordinates(device_size.size());
  for (std::size_t j = device_size.size(); j-- > 0;) {
    coordinates[j] = slot % device_size[j];
    slot /= device_size[j];
  }
  return coordinates;
}

/// The element that device coordinates hold by a dim_map, or nothing for padding: each dim's
/// coordinates combine with steps that grow from right to left.
inline std::optional<Index> element_by_dims(const Numbers& coordinates, const Numbers& device_size,
                                            const Numbers& dims, const Shape& shape) {
  Index index(shape.rank(), 0);
  Numbers step(shape.rank(), 1);
  for (std::size_t j = dims.size(); j-- > 0;) {
    if (dims[j] < 0) {
      if (coordinates[j] != 0) return std::nullopt;
      continue;
    }
    const auto dim = static_cast<std::size_t>(dims[j]);
    index[dim] += coordinates[j] * step[dim];
    step[dim] *= device_size[j];
  }
  return shape.contains(index) ? std::optional<Index>(index) : std::nullopt;
}

inline std::int64_t host_offset(const Index& index, const Numbers& host_stride) {
  return std::inner_product(index.begin(), index.end(), host_stride.begin(), std::int64_t{0});
}

/// Device coordinates by a stride_map: the host offset divided by the strides, largest first.
inline Numbers coordinates_by_strides(std::int64_t offset, const Numbers& device_size,
                                      const Numbers& strides) {
  std::vector<std::size_t> order;
  for (std::size_t j = 0; j < strides.size(); ++j) {
    if (device_size[j] > 1 && strides[j] > 0) order.push_back(j);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  Numbers coordinates(device_size.size(), 0);
  for (const std::size_t j : order) {
    coordinates[j] = offset / strides[j];
    offset %= strides[j];
  }
  EXPECT_EQ(offset, 0);
  return coordinates;
}

/// Calls `visit` with every index of the shape.
template <typename Visit>
void for_each_index(const Shape& shape, Visit visit) {
  if (shape.empty()) return;
  Index index(shape.rank(), 0);
  do {
    visit(index);
  } while (shape.next(index));
}

/// A tensor and its layout.
struct Case {
  Shape shape;
  DType dtype = DType::kF32;
  SpyreLayout words;
};

inline std::string describe(const Case& c) {
  return cat("tensor<", c.shape.to_string(), "x", dtype_name(c.dtype), ", ", write(c.words), ">");
}

/// Random layouts, small enough to examine every slot.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::int64_t below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(engine_);
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }

  Numbers permutation(std::size_t n) {
    Numbers order(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), engine_);
    return order;
  }

  /// Strides of a host tensor in any order of dims, dense or with gaps between rows.
  Numbers host(const Shape& shape) {
    Numbers strides(shape.rank(), 1);
    std::int64_t stride = one_in(4) ? 2 : 1;
    for (const std::int64_t dim : permutation(shape.rank())) {
      const auto d = static_cast<std::size_t>(dim);
      strides[d] = stride;
      stride *= std::max<std::int64_t>(shape[d], 1);
      if (one_in(3)) stride += below(4);
    }
    return strides;
  }

  /// A random f16 or f32 tensor, usually with one longer dim to put in sticks.
  Case tensor() {
    Case c;
    c.dtype = one_in(3) ? DType::kF16 : DType::kF32;
    Numbers extents(static_cast<std::size_t>(below(4)));
    for (std::int64_t& extent : extents) extent = one_in(4) ? 1 : 1 + below(9);
    if (!extents.empty() && !one_in(4)) {
      extents[static_cast<std::size_t>(below(std::ssize(extents)))] = 1 + below(150);
    }
    c.shape = shape_of(extents);
    return c;
  }

  Case dims() { return dims(tensor()); }

  /// A dim_map: each dim cut into one to three digits, in any order, padded here and there; the
  /// stick belongs to a dim or is synthetic.
  Case dims(Case c) {
    c.words = {};
    const std::int64_t per_stick = c.dtype == DType::kF16 ? 64 : 32;
    const std::size_t rank = c.shape.rank();
    const Numbers& extents = c.shape.extents();
    const std::int64_t owner = rank == 0 || one_in(4) ? -1 : below(static_cast<std::int64_t>(rank));
    struct Entry {
      std::int64_t dim;
      std::int64_t extent;
    };
    std::vector<Entry> entries;  // right to left
    std::vector<std::vector<std::int64_t>> digits(rank);
    for (std::size_t dim = 0; dim < rank; ++dim) {
      std::int64_t left = extents[dim];
      if (static_cast<std::int64_t>(dim) == owner) left = (left + per_stick - 1) / per_stick;
      for (std::int64_t more = below(3); more > 0 && left > 1; --more) {
        digits[dim].push_back(1 + below(4));
        left = (left + digits[dim].back() - 1) / digits[dim].back();
      }
      if (left > 1 || !one_in(2) ||
          (static_cast<std::int64_t>(dim) != owner && extents[dim] != 1)) {
        digits[dim].push_back(left + (one_in(4) ? below(3) : 0));
      }
    }
    for (std::vector<std::size_t> at(rank, 0);;) {  // interleave the digits of the dims
      std::vector<std::size_t> open;
      for (std::size_t dim = 0; dim < rank; ++dim) {
        if (at[dim] < digits[dim].size()) open.push_back(dim);
      }
      if (one_in(8)) entries.push_back({-1, 1 + below(2)});
      if (open.empty()) break;
      const std::size_t dim = open[static_cast<std::size_t>(below(std::ssize(open)))];
      entries.push_back({static_cast<std::int64_t>(dim), digits[dim][at[dim]++]});
    }
    c.words.map = {owner};
    c.words.device_size = {per_stick};
    for (const Entry& entry : entries) {
      c.words.map.insert(c.words.map.begin(), entry.dim);
      c.words.device_size.insert(c.words.device_size.begin(), entry.extent);
    }
    if (one_in(2)) c.words.host_stride = host(c.shape);
    if (one_in(3)) c.words.storage_offset = below(100);
    return c;
  }

  Case defaults() { return defaults(tensor()); }

  /// A default layout of either version.
  Case defaults(Case c) {
    c.words = {};
    c.words.form = SpyreLayout::Form::kDefault;
    if (one_in(2)) c.words.host_stride = host(c.shape);
    if (one_in(2)) c.words.dim_order = permutation(c.shape.rank());
    c.words.sparse = one_in(4);
    if (one_in(2)) c.words.era = SpyreLayout::Era::kDocument;
    return c;
  }

  /// A stride_map that cuts the line of host offsets at random falling strides, with the device
  /// dims in any order: fused dims, gaps and uneven pieces.
  Case strides() {
    Case c;
    Numbers extents(static_cast<std::size_t>(1 + below(3)));
    for (std::int64_t& extent : extents) extent = 1 + below(8);
    c.shape = shape_of(extents);
    return strides(c);
  }

  Case strides(Case c) {
    c.words = {};
    const std::int64_t per_stick = c.dtype == DType::kF16 ? 64 : 32;
    const std::size_t rank = c.shape.rank();
    const Numbers& extents = c.shape.extents();
    const Numbers host_stride = one_in(2) ? host(c.shape) : c.shape.row_major_strides();
    if (host_stride != c.shape.row_major_strides()) c.words.host_stride = host_stride;
    std::int64_t end = 1;
    for (std::size_t dim = 0; dim < rank; ++dim) end += host_stride[dim] * (extents[dim] - 1);
    c.words.form = SpyreLayout::Form::kStrideMap;
    Numbers widths;
    for (std::int64_t width = end; width > 1;) {
      width = one_in(3) && !widths.empty() ? width / (2 + below(3)) : 1 + below(width);
      if (width >= 1 && (widths.empty() || width < widths.back())) widths.push_back(width);
    }
    if (widths.empty() || widths.back() != 1) widths.push_back(1);
    struct Entry {
      std::int64_t width;
      std::int64_t extent;
    };
    std::vector<Entry> entries;
    std::int64_t left = end;
    for (const std::int64_t width : widths) {
      const std::int64_t need = (left + width - 1) / width;
      if (need > 1) entries.push_back({width, need + (one_in(4) ? below(3) : 0)});
      left = std::min(left, width);
    }
    std::vector<std::size_t> can_be_stick;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].extent <= per_stick) can_be_stick.push_back(i);
    }
    Entry stick{-1, per_stick};
    if (!can_be_stick.empty() && !one_in(5)) {
      const std::size_t i = can_be_stick[static_cast<std::size_t>(below(std::ssize(can_be_stick)))];
      stick = {entries[i].width, per_stick};
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (const std::int64_t i : permutation(entries.size())) {
      c.words.device_size.push_back(entries[static_cast<std::size_t>(i)].extent);
      c.words.map.push_back(entries[static_cast<std::size_t>(i)].width);
    }
    c.words.device_size.push_back(stick.extent);
    c.words.map.push_back(stick.width);
    return c;
  }

  /// Divides the device dims of an explicit layout over a few cores.
  void divide(Case& c) {
    for (std::size_t j = 0; j < c.words.device_size.size(); ++j) {
      const bool stick = j + 1 == c.words.device_size.size();
      c.words.cores.push_back(stick || one_in(2) ? 1 : 1 + below(4));
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tessera::notation::spyre_test
