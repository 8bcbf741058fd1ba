// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_check.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/terms.h"

namespace tessera::test {
namespace {

std::string show(const std::vector<Numbers>& places) {
  std::string out;
  for (const Numbers& place : places) out += bracketed(place);
  return out;
}

/// The rule's place in the layout's mesh.
Place place_in(const Ruled& ruled, const Layout& layout, const Numbers& place) {
  return ruled.one_place ? Place(layout.mesh().rank(), 0) : place;
}

std::string positions_mistake(const Ruled& ruled, const Layout& layout) {
  const std::vector<Numbers> indices = all_tuples(ruled.shape);
  if (indices.size() != ruled.positions.size()) return "the rule forgot elements";
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Result<Location> found = layout.locate(indices[i]);
    if (!found) return cat("locate ", bracketed(indices[i]), ": ", found.error().message);
    std::vector<Place> places = found->places;
    std::sort(places.begin(), places.end());
    std::vector<Place> expected;
    for (const Numbers& place : ruled.positions[i].places) {
      expected.push_back(place_in(ruled, layout, place));
    }
    if (places != expected || found->slot != ruled.positions[i].slot) {
      return cat("locate ", bracketed(indices[i]), ": expected ", show(expected), " slot ",
                 ruled.positions[i].slot, ", found ", show(places), " slot ", found->slot);
    }
  }
  return {};
}

std::string slots_mistake(const Ruled& ruled, const Layout& layout) {
  const std::vector<Numbers> places = all_tuples(ruled.mesh);
  const std::vector<Numbers> indices = all_tuples(ruled.shape);
  const std::optional<std::vector<std::int64_t>> held = contents(ruled);
  if (!held) return "the rule puts two elements in one slot";
  for (std::size_t cell = 0; cell < held->size(); ++cell) {
    const auto at = static_cast<std::int64_t>(cell);
    const Place place = place_in(ruled, layout, places[static_cast<std::size_t>(at / ruled.slots)]);
    const std::int64_t slot = at % ruled.slots;
    const Result<Slot> found = layout.element_at(place, slot);
    const auto where = [&] { return cat("element_at ", bracketed(place), " slot ", slot, ": "); };
    if (!found) return cat(where(), found.error().message);
    const Index* const index = std::get_if<Index>(&*found);
    const std::string_view cause = index ? "" : cause_name(std::get<Padding>(*found).cause);
    const std::int64_t element = (*held)[cell];
    const std::string_view expected = ruled.causes.empty() ? cause : ruled.causes[cell];
    const bool right = element == -1
                           ? index == nullptr && cause == expected
                           : index && *index == indices[static_cast<std::size_t>(element)];
    if (right) continue;
    return cat(where(), "expected ",
               element == -1 ? cat("padding(", expected, ")")
                             : bracketed(indices[static_cast<std::size_t>(element)]),
               ", found ", index ? bracketed(*index) : cat("padding(", cause, ")"));
  }
  return {};
}

/// What a layout states in addition to the function: everything but how the folds are written.
/// Notations have meshes of different ranks: with `strangers`, one place equals one place of any
/// rank.
std::string promises_mistake(const Layout& a, const Layout& b, bool strangers) {
  if (a.shape() != b.shape()) return "another shape";
  if (a.dtype() != b.dtype()) return "another element type";
  if (a.atom() != b.atom()) return "another atom";
  const bool one_place = strangers && a.places() == 1 && b.places() == 1;
  if (a.mesh() != b.mesh() && !one_place) {
    return cat("mesh ", a.mesh().to_string(), " became ", b.mesh().to_string());
  }
  if (a.slots() != b.slots()) return cat(a.slots(), " slots became ", b.slots());
  if (a.spec().padding != b.spec().padding) return "another padding value";
  if (a.spec().space != b.spec().space) return "another memory space";
  if (a.places() <= 1024 && a.mesh() == b.mesh()) {
    for (const Numbers& place : all_tuples(a.mesh().extents())) {
      if (a.spec().device_map.map(a.mesh(), place) != b.spec().device_map.map(b.mesh(), place)) {
        return cat("another physical place for ", bracketed(place));
      }
    }
  }
  const Result<Comparison> same = same_function(a, b);
  if (!same) return same.error().message;
  if (!same->equal) return cat("another function, first at ", bracketed(*same->first_difference));
  return {};
}

std::string reread_mistake(const Layout& layout, const std::string& raised, bool stranger) {
  const Result<Tensor> again = parse_tensor(raised);
  if (!again) return cat("raised as ", raised, ", which is refused: ", again.error().message);
  const std::string changed = promises_mistake(layout, again->layout(), stranger);
  return changed.empty() ? changed : cat("raised as ", raised, ": ", changed);
}

std::string raised_mistake(const Tensor& tensor) {
  const Result<const Notation*> notation = find_notation(tensor.notation);
  if (!notation) return notation.error().message;
  const Result<std::string> raised = print_tensor(tensor.layout(), **notation);
  if (!raised) return cat("raising failed: ", raised.error().message);
  return reread_mistake(tensor.layout(), *raised, false);
}

std::string printed_mistake(const Tensor& tensor, std::string_view printed) {
  const Result<Tensor> again = parse_tensor(printed);
  if (!again) return cat("what it prints is refused: ", printed, ": ", again.error().message);
  if (again->notation != tensor.notation) return cat("became ", again->notation);
  if (notation::terms_of(*again) != notation::terms_of(tensor))
    return cat("other words after printing as ", printed);
  if (!(again->layout() == tensor.layout()))
    return cat("another layout after printing as ", printed);
  return {};
}

}  // namespace

