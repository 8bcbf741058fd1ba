// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as a tensor. An error must point into the text; what is read must obey the
// laws of the notation and of the layout:
//   parse(print(x)) == x, and printing again gives the same text;
//   what strides can express reads back as the same function;
//   element_at is the inverse of locate, or reports that the lookup would take too long.
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

void check_native(const Placement& layout, std::string_view text) {
  const std::string printed = print_native(layout);
  const Result<Tensor> again = parse_tensor(printed);
  require(again.ok(), "what is printed can be read", printed);
  require(again->placement == layout, "parse(print(x)) == x", text);
  require(print_native(again->placement) == printed, "printing is stable", printed);
}

void check_strided(const Placement& layout, std::string_view text) {
  const Result<const Notation*> strided = find_notation("strided");
  const Result<std::string> printed = print_tensor(layout, **strided);
  if (!printed.ok()) return;
  const Result<Tensor> again = parse_tensor(*printed);
  require(again.ok(), "strides that are printed can be read", *printed);
  const Result<Comparison> same = same_placement(layout, again->placement);
  require(same.ok() && same->equal, "strides are the same function", text);
  const Result<std::string> stable = print_tensor(again->placement, **strided);
  require(stable.ok() && *stable == *printed, "printing strides is stable", *printed);
}

bool too_large(const Result<SlotContent>& slot) {
  return !slot.ok() && slot.error().code == ErrorCode::kTooLarge;
}

void check_element(const Placement& layout, const Index& index, std::string_view text) {
  const Result<Location> location = layout.locate(index);
  if (!location.ok() && location.error().code == ErrorCode::kTooLarge) return;  // many replicas
  require(location.ok() && !location->places.empty(), "every element has a place", text);
  for (const Place& place : {location->places.front(), location->places.back()}) {
    const Result<SlotContent> slot = layout.contents_at(place, location->slot);
    if (too_large(slot)) continue;
    const auto* const indices = slot.ok() ? std::get_if<std::vector<Index>>(&*slot) : nullptr;
    require(indices != nullptr && std::binary_search(indices->begin(), indices->end(), index),
            "contents_at(locate(x)) has x", text);
    require(indices->size() == 1 || layout.view() != nullptr, "only views share slots", text);
  }
}

void check_slot(const Placement& layout, const Place& place, std::int64_t slot,
                std::string_view text) {
  const Result<SlotContent> held = layout.contents_at(place, slot);
  if (too_large(held)) return;
  require(held.ok(), "every allocated slot has an answer", text);
  const auto* const indices = std::get_if<std::vector<Index>>(&*held);
  if (indices == nullptr) return;
  const Result<Location> location = layout.locate(indices->front());
  require(location.ok() && location->slot == slot, "locate(contents_at(s)) = s", text);
}

void check_text(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor.ok()) {
    check_refusal(tensor.error(), text);
    return;
  }
  const Placement& layout = tensor->placement;
  check_native(layout, text);
  check_strided(layout, text);
  for (const FormPiece& piece : form_pieces(layout)) {
    if (piece.form->replicas() > kMaxReplicas) return;
  }
  const Shape& shape = layout.shape();
  if (!shape.empty()) {
    check_element(layout, shape.delinear(0), text);
    check_element(layout, shape.delinear(shape.elements() / 2), text);
    check_element(layout, shape.delinear(shape.elements() - 1), text);
  }
  if (layout.slots() > 0) {
    const Place last = layout.mesh().delinear(layout.places() - 1);
    check_slot(layout, Place(layout.mesh().rank(), 0), 0, text);
    check_slot(layout, last, layout.slots() - 1, text);
    check_slot(layout, last, layout.slots() / 2, text);
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::check_text({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
