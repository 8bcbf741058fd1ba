// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as a tensor. An error must point into the text; a Morello layout that is read
// must obey the laws of the notation:
//   it prints as the same notation text, and what is raised from the bare layout is the same
//   function;
//   physical sizes multiply to the elements, and no slot is padding;
//   a tile of a small tensor is contiguous exactly when its slots are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fuzz/laws.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/morello/contiguity.h"
#include "tessera/notation/morello/facts.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"

namespace tessera {
namespace {

constexpr std::int64_t kSmall = 256;  // elements that are checked one by one

void check_raised(const Layout& layout, std::string_view text) {
  const Result<notation::MorelloLayout> words = notation::raise_morello(layout);
  require(words.ok(), "a Morello layout can be raised", text);
  const Result<Layout> again = notation::lower(*words, layout.shape(), layout.dtype());
  require(again.ok() && again->slots() == layout.slots(), "what is raised can be lowered", text);
  const Result<Comparison> same = same_function(layout, *again);
  require(same.ok() && same->equal, "what is raised is the same function", text);
}

void check_facts(const notation::MorelloLayout& words, const Layout& layout,
                 std::string_view text) {
  const Result<notation::MorelloFacts> facts = notation::facts_of(words, layout.shape());
  require(facts.ok() && !facts->expression.empty(), "every layout has facts", text);
  std::int64_t volume = 1;
  for (const std::int64_t size : facts->physical_sizes) volume *= size;
  require(volume == layout.shape().elements(), "physical sizes multiply to the elements", text);
  require(layout.slots() == layout.shape().elements(), "no slot is padding", text);
}

/// A tile whose extents and origin are derived from the text, so that they vary with it.
void check_tile(const notation::MorelloLayout& words, const Layout& layout, std::string_view text) {
  const Shape& shape = layout.shape();
  std::vector<std::int64_t> extents;
  Index origin;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    const auto byte = static_cast<std::int64_t>(static_cast<unsigned char>(text[dim]));
    extents.push_back(1 + (byte + static_cast<std::int64_t>(text.size())) % shape[dim]);
    origin.push_back(byte % (shape[dim] - extents.back() + 1));
  }
  const Shape tile = *Shape::make(extents);
  const Result<notation::TileContiguity> found =
      notation::tile_contiguity(words, shape, tile, origin);
  require(found.ok(), "every tile has an answer", text);
  std::vector<std::int64_t> slots;
  Index step(shape.rank(), 0);
  do {
    Index index = origin;
    for (std::size_t dim = 0; dim < index.size(); ++dim) index[dim] += step[dim];
    slots.push_back(layout.locate(index)->slot);
  } while (tile.next(step));
  const auto [first, last] = std::minmax_element(slots.begin(), slots.end());
  const bool one_run = *last - *first + 1 == static_cast<std::int64_t>(slots.size());
  require(found->contiguous == one_run, "a tile is contiguous exactly when its slots are", text);
  require(notation::tile_contiguity(words, shape, tile).ok(), "small tiles have an answer", text);
}

void check_text(std::string_view text) {
  const std::optional<Tensor> tensor = layout_tensor(text);
  if (!tensor) return;
  const auto* words = std::get_if<notation::MorelloLayout>(&notation::terms_of(*tensor));
  if (words == nullptr) return;
  check_words(*tensor, text);
  check_raised(tensor->layout(), text);
  check_facts(*words, tensor->layout(), text);
  check_elements(tensor->layout(), text);
  const std::int64_t elements = tensor->layout().shape().elements();
  if (elements > 0 && elements <= kSmall) check_tile(*words, tensor->layout(), text);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::check_text({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
