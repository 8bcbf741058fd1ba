// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_spyre_laws.h"

#include <algorithm>
#include <set>

#include "tessera/base/text.h"
#include "tessera/notation/terms.h"

namespace tessera::test {
namespace {

using Form = SpyreRule::Form;

std::int64_t dot(const Numbers& a, const Numbers& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// A stick is 128 bytes for every element type.
std::string bytes_mistake(const SpyreRule& rule, const Tensor& tensor) {
  const Layout& layout = tensor.layout();
  const std::int64_t e = spyre_stick(rule.dtype);
  const auto stick = notation::elements_per_stick(layout.dtype());
  if (!stick || *stick != e) return cat("a stick should have ", e, " elements");
  if (layout.shard_bytes() != layout.slots() / e * 128) {
    return cat(layout.slots(), " slots should take ", layout.slots() / e * 128, " bytes, take ",
               layout.shard_bytes());
  }
  return {};
}

/// The maps between the forms: spelled_out and stride_map_of agree with the rule, and host offset =
/// Σ device coordinate · stride for every element.
std::string maps_mistake(const SpyreRule& rule, const Tensor& tensor) {
  const auto& words = std::get<notation::SpyreLayout>(notation::terms_of(tensor));
  const Shape& shape = tensor.layout().shape();
  const DType dtype = tensor.layout().dtype();
  const Result<notation::SpyreLayout> spelled = notation::spelled_out(words, shape, dtype);
  if (!spelled) return cat("spelled_out: ", spelled.error().message);
  const bool strides_said = rule.form == Form::kStrideMap;
  const Numbers size = strides_said ? rule.device_size : spyre_device(rule).size;
  if (spelled->device_size != size) {
    return cat("device_size ", bracketed(spelled->device_size), ", expected ", bracketed(size));
  }
  const Result<std::vector<std::int64_t>> strides = notation::stride_map_of(words, shape, dtype);
  if (!strides) return cat("stride_map_of: ", strides.error().message);
  const Numbers host = spyre_host_stride(rule);
  const Numbers expected =
      strides_said ? rule.map : spyre_stride_map(spyre_device(rule), rule.shape, host);
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (size[i] > 1 && (*strides)[i] != expected[i]) {
      return cat("stride_map ", bracketed(*strides), ", expected ", bracketed(expected));
    }
  }
  const std::vector<Numbers> indices = all_tuples(rule.shape);
  const std::vector<Numbers> coordinates = spyre_coordinates(rule);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (dot(coordinates[i], *strides) != dot(indices[i], host)) {
      return cat("host offset of ", bracketed(indices[i]), " is ", dot(indices[i], host),
                 ", device coordinate ", bracketed(coordinates[i]), " says ",
                 dot(coordinates[i], *strides));
    }
  }
  return {};
}

/// A dim_map found for a stride_map describes the same function.
std::string back_mistake(const SpyreRule& rule, const Tensor& tensor, const Ruled& expected) {
  const Result<std::vector<std::int64_t>> dims =
      notation::dim_map_of(std::get<notation::SpyreLayout>(notation::terms_of(tensor)),
                           tensor.layout().shape(), tensor.layout().dtype());
  if (!dims) return rule.form == Form::kStrideMap ? "" : cat("dim_map_of: ", dims.error().message);
  SpyreRule said = rule;
  said.form = Form::kDimMap;
  said.era.clear();
  said.dim_order.reset();
  said.sparse = false;
  said.device_size = rule.form == Form::kStrideMap ? rule.device_size : spyre_device(rule).size;
  said.map = *dims;
  return ruled(said).positions == expected.positions
             ? ""
             : cat("dim_map ", bracketed(*dims), " is another one");
}

/// Why a device coordinate is padding: a synthetic one that is not 0; else a dim that ends before
/// it, outside the stick; else the end of a stick that holds data. Empty for data, and where the
/// rule does not define the cause: sticks without any data, and sticks of a dim of size 1.
std::string cause_of(const SpyreRule& rule, const SpyreDevice& device, const Numbers& c) {
  Numbers index(rule.shape.size(), 0);
  Numbers step(rule.shape.size(), 1);
  for (std::size_t i = c.size(); i-- > 0;) {
    const std::int64_t dim = device.dim_map[i];
    if (dim < 0 && c[i] != 0) return "synthetic";
    if (dim < 0) continue;
    index[static_cast<std::size_t>(dim)] += c[i] * step[static_cast<std::size_t>(dim)];
    step[static_cast<std::size_t>(dim)] *= device.size[i];
  }
  const std::int64_t stick = device.dim_map.back();
  for (std::size_t dim = 0; dim < index.size(); ++dim) {
    const bool outside = index[dim] >= rule.shape[dim];
    if (outside && static_cast<std::int64_t>(dim) != stick) return "alignment";
  }
  if (stick < 0 || rule.shape[static_cast<std::size_t>(stick)] == 1) return {};
  const std::int64_t x = index[static_cast<std::size_t>(stick)];
  const std::int64_t extent = rule.shape[static_cast<std::size_t>(stick)];
  return x >= extent && x - c.back() < extent ? "stick" : "";
}

std::string causes_mistake(const SpyreRule& rule, const Tensor& tensor) {
  if (rule.form == Form::kStrideMap || !rule.cores.empty()) return {};
  const SpyreDevice device = spyre_device(rule);
  std::int64_t slot = 0;
  for (const Numbers& c : all_tuples(device.size)) {
    const std::string expected = cause_of(rule, device, c);
    const Result<Slot> found = tensor.layout().element_at({}, slot++);
    if (expected.empty() || !found) continue;
    const Padding* padding = std::get_if<Padding>(&*found);
    if (padding == nullptr || cause_name(padding->cause) != expected) {
      return cat("device coordinate ", bracketed(c), ": expected padding of cause ", expected,
                 ", found ", padding == nullptr ? "data" : cause_name(padding->cause));
    }
  }
  return {};
}

/// Run as plain loops, the nests copy each element of the part once, from its position by the host
/// strides to its slot, and nothing else; the sticks that they touch are counted.
std::string nests_mistake(const SpyreRule& rule, const Tensor& tensor, const Ruled& whole,
                          const std::vector<notation::SpyreRange>* part) {
  const auto& words = std::get<notation::SpyreLayout>(notation::terms_of(tensor));
  const Shape& shape = tensor.layout().shape();
  const DType dtype = tensor.layout().dtype();
  const std::vector<Numbers> indices = all_tuples(rule.shape);
  const std::int64_t e = spyre_stick(rule.dtype);
  Copies expected;
  std::set<std::int64_t> sticks;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    bool covered = true;
    for (std::size_t dim = 0; part != nullptr && dim < rule.shape.size(); ++dim) {
      const notation::SpyreRange& range = (*part)[dim];
      const std::int64_t x = indices[i][dim];
      covered =
          covered && x >= range.start && x < range.stop && (x - range.start) % range.step == 0;
    }
    if (!covered) continue;
    expected.emplace_back(
        rule.storage_offset.value_or(0) + dot(indices[i], spyre_host_stride(rule)),
        whole.positions[i].slot);
    sticks.insert(whole.positions[i].slot / e);
  }
  std::sort(expected.begin(), expected.end());

