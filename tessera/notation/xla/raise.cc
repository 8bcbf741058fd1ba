// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/raising/memory_digits.h"
#include "tessera/notation/raising/plain_memory.h"
#include "tessera/notation/xla/tilings.h"
#include "tessera/notation/xla/xla.h"

/// Layout → XLA layout: the properties come from the layout's storage, the order and the tiles from
/// its digits in memory; the result is checked by lowering it.
namespace tessera::notation {
namespace {

constexpr std::string_view kName = "xla";

/// The smallest power of two that rounds `taken` up to `slots`, otherwise `slots`.
std::optional<std::int64_t> tail_alignment(std::int64_t taken, std::int64_t slots) {
  if (taken == slots) return std::nullopt;
  const std::int64_t highest = slots & -slots;
  for (std::int64_t power = 1; power < highest; power *= 2) {
    if (power > slots - taken) return power;
  }
  return highest > slots - taken ? highest : slots;
}

/// Space "s5" is S(5).
std::optional<std::int64_t> space_number(const std::string& space) {
  if (space.size() < 2 || space[0] != 's' || space[1] == '0') return std::nullopt;
  Checked number = 0;
  for (const char c : space.substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  if (number.overflowed()) return std::nullopt;
  return number.raw();
}

/// Memory space and element size; or what XLA cannot express.
Result<XlaLayout> raise_properties(const Layout& layout) {
  XlaLayout words;
  LayoutSpec plain = layout.spec();
  words.memory_space = space_number(plain.space);
  if (words.memory_space) plain.space.clear();
  const DType storage = plain.atom.storage;
  if (!plain.atom.is_tile() && xla_storage(plain.dtype, std::nullopt) != storage &&
      dtype_bits(storage) && xla_storage(plain.dtype, dtype_bits(storage)) == storage) {
    words.element_bits = dtype_bits(storage);
  }
  if (layout.places() != 1) {
    return cannot_express(
        kName, mesh_rank(cat("a mesh of ", layout.places(), " places"), layout.mesh(), 0, 0));
  }
  const DType kept = xla_storage(plain.dtype, words.element_bits).value_or(plain.dtype);
  if (const auto what = beyond_plain_storage(plain, kept)) return cannot_express(kName, *what);
  return words;
}

bool same_place(const XlaLayout& words, const Layout& layout) {
  const Result<Layout> lowered = lower(words, layout.shape(), layout.dtype());
  if (!lowered || lowered->slots() != layout.slots()) return false;
  const Result<Comparison> same = same_function(*lowered, layout);
  return same && same->equal;
}

}  // namespace

Result<XlaLayout> raise_xla(const Layout& layout) {
  TESSERA_TRY(XlaLayout words, raise_properties(layout));
  const Shape& shape = layout.shape();
  if (shape.empty()) {
    if (layout.slots() != 0) {
      return cannot_express(kName,
                            obstacle(why::kEmptyTensor,
                                     "an allocation of {slots} slots for a tensor without elements",
                                     {fact("slots", layout.slots())}));
    }
    for (std::size_t dim = shape.rank(); dim-- > 0;) {
      words.minor_to_major.push_back(static_cast<std::int64_t>(dim));
    }
    return words;
  }
  Result<MemoryDigits> memory = memory_digits(layout);
  if (!memory) return cannot_express(kName, obstacle_of(memory.error()));
  words.tail_alignment = tail_alignment(memory->slots, layout.slots());
  split_padded_digit(*memory);
  const std::vector<XlaLayout> found = xla_tilings(*memory, shape);
  for (const XlaLayout& candidate : found) {
    words.minor_to_major = candidate.minor_to_major;
    words.tiles = candidate.tiles;
    if (same_place(words, layout)) return words;
  }
  return cannot_express(
      kName,
      obstacle(why::kDigitOrder, "this order of {digits} digits: it takes {tiles} tiles",
               {fact("digits", memory->digits.size()), fact("tiles", found.front().tiles.size())}));
}

}  // namespace tessera::notation
