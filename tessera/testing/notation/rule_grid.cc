// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_grid.h"

#include <algorithm>
#include <array>
#include <set>

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

RuledGrid placed(const RuleGrid& rule) {
  RuledGrid out;
  Ruled& ruled = out.ruled;
  ruled.shape = rule.shape;
  ruled.slots = 1;
  for (const RuleLine& line : rule.lines) {
    ruled.mesh.push_back(line.grid);
    ruled.slots *= line.atoms * line.tile;
  }
  std::set<std::pair<Numbers, std::int64_t>> taken;
  for (const Numbers& index : all_tuples(rule.shape)) {
    const Numbers p = rule.at(index);
    std::vector<RuleDigits> digits;
    Numbers place;
    for (std::size_t i = 0; i < p.size(); ++i) {
      digits.push_back(digits_of(rule.lines[i], p[i]));
      place.push_back(digits[i].place);
    }
    const std::int64_t slot = slot_of(rule.lines, digits);
    if (!taken.insert({place, slot}).second) out.injective = false;
    ruled.spots.push_back({{place}, slot});
  }
  const std::vector<std::set<std::int64_t>> used = used_positions(rule);
  for (const Numbers& place : all_tuples(ruled.mesh)) {
    for (std::int64_t slot = 0; slot < ruled.slots; ++slot) {
      out.causes.push_back(cause_if_empty(rule, used, digits_at(rule.lines, place, slot)));
    }
  }
  for (const RuleSpot& spot : ruled.spots) {
    std::int64_t number = 0;
    for (std::size_t i = 0; i < ruled.mesh.size(); ++i) {
      number = number * ruled.mesh[i] + spot.places[0][i];
    }
    out.causes[at(number * ruled.slots + spot.slot)] = "";
  }
  return out;
}

std::string grid_mistake(const RuledGrid& expected) {
  const Ruled& ruled = expected.ruled;
  const Result<Tensor> tensor = parse_tensor(ruled.text);
  if (!tensor) return cat("refused: ", render(tensor.error(), ruled.text));
  const Layout& layout = tensor->layout();
  if (layout.shape().extents() != ruled.shape) return "another shape";
  const bool same_mesh =
      expected.one_place ? layout.places() == 1 : layout.mesh().extents() == ruled.mesh;
  if (!same_mesh) return cat("found mesh ", bracketed(layout.mesh().extents()));
  if (layout.slots() != ruled.slots) {
    return cat("expected ", ruled.slots, " slots a place, found ", layout.slots());
  }
  const auto here = [&](const Numbers& place) {
    return expected.one_place ? Place(layout.mesh().rank(), 0) : place;
  };
  const std::vector<Numbers> indices = all_tuples(ruled.shape);
  const std::vector<Numbers> places = all_tuples(ruled.mesh);
  std::vector<std::int64_t> held(expected.causes.size(), -1);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const RuleSpot& spot = ruled.spots[i];
    const Result<Location> found = layout.locate(indices[i]);
    if (!found) return cat("locate ", bracketed(indices[i]), ": ", found.error().message);
    if (found->places.size() != 1 || found->places[0] != here(spot.places[0]) ||
        found->slot != spot.slot) {
      return cat("locate ", bracketed(indices[i]), ": expected ", bracketed(spot.places[0]),
                 " slot ", spot.slot, ", found ", bracketed(found->places.at(0)), " slot ",
                 found->slot);
    }
    std::int64_t number = 0;
    for (std::size_t k = 0; k < ruled.mesh.size(); ++k) {
      number = number * ruled.mesh[k] + spot.places[0][k];
    }
    held[at(number * ruled.slots + spot.slot)] = static_cast<std::int64_t>(i);
  }
  for (std::size_t cell = 0; cell < held.size(); ++cell) {
    const auto number = static_cast<std::int64_t>(cell);
    const Place place = here(places[at(number / ruled.slots)]);
    const std::int64_t slot = number % ruled.slots;
    const Result<Slot> found = layout.element_at(place, slot);
    const auto where = [&] { return cat("element_at ", bracketed(place), " slot ", slot, ": "); };
    if (!found) return cat(where(), found.error().message);
    const Index* const index = std::get_if<Index>(&*found);
    const std::string_view cause = index ? "" : cause_name(std::get<Padding>(*found).cause);
    if (cause == expected.causes[cell] && (!index || *index == indices[at(held[cell])])) continue;
    return cat(where(), "expected ",
               held[cell] < 0 ? cat("padding(", expected.causes[cell], ")")
                              : bracketed(indices[at(held[cell])]),
               ", found ", index ? bracketed(*index) : cat("padding(", cause, ")"));
  }
  return {};
}

std::string all_mistakes(const RuledGrid& expected) {
  std::string found = grid_mistake(expected);
  if (found.empty()) found = print_mistake(expected.ruled.text);
  if (found.empty()) found = raise_mistake(expected.ruled.text);
  return found.empty() ? found : cat(expected.ruled.text, "\n  ", found);
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
