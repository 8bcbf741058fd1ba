// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/graph/fold.h"
#include "tessera/graph/fold_parts.h"

namespace tessera::graph::folding {
namespace {

/// `out` with element i taken from position source(i) of `from`; -1 gives up.
template <typename Source>
std::optional<Numbers> moved(const Numbers& from, const Shape& shape, const Source& source) {
  Numbers out{shape, from.dtype, {}, {}};
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::int64_t at = source(i);
    if (at < 0 || at >= static_cast<std::int64_t>(from.size())) return std::nullopt;
    const auto k = static_cast<std::size_t>(at);
    if (from.real()) {
      out.reals.push_back(from.reals[k]);
    } else {
      out.integers.push_back(from.integers[k]);
    }
  }
  return out;
}

/// The position in `from` of the element that broadcasting puts at `index` of a larger shape.
std::int64_t broadcast_position(const Shape& from, const Index& index) {
  const std::vector<std::int64_t> strides = from.row_major_strides();
  const std::size_t skipped = index.size() - from.rank();
  std::int64_t at = 0;
  for (std::size_t d = 0; d < from.rank(); ++d) {
    if (from[d] != 1) at += index[skipped + d] * strides[d];
  }
  return at;
}

std::size_t dim(const Call& call, std::string_view name, std::size_t rank) {
  const std::int64_t axis = call.integer(name);
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace

std::optional<Numbers> expanded(const Numbers& from, const Shape& shape) {
  if (from.shape.rank() > shape.rank()) return std::nullopt;
  return moved(from, shape,
               [&](std::int64_t i) { return broadcast_position(from.shape, shape.delinear(i)); });
}

std::optional<Numbers> gather(const Call& call, const Numbers& x, const Numbers& indices,
                              const TensorType& type) {
  const std::size_t axis = dim(call, "axis", x.shape.rank());
  const std::vector<std::int64_t> strides = x.shape.row_major_strides();
  return moved(x, type.shape, [&](std::int64_t i) -> std::int64_t {
    const Index index = type.shape.delinear(i);
    const auto first = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const Index at(first, first + static_cast<std::ptrdiff_t>(indices.shape.rank()));
    std::int64_t chosen = indices.integers[static_cast<std::size_t>(indices.shape.linear(at))];
    if (chosen < 0) chosen += x.shape[axis];
    if (chosen < 0 || chosen >= x.shape[axis]) return -1;
    std::int64_t position = chosen * strides[axis];
    for (std::size_t d = 0; d < x.shape.rank(); ++d) {
      if (d < axis) position += index[d] * strides[d];
      if (d > axis) position += index[d + indices.shape.rank() - 1] * strides[d];
    }
    return position;
  });
}

std::optional<Numbers> slice(const Call& call, const Numbers& x, const TensorType& type) {
  std::vector<std::int64_t> first(x.shape.rank(), 0);
  std::vector<std::int64_t> step(x.shape.rank(), 1);
  const auto& starts = call.integers("starts");
  const auto& axes = call.integers("axes");
  const auto& steps = call.integers("steps");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    std::int64_t axis = axes.empty() ? static_cast<std::int64_t>(i) : axes[i];
    if (axis < 0) axis += static_cast<std::int64_t>(x.shape.rank());
    const auto d = static_cast<std::size_t>(axis);
    const std::int64_t extent = x.shape[d];
    step[d] = steps.empty() ? 1 : steps[i];
    const std::int64_t start = starts[i] < 0 ? (Checked(starts[i]) + extent).raw() : starts[i];
    first[d] = std::clamp<std::int64_t>(
        start, 0, step[d] > 0 ? extent : std::max<std::int64_t>(extent - 1, 0));
  }
  const std::vector<std::int64_t> strides = x.shape.row_major_strides();
  return moved(x, type.shape, [&](std::int64_t i) {
    const Index index = type.shape.delinear(i);
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      at += (first[d] + index[d] * step[d]) * strides[d];
    return at;
  });
}

std::optional<Numbers> transposed(const Call& call, const Numbers& x, const TensorType& type) {
  const std::vector<std::int64_t> strides = x.shape.row_major_strides();
  const auto& perm = call.integers("perm");
  return moved(x, type.shape, [&](std::int64_t i) {
    const Index index = type.shape.delinear(i);
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::size_t from =
          perm.empty() ? index.size() - 1 - d : static_cast<std::size_t>(perm[d]);
      at += index[d] * strides[from];
    }
    return at;
  });
}

std::optional<Numbers> tiled(const Numbers& x, const TensorType& type) {
  return moved(x, type.shape, [&](std::int64_t i) {
    Index index = type.shape.delinear(i);
    for (std::size_t d = 0; d < index.size(); ++d) index[d] %= x.shape[d];
    return x.shape.linear(index);
  });
}

std::optional<Numbers> concat(const Call& call, const std::vector<Numbers>& parts,
                              const TensorType& type) {
  const std::size_t axis = dim(call, "axis", type.shape.rank());
  Numbers out{type.shape, type.dtype, {}, {}};
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    Index index = type.shape.delinear(i);
    std::size_t p = 0;
    while (index[axis] >= parts[p].shape[axis]) index[axis] -= parts[p++].shape[axis];
    const auto at = static_cast<std::size_t>(parts[p].shape.linear(index));
    if (out.real()) {
      out.reals.push_back(parts[p].reals[at]);
    } else {
      out.integers.push_back(parts[p].integers[at]);
    }
  }
  return out;
}

std::optional<std::vector<Data>> split(const Call& call, const Numbers& x, const Types& outputs) {
  const std::size_t axis = dim(call, "axis", x.shape.rank());
  std::vector<Data> results;
  std::int64_t before = 0;
  for (const TensorType& type : outputs) {
    const std::optional<Numbers> part = moved(x, type.shape, [&](std::int64_t i) {
      Index index = type.shape.delinear(i);
      index[axis] += before;
      return x.shape.linear(index);
    });
    std::optional<Data> data = part ? data_of(*part) : std::nullopt;
    if (!data) return std::nullopt;
    results.push_back(*std::move(data));
    before += type.shape[axis];
  }
  return results;
}

}  // namespace tessera::graph::folding