std::int64_t product(const Numbers& numbers) {
  std::int64_t out = 1;
  for (const std::int64_t number : numbers) out *= number;
  return out;
}

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

std::vector<Numbers> all_tuples(const Numbers& counts) {
  std::vector<Numbers> out;
  const std::int64_t total = product(counts);
  for (std::int64_t number = 0; number < total; ++number) {
    Numbers tuple(counts.size());
    std::int64_t left = number;
    for (std::size_t i = counts.size(); i-- > 0;) {
      tuple[i] = left % counts[i];
      left /= counts[i];
    }
    out.push_back(std::move(tuple));
  }
  return out;
}

std::string tensor_text(const Numbers& shape, std::string_view dtype, std::string_view layout) {
  std::string extents;
  for (const std::int64_t extent : shape) extents += std::to_string(extent) + "x";
  return cat("tensor<", extents, dtype, ", ", layout, ">");
}

std::int64_t random_extent(Dice& dice, std::int64_t most) {
  static constexpr std::array<std::int64_t, 16> kExtents = {1,  2,  3,  5,  7,  11, 13, 17,
                                                            19, 23, 29, 31, 37, 1,  9,  15};
  if (dice.chance(2)) return 0;
  if (dice.chance(70)) {
    const std::int64_t extent = kExtents[static_cast<std::size_t>(dice.below(kExtents.size()))];
    if (extent <= most) return extent;
  }
  return dice.between(1, std::max<std::int64_t>(most, 1));
}

Numbers random_shape(Dice& dice, std::int64_t max_rank, std::int64_t max_elements) {
  Numbers shape(static_cast<std::size_t>(dice.between(0, max_rank)), 1);
  std::int64_t left = max_elements;
  for (const std::size_t dim : dice.order(shape.size())) {
    // A limit leaves something for the other dims.
    shape[dim] = random_extent(dice, dice.chance(60) ? std::min<std::int64_t>(left, 7) : left);
    left /= std::max<std::int64_t>(shape[dim], 1);
  }
  return shape;
}

std::optional<std::vector<std::int64_t>> contents(const Ruled& ruled) {
  const std::size_t cells = static_cast<std::size_t>(product(ruled.mesh) * ruled.slots);
  std::vector<std::int64_t> held(cells, -1);
  for (std::size_t i = 0; i < ruled.positions.size(); ++i) {
    for (const Numbers& place : ruled.positions[i].places) {
      std::int64_t number = 0;
      for (std::size_t k = 0; k < place.size(); ++k) number = number * ruled.mesh[k] + place[k];
      auto& cell = held[static_cast<std::size_t>(number * ruled.slots + ruled.positions[i].slot)];
      if (cell != -1) return std::nullopt;
      cell = static_cast<std::int64_t>(i);
    }
  }
  return held;
}

std::string rule_mistake(const Ruled& ruled) {
  const Result<Tensor> tensor = parse_tensor(ruled.text);
  if (!tensor) return cat("refused: ", render(tensor.error(), ruled.text));
  const Layout& layout = tensor->layout();
  if (layout.shape().extents() != ruled.shape) return "another shape";
  const bool same_mesh =
      ruled.one_place ? layout.places() == 1 : layout.mesh().extents() == ruled.mesh;
  if (!same_mesh) {
    return cat("expected mesh ", bracketed(ruled.mesh), ", found ",
               bracketed(layout.mesh().extents()));
  }
  if (layout.slots() != ruled.slots) {
    return cat("expected ", ruled.slots, " slots a place, found ", layout.slots());
  }
  const std::string positions = positions_mistake(ruled, layout);
  return positions.empty() ? slots_mistake(ruled, layout) : positions;
}

std::string print_mistake(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return cat("refused: ", tensor.error().message);
  const std::string printed = print_tensor(*tensor);
  if (printed != text) return cat("printed as ", printed);
  return printed_mistake(*tensor, printed);
}

