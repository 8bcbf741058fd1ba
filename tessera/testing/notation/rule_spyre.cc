// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_spyre.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

using Form = SpyreRule::Form;

std::size_t at(std::int64_t dim) { return static_cast<std::size_t>(dim); }

Numbers device_size_of(const SpyreRule& rule) {
  return rule.form == Form::kDefault ? spyre_default(rule).size : rule.device_size;
}

std::vector<Numbers> by_dim_map(const SpyreRule& rule) {
  const SpyreDevice device = spyre_device(rule);
  const std::vector<Numbers> indices = all_tuples(rule.shape);
  std::map<Numbers, std::size_t> number;
  for (std::size_t i = 0; i < indices.size(); ++i) number[indices[i]] = i;
  std::vector<Numbers> out(indices.size());
  for (const Numbers& c : all_tuples(device.size)) {
    Numbers index(rule.shape.size(), 0);
    Numbers step(rule.shape.size(), 1);
    bool data = true;
    for (std::size_t i = c.size(); i-- > 0;) {
      if (device.dim_map[i] < 0) {
        data = data && c[i] == 0;
        continue;
      }
      index[at(device.dim_map[i])] += c[i] * step[at(device.dim_map[i])];
      step[at(device.dim_map[i])] *= device.size[i];
    }
    const auto found = number.find(index);
    if (data && found != number.end()) out[found->second] = c;
  }
  return out;
}

std::vector<Numbers> by_stride_map(const SpyreRule& rule) {
  const std::vector<Numbers> indices = all_tuples(rule.shape);
  const Numbers stride = spyre_host_stride(rule);
  std::map<std::int64_t, std::size_t> number;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < stride.size(); ++dim) offset += indices[i][dim] * stride[dim];
    number[offset] = i;
  }
  std::vector<std::size_t> falling(rule.map.size());
  for (std::size_t i = 0; i < falling.size(); ++i) falling[i] = i;
  std::sort(falling.begin(), falling.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(rule.map[b], a) < std::pair(rule.map[a], b);
  });
  const auto coarse_first = [&](const Numbers& c) {
    Numbers sorted;
    for (const std::size_t i : falling) sorted.push_back(c[i]);
    return sorted;
  };
  std::vector<Numbers> out(indices.size());
  for (const Numbers& c : all_tuples(rule.device_size)) {
    std::int64_t offset = 0;
    bool data = true;
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (rule.map[i] == -1) {
        data = data && c[i] == 0;
      } else {
        offset += c[i] * rule.map[i];
      }
    }
    const auto found = number.find(offset);
    if (!data || found == number.end()) continue;
    Numbers& best = out[found->second];
    if (best.empty() || coarse_first(best) < coarse_first(c)) best = c;
  }
  return out;
}

}  // namespace

std::string SpyreRule::text() const {
  std::string list;
  const auto item = [&](const std::string& said) { list += (list.empty() ? "" : ", ") + said; };
  if (form != Form::kDefault) {
    item("device_size=" + bracketed(device_size));
    item((form == Form::kDimMap ? "dim_map=" : "stride_map=") + bracketed(map));
  }
  if (dim_order) item("dim_order=" + bracketed(*dim_order));
  if (sparse) item("sparse=true");
  if (!era.empty() && form == Form::kDefault) item("era=" + era);
  if (host_stride) item("host_stride=" + bracketed(*host_stride));
  if (storage_offset) item("storage_offset=" + std::to_string(*storage_offset));
  if (!era.empty() && form != Form::kDefault) item("era=" + era);
  if (!cores.empty()) item("cores=" + bracketed(cores));
  return form == Form::kDefault ? cat("spyre.default(", list, ")") : cat("spyre<", list, ">");
}

std::int64_t spyre_stick(const std::string& dtype) {
  static const std::map<std::string, std::int64_t> kSticks = {
      {"f16", 64}, {"bf16", 64},      {"i1", 64},      {"i16", 64},  {"si16", 64}, {"f32", 32},
      {"i32", 32}, {"si32", 32},      {"i64", 32},     {"si64", 32}, {"i8", 128},  {"si8", 128},
      {"ui8", 32}, {"f8E4M3FN", 128}, {"f8E5M2", 128}, {"i4", 256},  {"i2", 512}};
  const auto found = kSticks.find(dtype);
  return found == kSticks.end() ? 0 : found->second;
}

