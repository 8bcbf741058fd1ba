// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/raising/plain_memory.h"
#include "tessera/notation/ttnn/guess.h"
#include "tessera/notation/ttnn/rule.h"

/// Raising is guess and check: lowering a guess shows whether it expresses the layout.
namespace tessera::notation {
namespace {

using Memory = TtnnLayout::Memory;

constexpr std::string_view kName = "TTNN";

/// A mesh axis before the last two that data are divided over, if there is one.
std::optional<int> batch_axis(const Form& form) {
  for (const Fold& fold : form.folds) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh() && cut.count > 1 &&
          static_cast<std::size_t>(cut.target.axis()) + 2 < form.mesh.rank()) {
        return cut.target.axis();
      }
    }
  }
  return std::nullopt;
}

/// Checks for properties of the layout that TTNN cannot express, apart from its function.
Status check_sayable(const LayoutSpec& spec) {
  for (const Fill& fill : spec.form.fills) {
    if (fill.kind == Fill::Kind::kPartial) return cannot_express(kName, partial_result(fill));
    if (fill.kind == Fill::Kind::kReplicate && fill.count > 1) {
      return cannot_express(kName, replicated(fill));
    }
  }
  if (spec.padding != PaddingValue::undef()) return cannot_express(kName, padding_value());
  static constexpr std::array<std::string_view, 6> kSpaces = {"",   "system",   "dram",
                                                              "l1", "l1_small", "trace"};
  if (std::find(kSpaces.begin(), kSpaces.end(), spec.space) == kSpaces.end()) {
    return cannot_express(kName, memory_space(spec.space));
  }
  const Shape& mesh = spec.form.mesh;
  if (mesh.rank() == 2 || mesh.elements() == 1) return ok_status();
  if (const std::optional<int> axis = batch_axis(spec.form)) {
    return cannot_express(kName,
                          mesh_rank(cat("a batch on the separate axis ", *axis,
                                        " of grid {mesh:x}: its grid has rows and columns only"),
                                    mesh, 2, 2),
                          "collapse the batch into the rows, or make it a mesh of TTNN tensors");
  }
  return cannot_express(kName, mesh_rank(cat("a mesh of rank ", mesh.rank()), mesh, 2, 2),
                        "its grid has rows and columns");
}

bool is_one_place(const LayoutSpec& spec) {
  return spec.form.mesh.elements() == 1 && spec.device_map.kind() == DeviceMap::Kind::kIdentity;
}

/// The memory layouts worth trying, the usual one first.
std::vector<Memory> memories_of(const LayoutSpec& spec, const std::string& space,
                                const std::vector<std::int64_t>& grid) {
  if (is_one_place(spec)) {
    return {space == "system" ? Memory::kUnsaid : Memory::kInterleaved};
  }
  if (grid[1] == 1) return {Memory::kHeightSharded, Memory::kWidthSharded};
  if (grid[0] == 1) return {Memory::kWidthSharded, Memory::kHeightSharded};
  if (space == "dram") return {Memory::kHeightSharded, Memory::kWidthSharded};
  return {Memory::kBlockSharded, Memory::kHeightSharded, Memory::kWidthSharded};
}

/// Whether `words` lower to this layout: the same function in the same allocation.
bool says(const TtnnLayout& words, const Layout& layout) {
  const Result<Layout> again = lower(words, layout.shape(), layout.dtype());
  if (!again || again->slots() != layout.slots()) return false;
  const Result<Comparison> same = same_function(*again, layout);
  return same && same->equal;
}