std::string raise_mistake(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return cat("refused: ", tensor.error().message);
  return raised_mistake(*tensor);
}

std::string rewritten_mistake(Dice& dice, std::string_view text, std::int64_t& raised) {
  Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return cat("refused: ", tensor.error().message);
  LayoutSpec spec = tensor->layout().spec();
  spec.form = rewrite(dice, spec.form);
  spec.slots = tensor->layout().slots();
  // Another description may need a larger mesh or allocate digits that overlap: not the same
  // layout.
  Result<Layout> layout = Layout::make(std::move(spec));
  if (!layout || layout->mesh() != tensor->layout().mesh()) return {};
  const auto broken = [&](std::string_view what) {
    return cat(text, "\n  as ", print_native(*layout), "\n  ", what);
  };
  const Notation& notation = **find_notation(tensor->notation);
  const Result<std::string> again = print_tensor(*layout, notation);
  if (!again) return broken(cat("raising failed: ", again.error().message));
  ++raised;
  const std::string failure = reread_mistake(*layout, *again, false);
  return failure.empty() ? failure : broken(failure);
}

std::string stranger_mistake(const Layout& layout, std::string_view notation,
                             std::int64_t& raised) {
  const Result<const Notation*> found = find_notation(notation);
  if (!found) return found.error().message;
  const Result<std::string> text = print_tensor(layout, **found);
  if (!text) {
    const Error& error = text.error();
    const bool reason = error.code == ErrorCode::kNotSupported && !error.message.empty();
    return reason ? ""
                  : cat(print_native(layout), "\n  refused as ", code_name(error.code), ": ",
                        error.message);
  }
  ++raised;
  const std::string failure = reread_mistake(layout, *text, true);
  return failure.empty() ? failure : cat(print_native(layout), "\n  ", failure);
}

std::string equivalent_mistake(std::string_view text, std::string_view notation) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return cat(text, "\n  refused: ", tensor.error().message);
  std::int64_t raised = 0;
  const std::string failure = stranger_mistake(tensor->layout(), notation, raised);
  return failure.empty() && raised == 0 ? cat(text, "\n  raising failed") : failure;
}

std::string mistake(const Ruled& ruled) {
  std::string found = rule_mistake(ruled);
  if (found.empty()) found = print_mistake(ruled.text);
  if (found.empty()) found = raise_mistake(ruled.text);
  return found.empty() ? found : cat(ruled.text, "\n  ", found);
}

void Failures::add(const std::string& failure) {
  constexpr std::size_t kShown = 4;
  if (failure.empty()) return;
  ++count_;
  const auto longer = [](const std::string& a, const std::string& b) {
    return a.size() < b.size();
  };
  shortest_.insert(std::upper_bound(shortest_.begin(), shortest_.end(), failure, longer), failure);
  if (shortest_.size() > kShown) shortest_.pop_back();
}

std::string Failures::report() const {
  std::string out = cat(count_, " failures, the shortest of them:\n");
  for (const std::string& failure : shortest_) out += failure + "\n";
  return out;
}

bool is_small(const Layout& layout) {
  constexpr std::int64_t kMost = 2000;
  return layout.shape().elements() <= kMost && layout.places() <= kMost &&
         layout.slots() <= kMost && layout.places() * layout.slots() <= kMost;
}

std::string marked_mistake(std::string_view text, std::string_view marked) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (tensor) return cat(text, "\n  accepted");
  const Error& error = tensor.error();
  if (!error.span) return cat(text, "\n  an error without a span: ", error.message);
  const auto from = static_cast<std::int64_t>(text.rfind(marked));
  const auto to = from + static_cast<std::int64_t>(marked.size());
  const bool touches =
      error.span->from < to && from < std::max(error.span->to, error.span->from + 1);
  if (!marked.empty() && !touches) return cat("expected ", marked, "\n", render(error, text));
  return error.help.empty() ? cat("without a help\n", render(error, text)) : "";
}

std::string hostile_mistake(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (tensor) {
    std::string found = printed_mistake(*tensor, print_tensor(*tensor));
    if (found.empty()) found = raised_mistake(*tensor);
    return found.empty() ? found : cat(text, "\n  ", found);
  }
  const Error& error = tensor.error();
  const auto size = static_cast<std::int64_t>(text.size());
  if (error.message.empty()) return cat(text, "\n  an error without a message");
  if (!error.span) return cat(text, "\n  an error without a span: ", error.message);
  if (error.span->from < 0 || error.span->from > error.span->to || error.span->to > size) {
    return cat(text, "\n  a span outside the text: ", error.span->from, " to ", error.span->to,
               ": ", error.message);
  }
  return {};
}

}  // namespace tessera::test
