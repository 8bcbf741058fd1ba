// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as a tensor. An error must point into the text; a layout of one memory (xla,
// onednn, cute, strided) that is read must obey the laws of its notation:
//   it prints as the same notation text, and locate and element_at are inverse;
//   its own notation raises it;
//   what any of the four raises reads as the same function in as many slots, and what it cannot
//   express has a reason.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "fuzz/laws.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"

namespace tessera {
namespace {

/// True when the notation can express the layout.
bool check_raised(const Notation& notation, const Layout& layout, std::string_view text) {
  const Result<std::string> raised = print_tensor(layout, notation);
  if (!raised.ok()) {
    require(raised.error().code == ErrorCode::kNotSupported && !raised.error().message.empty(),
            "what cannot be said has a reason", text);
    return false;
  }
  check_raised_text(layout, *raised);
  return true;
}

/// XLA texts of very many tiles may have no shorter text.
bool may_lack_words(const Tensor& tensor) {
  const auto* words = std::get_if<notation::XlaLayout>(&notation::terms_of(tensor));
  return tensor.notation == "cute" || (words != nullptr && words->tiles.size() > 4);
}

void check_text(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor.ok()) {
    check_refusal(tensor.error(), text);
    return;
  }
  const auto is_memory = [](std::string_view name) {
    return name == "xla" || name == "onednn" || name == "cute" || name == "strided";
  };
  if (!is_memory(tensor->notation)) return;
  check_words(*tensor, text);
  if (tensor->placement.layout() == nullptr) return;  // native_fuzz checks those
  check_elements(tensor->layout(), text);
  for (const Notation& notation : notations()) {
    if (!is_memory(notation.name)) continue;
    const bool said = check_raised(notation, tensor->layout(), text);
    require(said || notation.name != tensor->notation || may_lack_words(*tensor),
            "a notation raises what it reads", text);
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::check_text({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
