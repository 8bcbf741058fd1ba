// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as a tensor, and bytes that do not begin one as the inside of `tensor<..>`, so
// that both metal attributes are reached soon. An error must point into the text; what is read must
// obey the laws of the two notations:
//   parse(print(x)) gives the same terms, and printing again gives the same text;
//   what either attribute can express reads back as the same function, slots and atom;
//   element_at is the inverse of locate, or reports that the lookup would take too long.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "fuzz/laws.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"

namespace tessera {
namespace {

void check_raise(const Tensor& tensor, std::string_view name, std::string_view text) {
  const Layout& layout = tensor.layout();
  const Result<std::string> raised = print_tensor(layout, **find_notation(name));
  if (!raised.ok()) {
    require(raised.error().code == ErrorCode::kNotSupported || is_too_large(raised.error()),
            "a reason is typed", text);
    return;
  }
  const Tensor again = check_raised_text(layout, *raised);
  require(again.layout().atom() == layout.atom(), "what is raised has the same atom", *raised);
}

void check_text(std::string_view text) {
  const std::optional<Tensor> tensor = layout_tensor(text);
  if (!tensor) return;
  if (tensor->notation != "metal" && tensor->notation != "metal-today") return;
  check_words(*tensor, text);
  check_raise(*tensor, "metal", text);
  check_raise(*tensor, "metal-today", text);
  check_elements(tensor->layout(), text);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  tessera::check_text(text.starts_with("tensor") ? std::string(text)
                                                 : tessera::cat("tensor<", text, ">"));
  return 0;
}
