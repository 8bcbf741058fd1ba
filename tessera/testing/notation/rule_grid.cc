// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_grid.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

constexpr std::array<std::string_view, 6> kCauseOrder = {"synthetic", "gap",  "alignment",
                                                         "stick",     "tile", "grid"};

std::string_view first_of(std::string_view a, std::string_view b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  for (const std::string_view cause : kCauseOrder) {
    if (cause == a || cause == b) return cause;
  }
  return {};
}

Numbers tuple_of(const Numbers& counts, std::int64_t number) {
  Numbers out(counts.size());
  for (std::size_t i = counts.size(); i-- > 0; number /= counts[i]) out[i] = number % counts[i];
  return out;
}

/// The answer for one slot as text.
std::string answer(const Result<Slot>& found) {
  if (!found) return found.error().message;
  if (const Index* index = std::get_if<Index>(&*found)) return bracketed(*index);
  return std::string(cause_name(std::get<Padding>(*found).cause));
}

}  // namespace

RuleDigits digits_of(const RuleLine& line, std::int64_t p) {
  const std::int64_t inside = p % line.cut;
  return {p / line.cut, inside / line.tile, inside % line.tile};
}

std::int64_t slot_of(const std::vector<RuleLine>& lines, const std::vector<RuleDigits>& digits) {
  std::int64_t slot = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) slot = slot * lines[i].atoms + digits[i].atom;
  for (std::size_t i = 0; i < lines.size(); ++i) slot = slot * lines[i].tile + digits[i].rest;
  return slot;
}

std::vector<RuleDigits> digits_at(const std::vector<RuleLine>& lines, const Numbers& place,
                                  std::int64_t slot) {
  std::vector<RuleDigits> digits(lines.size());
  for (std::size_t i = lines.size(); i-- > 0; slot /= lines[i].tile) {
    digits[i].place = place[i];
    digits[i].rest = slot % lines[i].tile;
  }
  for (std::size_t i = lines.size(); i-- > 0; slot /= lines[i].atoms) {
    digits[i].atom = slot % lines[i].atoms;
  }
  return digits;
}

std::vector<std::set<std::int64_t>> used_positions(const RuleGrid& rule) {
  std::vector<std::set<std::int64_t>> used(rule.lines.size());
  for (const Numbers& index : all_tuples(rule.shape)) {
    const Numbers p = rule.at(index);
    for (std::size_t i = 0; i < p.size(); ++i) used[i].insert(p[i]);
  }
  return used;
}

std::string_view cause_if_empty(const RuleGrid& rule,
                                const std::vector<std::set<std::int64_t>>& used,
                                const std::vector<RuleDigits>& digits) {
  std::string_view first;
  for (std::size_t i = 0; i < rule.lines.size(); ++i) {
    const RuleLine& line = rule.lines[i];
    const std::int64_t inside = digits[i].atom * line.tile + digits[i].rest;
    const std::int64_t p = digits[i].place * line.cut + inside;
    std::string_view cause = rule.failed(i, inside, p);
    if (cause.empty() && !used[i].contains(p)) cause = "gap";
    first = first_of(first, cause);
  }
  return first.empty() ? "gap" : first;  // valid on every line, but no index has all of them
}

std::int64_t total_slots(const std::vector<RuleLine>& lines) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  std::int64_t slots = 1;
  for (const RuleLine& line : lines) {
    for (const std::int64_t factor : {line.grid, line.atoms, line.tile}) {
      slots = std::min(slots * std::min(factor, kMany >> 20), kMany);
    }
  }
  return slots;
}

Ruled ruled(const RuleGrid& rule, std::string text) {
  Ruled out;
  out.text = std::move(text);
  out.shape = rule.shape;
  out.slots = 1;
  for (const RuleLine& line : rule.lines) {
    out.mesh.push_back(line.grid);
    out.slots *= line.atoms * line.tile;
  }
  for (const Numbers& index : all_tuples(rule.shape)) {
    const Numbers p = rule.at(index);
    std::vector<RuleDigits> digits;
    Numbers place;
    for (std::size_t i = 0; i < p.size(); ++i) {
      digits.push_back(digits_of(rule.lines[i], p[i]));
      place.push_back(digits[i].place);
    }
    out.positions.push_back({{place}, slot_of(rule.lines, digits)});
  }
  const std::vector<std::set<std::int64_t>> used = used_positions(rule);
  for (const Numbers& place : all_tuples(out.mesh)) {
    for (std::int64_t slot = 0; slot < out.slots; ++slot) {
      out.causes.push_back(cause_if_empty(rule, used, digits_at(rule.lines, place, slot)));
    }
  }
  return out;
}