SpyreDevice spyre_default(const SpyreRule& rule) {
  const std::int64_t e = spyre_stick(rule.dtype);
  const bool document = rule.era == "document";
  Numbers order;
  for (std::size_t i = 0; i < rule.shape.size(); ++i) {
    const std::int64_t dim = rule.dim_order ? (*rule.dim_order)[i] : static_cast<std::int64_t>(i);
    if (!document || rule.shape[at(dim)] != 1) order.push_back(dim);
  }
  // In today's version a sparse tensor is the dense one of the shape with a last dim of size 1.
  if (rule.sparse && !document) order.push_back(-1);
  const auto extent = [&](std::int64_t dim) { return dim < 0 ? 1 : rule.shape[at(dim)]; };

  SpyreDevice out;
  const auto push = [&out](std::int64_t size, std::int64_t dim) {
    out.size.push_back(size);
    out.dim_map.push_back(dim);
  };
  if (rule.sparse && document) {
    for (std::size_t i = 1; i < order.size(); ++i) push(extent(order[i]), order[i]);
    if (!order.empty()) push(extent(order[0]), order[0]);
    push(e, -1);
    return out;
  }
  if (order.empty()) {
    // In the Spyre document a scalar is a stick; today it is a count of one stick as well.
    if (!document) push(1, -1);
    push(e, -1);
    return out;
  }
  for (std::size_t i = 1; i + 1 < order.size(); ++i) push(extent(order[i]), order[i]);
  push(ceil_divide(extent(order.back()), e), order.back());
  if (order.size() > 1) push(extent(order[0]), order[0]);
  push(e, order.back());
  return out;
}

SpyreDevice spyre_device(const SpyreRule& rule) {
  if (rule.form == Form::kDefault) return spyre_default(rule);
  return {rule.device_size, rule.map};
}

Numbers spyre_host_stride(const SpyreRule& rule) {
  if (rule.host_stride) return *rule.host_stride;
  Numbers stride(rule.shape.size(), 1);
  for (std::size_t dim = rule.shape.size(); dim-- > 1;) {
    stride[dim - 1] = stride[dim] * std::max<std::int64_t>(rule.shape[dim], 1);
  }
  return stride;
}

Numbers spyre_stride_map(const SpyreDevice& device, const Numbers& shape, const Numbers& stride) {
  Numbers out(device.size.size(), -1);
  std::map<std::int64_t, std::size_t> previous;
  for (std::size_t i = out.size(); i-- > 0;) {
    const std::int64_t dim = device.dim_map[i];
    if (dim < 0 || shape[at(dim)] == 1) continue;
    const auto seen = previous.find(dim);
    out[i] =
        seen == previous.end() ? stride[at(dim)] : out[seen->second] * device.size[seen->second];
    previous[dim] = i;
  }
  return out;
}

std::vector<Numbers> spyre_coordinates(const SpyreRule& rule) {
  return rule.form == Form::kStrideMap ? by_stride_map(rule) : by_dim_map(rule);
}

Ruled ruled(const SpyreRule& rule) {
  const Numbers size = device_size_of(rule);
  Numbers cores = rule.cores.empty() ? Numbers(size.size(), 1) : rule.cores;
  Numbers piece;
  for (std::size_t i = 0; i < size.size(); ++i) piece.push_back(ceil_divide(size[i], cores[i]));
  Ruled out;
  out.text = tensor_text(rule.shape, rule.dtype, rule.text());
  out.shape = rule.shape;
  if (!rule.cores.empty()) out.mesh = {product(cores)};
  out.slots = product(piece);
  for (const Numbers& c : spyre_coordinates(rule)) {
    if (c.empty()) return {};  // no device coordinate holds this element: not a layout
    std::int64_t core = 0;
    std::int64_t slot = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      core = core * cores[i] + c[i] / piece[i];
      slot = slot * piece[i] + c[i] % piece[i];
    }
    out.positions.push_back({{rule.cores.empty() ? Numbers{} : Numbers{core}}, slot});
  }
  return out;
}

