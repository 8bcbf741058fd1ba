// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as a tensor. An error must point into the text; a GSPMD or DTensor tensor that
// is read must obey the laws of the notation:
//   it prints as the same notation text, and the same text is the same placement;
//   what is raised from the bare placement is the same placement with the same slots;
//   an element is found again where it is located.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fuzz/laws.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/raising/along_dim.h"
#include "tessera/notation/terms.h"

namespace tessera {
namespace {

constexpr std::size_t kFew = 64;             // pieces that are compared with all others
constexpr std::int64_t kReplicas = 1 << 10;  // places that are listed one by one

void check_printed(const Tensor& tensor, std::string_view text) {
  const std::string printed = print_tensor(tensor);
  const Result<Tensor> again = parse_tensor(printed);
  require(again.ok(), "what is printed can be read", printed);
  require(notation::terms_of(*again) == notation::terms_of(tensor),
          "what is printed says the same words", text);
  require(notation::same_description(again->placement, tensor.placement),
          "the same words are the same placement", text);
  require(print_tensor(*again) == printed, "printing is stable", printed);
}

void check_raised(const Tensor& tensor, std::string_view text) {
  const Result<const Notation*> notation = find_notation(tensor.notation);
  const Result<std::string> raised = print_tensor(tensor.placement, **notation);
  if (!raised) std::fprintf(stderr, "%s\n", raised.error().message.c_str());
  require(raised.ok(), "what was lowered can be raised", text);
  const Result<Tensor> again = parse_tensor(*raised);
  require(again.ok(), "what is raised can be read", *raised);
  require(again->placement.slots() == tensor.placement.slots(), "with the same slots", text);
  const Result<Comparison> same = same_on_device(again->placement, tensor.placement);
  require(same.ok() && same->equal, "what is raised is the same placement", text);
}

void check_elements(const Placement& placement, std::string_view text) {
  const Shape& shape = placement.shape();
  if (shape.empty()) return;
  for (const std::int64_t number : {std::int64_t{0}, shape.elements() / 2, shape.elements() - 1}) {
    const Index index = shape.delinear(number);
    if (placement.form_at(index).first->replicas() > kReplicas) continue;
    const Result<Location> location = placement.locate(index);
    require(location.ok() && !location->places.empty(), "every element has a place", text);
    for (const Place& place : {location->places.front(), location->places.back()}) {
      const Result<SlotContent> held = placement.contents_at(place, location->slot);
      require(held.ok(), "every slot can be asked", text);
      const auto* indices = std::get_if<std::vector<Index>>(&*held);
      require(indices != nullptr && indices->size() == 1 && indices->front() == index,
              "contents_at(locate(x)) = x", text);
    }
  }
}

void check_text(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return check_refusal(tensor.error(), text);
  if (tensor->notation != "gspmd" && tensor->notation != "dtensor") return;
  check_printed(*tensor, text);
  check_elements(tensor->placement, text);
  if (form_pieces(tensor->placement).size() <= kFew) check_raised(*tensor, text);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::check_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