  const auto nests = part != nullptr ? notation::transfer_nests(words, shape, dtype, *part)
                                     : notation::transfer_nests(words, shape, dtype);
  if (!nests) return cat("transfer_nests: ", nests.error().message);
  if (run_nests(*nests) != expected) return "the nests copy something else";
  const std::size_t rank =
      rule.form == Form::kStrideMap ? rule.device_size.size() : spyre_device(rule).size.size();
  for (const notation::SpyreNest& nest : *nests) {
    // Every device dim has a loop; fused dims may need one for each of them.
    if (rule.form != Form::kStrideMap && nest.extent.size() != rank) {
      return cat("a nest of ", nest.extent.size(), " loops");
    }
    if (!std::is_sorted(nest.device_stride.rbegin(), nest.device_stride.rend())) {
      return cat("device strides that rise: ", bracketed(nest.device_stride));
    }
  }
  const auto counted = part != nullptr ? notation::covered_sticks(words, shape, dtype, *part)
                                       : notation::covered_sticks(words, shape, dtype);
  if (!counted) return cat("covered_sticks: ", counted.error().message);
  const auto touched = static_cast<std::int64_t>(sticks.size());
  if (*counted != touched) return cat("covers ", *counted, " sticks, expected ", touched);
  return {};
}

/// A random part; the same one for the same text.
std::string part_mistake(const SpyreRule& rule, const Tensor& tensor, const Ruled& whole) {
  Dice dice(static_cast<std::uint64_t>(whole.slots) * 1009 + whole.text.size());
  std::vector<notation::SpyreRange> part;
  std::string said;
  for (const std::int64_t extent : rule.shape) {
    notation::SpyreRange range;
    range.start = dice.between(0, extent);
    range.stop = dice.between(range.start, extent);
    range.step = dice.chance(40) ? dice.between(2, 3) : 1;
    part.push_back(range);
    said += cat(" ", range.start, ":", range.stop, ":", range.step);
  }
  const std::string failure = nests_mistake(rule, tensor, whole, &part);
  return failure.empty() ? failure : cat("part", said, ": ", failure);
}

}  // namespace

