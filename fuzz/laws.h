// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"

/// The laws that the fuzz targets of all notations check. A broken law prints the text and aborts,
/// which libFuzzer reports.
namespace tessera {

inline void require(bool law, const char* what, std::string_view text) {
  if (law) return;
  std::fprintf(stderr, "broken: %s\n%.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

/// An error points into the text and has a message.
inline void check_refusal(const Error& error, std::string_view text) {
  const auto size = static_cast<std::int64_t>(text.size());
  require(error.span.has_value(), "an error has a span", text);
  require(0 <= error.span->from && error.span->from <= error.span->to && error.span->to <= size,
          "a span lies inside the text", text);
  require(!error.message.empty() && !render(error, text).empty(), "an error has words", text);
}

/// The tensor of a text, if it is a single layout; native_fuzz checks views and pieces. The error
/// of a text that is no tensor is checked.
inline std::optional<Tensor> layout_tensor(std::string_view text) {
  Result<Tensor> tensor = parse_tensor(text);
  if (!tensor.ok()) {
    check_refusal(tensor.error(), text);
    return std::nullopt;
  }
  if (tensor->placement.layout() == nullptr) return std::nullopt;
  return *std::move(tensor);
}

inline bool is_too_large(const Error& error) {
  return error.code == ErrorCode::kTooLarge || error.code == ErrorCode::kOverflow;
}

/// A tensor prints, reads back as the same notation terms and layout, and prints the same again.
inline void check_words(const Tensor& tensor, std::string_view text) {
  const std::string printed = print_tensor(tensor);
  const Result<Tensor> again = parse_tensor(printed);
  require(again.ok(), "what is printed can be read", printed);
  require(notation::terms_of(*again) == notation::terms_of(tensor),
          "what is printed says the same words", text);
  require(again->placement == tensor.placement, "the same words are the same layout", text);
  require(print_tensor(*again) == printed, "printing is stable", printed);
}

/// An element that is on one place is what its slot holds, or the lookup takes too long.
inline void check_element(const Layout& layout, const Index& index, std::string_view text) {
  const Result<Location> location = layout.locate(index);
  require(location.ok() && location->places.size() == 1, "every element has one place", text);
  const Result<Slot> slot = layout.element_at(location->places.front(), location->slot);
  if (!slot.ok() && slot.error().code == ErrorCode::kTooLarge) return;
  require(slot.ok() && std::holds_alternative<Index>(*slot) && std::get<Index>(*slot) == index,
          "element_at(locate(x)) = x", text);
}

/// The same for the first, the middle and the last element.
inline void check_elements(const Layout& layout, std::string_view text) {
  const Shape& shape = layout.shape();
  if (shape.empty()) return;
  for (const std::int64_t number : {std::int64_t{0}, shape.elements() / 2, shape.elements() - 1}) {
    check_element(layout, shape.delinear(number), text);
  }
}

/// What a layout is raised to reads as the same function with as many slots. Returns the tensor.
inline Tensor check_raised_text(const Layout& layout, const std::string& raised) {
  Result<Tensor> again = parse_tensor(raised);
  require(again.ok(), "what is raised can be read", raised);
  const Result<Comparison> same = same_function(layout, again->layout());
  require(same.ok() && same->equal, "what is raised is the same function", raised);
  require(again->layout().slots() == layout.slots(), "what is raised has the same slots", raised);
  return *std::move(again);
}

}  // namespace tessera
