// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/testing/notation/rule_grid.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

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

}  // namespace tessera::test
