// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as the PyFlame layout of a tensor: a first line `4x6xf32`, then the text in
// the parentheses and before them. An error must point into the text; what is read must obey the
// laws of the notation:
//   it prints, reads back as the same terms, and prints the same again;
//   raised from its bare layout it is the same function with the same allocation and PEs;
//   element_at is the inverse of locate.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "fuzz/laws.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxReplicas = 1 << 12;  // locate lists them all
constexpr std::int64_t kMaxPlaces = 1 << 10;    // PEs that are compared one by one

void check_raised(const Layout& layout, std::string_view text) {
  const Result<const Notation*> pyflame = find_notation("pyflame");
  const Result<std::string> raised = print_tensor(layout, **pyflame);
  require(raised.ok(), "what PyFlame said, PyFlame can say", text);
  const Tensor again = check_raised_text(layout, *raised);
  require(again.layout().mesh() == layout.mesh(), "on the same mesh", text);
  for (std::int64_t i = 0; i < std::min(layout.places(), kMaxPlaces); ++i) {
    const Place place = layout.mesh().delinear(i);
    require(again.layout().spec().device_map.map(layout.mesh(), place) ==
                layout.spec().device_map.map(layout.mesh(), place),
            "on the same PEs", text);
  }
  const Result<std::string> stable = print_tensor(again.layout(), **pyflame);
  require(stable.ok() && *stable == *raised, "raising is stable", *raised);
}

void check_copies(const Layout& layout, const Index& index, std::string_view text) {
  const Result<Location> location = layout.locate(index);
  require(location.ok() && !location->places.empty(), "every element has a place", text);
  for (const Place& place : {location->places.front(), location->places.back()}) {
    const Result<Slot> slot = layout.element_at(place, location->slot);
    require(slot.ok() && std::holds_alternative<Index>(*slot) && std::get<Index>(*slot) == index,
            "element_at(locate(x)) = x", text);
  }
}

void check_text(std::string_view text) {
  const std::optional<Tensor> tensor = layout_tensor(text);
  if (!tensor) return;
  if (tensor->notation != "pyflame") return;
  const Layout& layout = tensor->layout();
  check_words(*tensor, text);
  check_raised(layout, text);
  const Shape& shape = layout.shape();
  if (shape.empty() || layout.form().replicas() > kMaxReplicas) return;
  check_copies(layout, shape.delinear(0), text);
  check_copies(layout, shape.delinear(shape.elements() / 2), text);
  check_copies(layout, shape.delinear(shape.elements() - 1), text);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  if (input.starts_with("tensor<")) {
    tessera::check_text(input);
    return 0;
  }
  // The frame of the text is always correct, so that mutations reach the notation itself.
  const std::size_t line = std::min(input.find('\n'), input.size());
  const std::string_view rest = input.substr(std::min(line + 1, input.size()));
  tessera::check_text("tensor<" + std::string(input.substr(0, line)) + ", pyflame." +
                      std::string(rest) + ">");
  return 0;
}
