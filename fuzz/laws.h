// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

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

}  // namespace tessera