namespace {

constexpr std::int64_t kMaxSlots = 1000;

/// A device dim under construction: `extent` steps of `step` along a line of the host tensor.
struct Digit {
  std::int64_t line = -1;  ///< a dim, or a group of fused dims; -1 when synthetic
  std::int64_t step = 1;
  std::int64_t extent = 1;
};

/// Lines of the host tensor: dims, or neighbouring dims that are contiguous in memory.
struct Line {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
};

/// Digits of one line, slowest first. The stick, if it belongs to this line, comes last. `idle`
/// allows steps that no element takes, which a dim_map states exactly; a stride as long as the next
/// row would not.
std::vector<Digit> random_digits(Dice& dice, std::int64_t line, std::int64_t extent,
                                 std::int64_t stick, bool idle) {
  std::vector<Digit> inner_first;
  std::int64_t step = 1;
  if (stick > 0) {
    inner_first.push_back({line, 1, stick});
    step = stick;
  }
  while (step < extent && dice.chance(35)) {
    const std::int64_t size = dice.between(1, 5);
    inner_first.push_back({line, step, size});
    step *= size;
  }
  // The rest of the line, which a stick alone may already cover.
  const std::int64_t need = (extent + step - 1) / step;
  if (inner_first.empty() || need > 1 || (extent > 0 && dice.chance(60))) {
    const bool room = dice.chance(30) && (need > 1 || (idle && dice.chance(20)));
    const std::int64_t more = room ? dice.between(1, 3) : 0;
    inner_first.push_back({line, step, need + more});
  }
  std::reverse(inner_first.begin(), inner_first.end());
  return inner_first;
}

/// Host strides in any order of dims, with or without gaps between rows.
Numbers random_host_stride(Dice& dice, const Numbers& shape) {
  Numbers stride(shape.size(), 1);
  std::int64_t step = dice.chance(15) ? dice.between(2, 3) : 1;
  std::vector<std::size_t> order = dice.order(shape.size());
  if (dice.chance(40)) std::sort(order.rbegin(), order.rend());
  for (const std::size_t dim : order) {
    stride[dim] = step;
    step *= std::max<std::int64_t>(shape[dim], 1);
    if (dice.chance(25)) step += dice.between(1, 9);
    if (shape[dim] == 1 && dice.chance(30)) stride[dim] = dice.between(1, 40);
  }
  return stride;
}

/// Interleaves dims at random; the digits of a line keep their order unless `any_order`.
std::vector<Digit> shuffled(Dice& dice, std::vector<std::vector<Digit>> lines, bool any_order) {
  std::vector<Digit> out;
  if (any_order) {
    std::vector<Digit> all;
    for (const auto& digits : lines) all.insert(all.end(), digits.begin(), digits.end());
    for (const std::size_t i : dice.order(all.size())) out.push_back(all[i]);
    return out;
  }
  while (true) {
    std::erase_if(lines, [](const auto& digits) { return digits.empty(); });
    if (lines.empty()) return out;
    auto& digits =
        lines[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(lines.size())))];
    out.push_back(digits.front());
    digits.erase(digits.begin());
  }
}

/// Neighbours whose strides make them one line of memory may be fused: dim i·N + dim i+1.
std::vector<Line> random_lines(Dice& dice, const SpyreRule& rule, bool fuse) {
  const Numbers stride = spyre_host_stride(rule);
  std::vector<Line> lines;
  for (std::size_t dim = 0; dim < stride.size(); ++dim) {
    const Line line{rule.shape[dim], stride[dim]};
    const bool joins = fuse && !lines.empty() && lines.back().extent > 1 && line.extent > 1 &&
                       lines.back().stride == line.stride * line.extent;
    if (joins && dice.chance(40)) {
      lines.back() = {lines.back().extent * line.extent, line.stride};
    } else {
      lines.push_back(line);
    }
  }
  return lines;
}

