// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as a tensor in Spyre's notation. An error must point into the text; what is
// read must obey the laws of the notation:
//   parse(print(x)) gives the same terms;
//   the explicit terms, and what is raised from the layout, mean the same layout;
//   Σ device coordinate · stride is the host offset of an element;
//   the first and last element of every nest are where the layout and the host put them;
//   the spans of cores lie inside the device tensor.
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
#include "tessera/notation/spyre/cores.h"
#include "tessera/notation/spyre/facts.h"
#include "tessera/notation/spyre/restickify.h"
#include "tessera/notation/terms.h"

namespace tessera {
namespace {

template <typename T>
bool too_large(const Result<T>& result) {
  return !result.ok() && result.error().code == ErrorCode::kTooLarge;
}

bool same(const Layout& a, const Layout& b) {
  if (a.slots() != b.slots() || a.places() != b.places() || !(a.atom() == b.atom())) return false;
  const Result<Comparison> comparison = same_function(a, b);
  return too_large(comparison) || (comparison.ok() && comparison->equal);
}

std::int64_t dot(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void check_words(const notation::SpyreLayout& words, const Layout& layout, std::string_view text) {
  const Result<notation::SpyreLayout> spelled =
      notation::spelled_out(words, layout.shape(), layout.dtype());
  require(spelled.ok(), "words can be spelled out", text);
  const Result<Layout> again = notation::lower(*spelled, layout.shape(), layout.dtype());
  require(again.ok() && same(*again, layout), "spelled out, they mean the same", text);
  const Result<notation::SpyreLayout> raised = notation::raise_spyre(layout);
  if (!raised.ok()) return;
  const Result<Layout> back = notation::lower(*raised, layout.shape(), layout.dtype());
  require(back.ok() && same(*back, layout), "what is raised means the same", text);
}

/// The device coordinates of a slot in an undivided device tensor.
std::vector<std::int64_t> coordinates(std::int64_t slot, const std::vector<std::int64_t>& size) {
  std::vector<std::int64_t> result(size.size());
  for (std::size_t j = size.size(); j-- > 0;) {
    result[j] = slot % size[j];
    slot /= size[j];
  }
  return result;
}

void check_transfer(const notation::SpyreLayout& words, const Layout& layout,
                    std::string_view text) {
  const Shape& shape = layout.shape();
  const Result<notation::SpyreFacts> facts = notation::facts_of(words, shape, layout.dtype());
  if (too_large(facts)) return;
  require(facts.ok(), "a layout has facts", text);
  if (shape.empty() || !words.cores.empty()) return;
  const std::vector<std::int64_t> host =
      words.host_stride ? *words.host_stride : shape.row_major_strides();
  const std::int64_t offset = words.storage_offset.value_or(0);
  for (const std::int64_t number : {std::int64_t{0}, shape.elements() / 2, shape.elements() - 1}) {
    const Index index = shape.delinear(number);
    const Result<Location> location = layout.locate(index);
    require(location.ok(), "every element has a slot", text);
    const auto at = coordinates(location->slot, facts->device_size);
    std::int64_t from = 0;
    std::int64_t strided = 0;
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      if (shape[dim] > 1) from += index[dim] * host[dim];
    }
    for (std::size_t j = 0; j < at.size(); ++j) {
      if (at[j] != 0) strided += at[j] * facts->stride_map[j];
    }
    require(from == strided, "strides give the host offset", text);
  }
  for (const notation::SpyreNest& nest : facts->nests) {
    for (const bool last : {false, true}) {
      std::vector<std::int64_t> at = nest.extent;
      for (std::int64_t& i : at) i = last ? i - 1 : 0;
      const std::int64_t slot = nest.device_offset + dot(at, nest.device_stride);
      const Result<Slot> held = layout.element_at({}, slot);
      if (too_large(held)) continue;
      require(held.ok() && std::holds_alternative<Index>(*held), "nests move elements", text);
      const Index& index = std::get<Index>(*held);
      std::int64_t from = offset;
      for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
        if (shape[dim] > 1) from += index[dim] * host[dim];
      }
      require(from == nest.host_offset + dot(at, nest.host_stride), "from where they are", text);
    }
  }
}

void check_text(std::string_view text) {
  const std::optional<Tensor> tensor = layout_tensor(text);
  if (!tensor) return;
  const auto* words = std::get_if<notation::SpyreLayout>(&notation::terms_of(*tensor));
  if (words == nullptr) return;
  const Layout& layout = tensor->layout();
  const std::string printed = print_tensor(*tensor);
  const Result<Tensor> again = parse_tensor(printed);
  require(again.ok() && notation::terms_of(*again) == notation::terms_of(*tensor),
          "parse(print(x)) says the same", printed);
  require(layout.shard_bytes() % 128 == 0, "whole sticks", text);
  check_words(*words, layout, text);
  check_transfer(*words, layout, text);
  const Result<notation::SpyreSpan> span =
      notation::core_span(*words, layout.shape(), layout.dtype(), 0);
  require(span.ok() && span->first_byte >= 0 && span->bytes >= 0, "core 0 has a span", text);
  notation::SpyreLayout other;
  other.form = notation::SpyreLayout::Form::kDefault;
  const Result<notation::Restickify> change =
      notation::restickify(*words, other, layout.shape(), layout.dtype());
  require(change.ok() || !change.error().message.empty(), "a change is legal or has a reason",
          text);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::check_text({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
