// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as a tensor, and bytes that do not begin one as the inside of `tensor<..>`, so
// that TTNN's attribute and terms are reached soon. An error must point into the text; what is read
// must obey the laws of the notation:
//   parse(print(x)) gives the same terms, and printing again gives the same text;
//   TTNN raises everything that it can express, as the same function, slots, atom and cores;
//   every tensor has its facts;
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
#include "tessera/notation/terms.h"
#include "tessera/notation/ttnn/mesh.h"

namespace tessera {
namespace {

void check_cores(const Layout& a, const Layout& b, std::string_view text) {
  if (a.places() == 1 && a.spec().device_map == DeviceMap::identity()) return;
  for (const std::int64_t number : {std::int64_t{0}, a.places() / 2, a.places() - 1}) {
    const Place place = a.mesh().delinear(number);
    require(a.spec().device_map.map(a.mesh(), place) == b.spec().device_map.map(b.mesh(), place),
            "what is raised has the same cores", text);
  }
}

void check_raise(const Tensor& tensor, std::string_view text) {
  const Layout& layout = tensor.layout();
  const Result<std::string> raised = print_tensor(layout, **find_notation("ttnn"));
  if (!raised.ok() && is_too_large(raised.error())) return;
  require(raised.ok(), "TTNN raises what it says", text);
  const Tensor again = check_raised_text(layout, *raised);
  require(again.layout().atom() == layout.atom(), "what is raised has the same atom", *raised);
  check_cores(layout, again.layout(), *raised);
}

void check_facts(const Tensor& tensor, std::string_view text) {
  const Shape& shape = tensor.layout().shape();
  const auto* words = std::get_if<notation::TtnnLayout>(&notation::terms_of(tensor));
  const Result<notation::TtnnFacts> facts =
      words != nullptr
          ? notation::facts_of(*words, shape)
          : notation::facts_of(std::get<notation::TtnnTerms>(notation::terms_of(tensor)), shape);
  require(facts.ok() || is_too_large(facts.error()), "every tensor has its facts", text);
  if (facts.ok()) require(facts->stride.size() == shape.rank() + 1, "rank + 1 strides", text);
  if (words != nullptr) require(notation::share_bytes(*words) >= 0, "a share has bytes", text);
}

void check_text(std::string_view text) {
  const std::optional<Tensor> tensor = layout_tensor(text);
  if (!tensor) return;
  if (tensor->layout().mesh().rank() > 2) {
    const Result<notation::TtnnMesh> mesh = notation::raise_ttnn_mesh(tensor->layout());
    require(mesh.ok() || !mesh.error().message.empty(), "a reason has words", text);
  }
  if (tensor->notation != "ttnn") return;
  check_words(*tensor, text);
  check_raise(*tensor, text);
  check_facts(*tensor, text);
  check_elements(tensor->layout(), text);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (text.starts_with("tensor<")) {
    tessera::check_text(text);
  } else {
    tessera::check_text(tessera::cat("tensor<", text, ">"));
  }
  return 0;
}