SpyreRule rule_of(const notation::SpyreLayout& words, const Shape& shape, DType dtype) {
  SpyreRule rule;
  rule.shape = shape.extents();
  rule.dtype = dtype_name(dtype);
  rule.form = static_cast<Form>(words.form);
  rule.device_size = words.device_size;
  rule.map = words.map;
  rule.dim_order = words.dim_order;
  rule.sparse = words.sparse;
  if (words.era)
    rule.era = *words.era == notation::SpyreLayout::Era::kDocument ? "document" : "now";
  rule.host_stride = words.host_stride;
  rule.storage_offset = words.storage_offset;
  rule.cores = words.cores;
  return rule;
}

Copies run_nests(const std::vector<notation::SpyreNest>& nests) {
  Copies copies;
  for (const notation::SpyreNest& nest : nests) {
    for (const Numbers& i : all_tuples(nest.extent)) {
      copies.emplace_back(nest.host_offset + dot(i, nest.host_stride),
                          nest.device_offset + dot(i, nest.device_stride));
    }
  }
  std::sort(copies.begin(), copies.end());
  return copies;
}

std::string spyre_mistake(const SpyreRule& rule) {
  const Ruled expected = ruled(rule);
  std::string failure = mistake(expected);
  if (!failure.empty()) return failure;
  const Result<Tensor> tensor = parse_tensor(expected.text);
  if (!std::holds_alternative<notation::SpyreLayout>(notation::terms_of(*tensor)))
    return expected.text + "\n  other words";
  // Transfers run to and from the undivided device tensor.
  SpyreRule undivided = rule;
  undivided.cores.clear();
  const Ruled whole = rule.cores.empty() ? expected : ruled(undivided);
  failure = bytes_mistake(rule, *tensor);
  if (failure.empty()) failure = maps_mistake(rule, *tensor);
  if (failure.empty()) failure = causes_mistake(rule, *tensor);
  if (failure.empty()) failure = back_mistake(rule, *tensor, expected);
  if (failure.empty()) failure = nests_mistake(rule, *tensor, whole, nullptr);
  if (failure.empty()) failure = part_mistake(rule, *tensor, whole);
  return failure.empty() ? failure : cat(expected.text, "\n  ", failure);
}

}  // namespace tessera::test