/// The reason when no attribute fits: the first difference from TTNN's own layout of the tensor, or
/// the device map if there is none.
Error differs(const Layout& layout, const std::string& space, Memory memory,
              const std::vector<std::int64_t>& grid) {
  const Result<TtnnLayout> own = make_ttnn(layout.shape(), layout.atom(), space, memory, grid);
  if (!own) {
    return cannot_express(kName, obstacle_of(own.error(), "this layout: "), own.error().help);
  }
  const Result<Layout> lowered = lower(*own, layout.shape(), layout.dtype());
  if (!lowered) return cannot_express(kName, obstacle_of(lowered.error(), "this layout: "));
  const Result<Comparison> same = same_function(layout, *lowered);
  if (same && same->equal && lowered->slots() == layout.slots()) {
    return cannot_express(kName, obstacle(why::kDeviceMap, "this device map"));
  }
  const std::string cut = cat(join(own->memref.shape, "x"), " ",
                              layout.atom().is_tile() ? "tiles" : "elements", " per place");
  if (same && same->first_difference) {
    const Index& index = *same->first_difference;
    const Result<Location> here = layout.locate(index);
    const Result<Location> there = lowered->locate(index);
    if (here && there) {
      const Place& place = here->places.front();
      const Place& expected = there->places.front();
      std::vector<Fact> facts = {fact("index", index), fact("slot", here->slot),
                                 fact("expected_slot", there->slot)};
      if (!place.empty()) facts.push_back(fact("place", place));
      if (!expected.empty()) facts.push_back(fact("expected_place", expected));
      return cannot_express(kName, obstacle(why::kElementElsewhere,
                                            cat("that element {index} is in slot {slot}",
                                                place.empty() ? "" : " of {place}", ": with ", cut,
                                                " it is in slot {expected_slot}",
                                                expected.empty() ? "" : " of {expected_place}"),
                                            std::move(facts)));
    }
  }
  return cannot_express(
      kName, obstacle(why::kAllocation,
                      cat("an allocation of {slots} slots: ", cut, " are {expected_slots}"),
                      {fact("slots", layout.slots()), fact("expected_slots", lowered->slots())}));
}

/// An empty tensor has no elements: TTNN's own attribute expresses it if the allocation agrees.
Result<TtnnLayout> raise_empty(const Layout& layout, TtnnLayout words) {
  const std::vector<Memory> memories = memories_of(layout.spec(), words.memref.space, words.grid);
  TESSERA_TRY(words.linear, ttnn_collapse(layout.shape(), layout.atom()));
  for (const Memory memory : memories) {
    words.memory = memory;
    TESSERA_TRY(const TtnnNumbers numbers, ttnn_numbers(words, layout.shape()));
    words.memref.shape = numbers.memref;
    if (says(words, layout)) return words;
  }
  return differs(layout, words.memref.space, memories.front(), words.grid);
}

}  // namespace

Result<TtnnLayout> raise_ttnn(const Layout& layout) {
  const LayoutSpec& spec = layout.spec();
  TESSERA_CHECK_OK(check_sayable(spec));
  const bool one = is_one_place(spec);
  const std::string space = !spec.space.empty() ? spec.space : one ? "system" : "l1";
  if (!one && space != "l1" && space != "dram") {
    return cannot_express(
        kName,
        obstacle(why::kMemorySpace, cat(spec.form.mesh.elements(), " places in {space}"),
                 {fact("space", space)}),
        "only tensors in l1 and dram are sharded");
  }
  TtnnLayout words;
  words.memref = {{}, spec.atom, space, ttnn_buffer_type(space)};
  words.grid = layout.places() == 1 ? std::vector<std::int64_t>{1, 1} : spec.form.mesh.extents();
  if (!one) {
    TESSERA_TRY(words.core_ranges, core_ranges_of(spec.device_map, spec.form.mesh));
  }
  if (layout.shape().empty()) return raise_empty(layout, words);
  const std::vector<Memory> memories = memories_of(spec, space, words.grid);
  for (const Memory memory : memories) {
    words.memory = memory;
    for (TtnnGuess& guess : guess_ttnn_maps(layout, words)) {
      words.linear = std::move(guess.map);
      const Result<TtnnNumbers> numbers = ttnn_numbers(words, layout.shape());
      if (!numbers) continue;
      words.memref.shape = numbers->memref;
      const std::int64_t columns = one ? numbers->atoms.back() : numbers->memref.back();
      if (columns == guess.columns && says(words, layout)) return words;
    }
  }
  return differs(layout, space, memories.front(), words.grid);
}

}  // namespace tessera::notation