std::string sampled_mistake(const RuleGrid& rule, std::string_view text, Dice& dice, int samples) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return cat("refused: ", render(tensor.error(), text));
  const Layout& layout = tensor->layout();
  Numbers mesh;
  std::int64_t slots = 1;
  for (const RuleLine& line : rule.lines) {
    mesh.push_back(line.grid);
    slots *= line.atoms * line.tile;
  }
  if (layout.mesh().extents() != mesh) return "another mesh";
  if (layout.slots() != slots) return cat(layout.slots(), " slots, expected ", slots);
  const std::int64_t places = product(mesh);
  const std::int64_t elements = product(rule.shape);

  std::vector<std::pair<std::int64_t, std::int64_t>> held;  // place·slots + slot, element
  std::vector<std::set<std::int64_t>> used(rule.lines.size());
  for (std::int64_t element = 0; element < elements; ++element) {
    const Numbers p = rule.at(tuple_of(rule.shape, element));
    std::int64_t place = 0;
    std::vector<RuleDigits> digits;
    for (std::size_t i = 0; i < p.size(); ++i) {
      used[i].insert(p[i]);
      digits.push_back(digits_of(rule.lines[i], p[i]));
      place = place * mesh[i] + digits[i].place;
    }
    held.emplace_back(place * slots + slot_of(rule.lines, digits), element);
  }
  const std::vector<std::pair<std::int64_t, std::int64_t>> by_element = held;
  std::sort(held.begin(), held.end());

  for (int sample = 0; sample < samples; ++sample) {
    const std::int64_t element = sample == 0   ? 0
                                 : sample == 1 ? elements - 1
                                               : dice.below(elements);
    const Numbers index = tuple_of(rule.shape, element);
    const std::int64_t cell = by_element[at(element)].first;
    const Result<Location> found = layout.locate(index);
    if (!found) return cat("locate ", bracketed(index), ": ", found.error().message);
    if (found->places != std::vector<Place>{tuple_of(mesh, cell / slots)} ||
        found->slot != cell % slots) {
      return cat("locate ", bracketed(index), ": expected ",
                 bracketed(tuple_of(mesh, cell / slots)), " slot ", cell % slots, ", found ",
                 bracketed(found->places.at(0)), " slot ", found->slot);
    }
  }
  for (int sample = 0; sample < samples; ++sample) {
    std::int64_t cell = dice.below(places * slots);
    if (sample == 0) cell = 0;
    if (sample == 1) cell = places * slots - 1;
    if (sample % 3 == 2) cell = held[at(dice.below(elements))].first;
    const Numbers place = tuple_of(mesh, cell / slots);
    const auto data = std::lower_bound(held.begin(), held.end(), std::pair{cell, std::int64_t{0}});
    const std::string expected =
        data != held.end() && data->first == cell
            ? bracketed(tuple_of(rule.shape, data->second))
            : std::string(cause_if_empty(rule, used, digits_at(rule.lines, place, cell % slots)));
    const std::string found = answer(layout.element_at(place, cell % slots));
    if (found != expected) {
      return cat("element_at ", bracketed(place), " slot ", cell % slots, ": expected ", expected,
                 ", found ", found);
    }
  }
  return {};
}

std::int64_t RuleResult::at(const Numbers& index) const {
  std::int64_t value = constant;
  for (const Part& part : parts) value += part.coef * index[part.dim];
  if (modulus > 0) value %= modulus;
  return value / divisor;
}

std::string RuleResult::text() const {
  std::string sum;
  for (const Part& part : parts) {
    if (!sum.empty()) sum += " + ";
    sum += cat("d", part.dim, part.coef == 1 ? std::string() : cat(" * ", part.coef));
  }
  if (sum.empty() || constant != 0) sum += cat(sum.empty() ? "" : " + ", constant);
  const auto operand = [](const std::string& text) {
    return text.find(' ') == std::string::npos ? text : cat("(", text, ")");
  };
  if (modulus > 0) sum = cat(operand(sum), " mod ", modulus);
  if (divisor > 1) sum = cat(operand(sum), " floordiv ", divisor);
  return sum;
}

std::string map_text(std::size_t dims, const std::vector<RuleResult>& results) {
  std::string left;
  for (std::size_t dim = 0; dim < dims; ++dim) left += cat(dim == 0 ? "d" : ", d", dim);
  std::string right;
  for (const RuleResult& result : results) right += cat(right.empty() ? "" : ", ", result.text());
  return cat("(", left, ") -> (", right, ")");
}

std::int64_t extent_of(const RuleResult& result, const Numbers& shape) {
  Numbers own(shape.size(), 1);
  for (const RuleResult::Part& part : result.parts) own[part.dim] = shape[part.dim];
  std::int64_t extent = 0;
  for (const Numbers& index : all_tuples(own)) extent = std::max(extent, result.at(index) + 1);
  return extent;
}

std::int64_t last_plus_one(const RuleResult& result, const Numbers& shape) {
  Numbers last;
  for (const std::int64_t extent : shape) last.push_back(extent - 1);
  return result.at(last) + 1;
}

std::string times(const Numbers& numbers) { return join(numbers, "x"); }

std::string element_text(std::string_view dialect, const Numbers& tile, std::string_view dtype) {
  if (tile.empty()) return std::string(dtype);
  const std::string said = dtype.starts_with("ui") ? cat("u", dtype.substr(2)) : std::string(dtype);
  return cat("!", dialect, ".tile<", times(tile), ", ", said, ">");
}

std::int64_t round_up(std::int64_t n, std::int64_t to) { return ceil_divide(n, to) * to; }

std::string random_dtype(Dice& dice) {
  static constexpr std::array<std::string_view, 21> kTypes = {
      "f32",  "bf16", "f16", "f64",  "f8E4M3FN", "f8E5M2", "i64", "i32", "i16", "i8", "si64",
      "si32", "si16", "si8", "ui64", "ui32",     "ui16",   "ui8", "i1",  "i4",  "i2"};
  return std::string(kTypes[at(dice.below(kTypes.size()))]);
}

std::string random_tile_dtype(Dice& dice) {
  static constexpr std::array<std::string_view, 6> kBlocks = {"bfp_bf8", "bfp_bf4", "bfp_bf2",
                                                              "bfp_f8",  "bfp_f4",  "bfp_f2"};
  if (dice.chance(50)) return random_dtype(dice);
  return std::string(kBlocks[at(dice.below(kBlocks.size()))]);
}

}  // namespace tessera::test