void say_device(Dice& dice, SpyreRule& rule) {
  const bool strides = rule.form == Form::kStrideMap;
  const std::int64_t e = spyre_stick(rule.dtype);
  const std::vector<Line> lines = random_lines(dice, rule, strides);
  std::vector<std::size_t> wide;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].extent > 1) wide.push_back(i);
  }
  const bool sparse = wide.empty() || dice.chance(20);
  const std::size_t stick_line =
      sparse ? lines.size()
             : wide[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(wide.size())))];
  std::vector<std::vector<Digit>> parts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // Dims of size 1 need no device dim; when they have one it is written -1 among strides.
    if (lines[i].extent == 1 && (rule.era != "now" || dice.chance(60))) continue;
    parts.push_back(random_digits(dice, static_cast<std::int64_t>(i), lines[i].extent,
                                  i == stick_line ? e : 0, !strides));
    if (i == stick_line) parts.back().pop_back();
  }
  // The Spyre document has a single synthetic dim.
  if (dice.chance(8) && (strides || rule.era == "now" || !sparse)) {
    parts.push_back({Digit{-1, 1, dice.between(1, 3)}});
  }
  std::vector<Digit> digits = shuffled(dice, std::move(parts), strides);
  digits.push_back(sparse ? Digit{-1, 1, e} : Digit{static_cast<std::int64_t>(stick_line), 1, e});
  for (const Digit& digit : digits) {
    rule.device_size.push_back(digit.extent);
    const std::size_t line = static_cast<std::size_t>(digit.line);
    const bool said = digit.line >= 0 && lines[line].extent != 1;
    const std::int64_t step = said ? lines[line].stride * digit.step : -1;
    rule.map.push_back(strides ? step : digit.line);
  }
}

}  // namespace

SpyreRule random_spyre(Dice& dice) {
  static constexpr std::array<const char*, 17> kTypes = {
      "f16",  "f32", "bf16", "i1",       "i16",    "i32", "i64", "si16", "si32",
      "si64", "i8",  "si8",  "f8E4M3FN", "f8E5M2", "ui8", "i4",  "i2"};
  static constexpr std::array<std::int64_t, 8> kAroundSticks = {31, 33, 63, 65, 64, 97, 100, 129};
  while (true) {
    SpyreRule rule;
    // Small sticks most of the time, so that several of them fit.
    rule.dtype = kTypes[static_cast<std::size_t>(dice.chance(60) ? dice.below(7) : dice.below(17))];
    rule.shape = random_shape(dice, 5, 40);
    if (!rule.shape.empty() && dice.chance(30)) {
      rule.shape[static_cast<std::size_t>(
          dice.below(static_cast<std::int64_t>(rule.shape.size())))] =
          kAroundSticks[static_cast<std::size_t>(dice.below(kAroundSticks.size()))];
    }
    if (product(rule.shape) > 200) continue;
    if (dice.chance(30)) rule.era = dice.chance(50) ? "document" : "now";
    if (dice.chance(30)) rule.host_stride = random_host_stride(dice, rule.shape);
    if (dice.chance(15)) rule.storage_offset = dice.below(50);
    if (dice.chance(40)) {
      rule.form = Form::kDefault;
      rule.sparse = dice.chance(25);
      if (dice.chance(40)) {
        rule.dim_order.emplace();
        for (const std::size_t dim : dice.order(rule.shape.size())) {
          rule.dim_order->push_back(static_cast<std::int64_t>(dim));
        }
      }
    } else {
      rule.form = dice.chance(50) ? Form::kDimMap : Form::kStrideMap;
      say_device(dice, rule);
    }
    const Numbers size = rule.form == Form::kDefault ? spyre_default(rule).size : rule.device_size;
    if (product(size) > kMaxSlots) continue;
    if (dice.chance(20)) {
      for (std::size_t i = 0; i + 1 < size.size(); ++i) rule.cores.push_back(dice.between(1, 3));
      rule.cores.push_back(1);
      if (product(rule.cores) > 30) rule.cores.clear();
    }
    return rule;
  }
}

}  // namespace tessera::test
