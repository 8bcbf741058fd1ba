// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"

/// What the tests of both metal attributes share: the naive evaluation of a list of lines, and the
/// laws that every tensor must obey.
namespace tessera::notation {

/// A line by the rule of the attribute: the position of index x on it, how it is cut, how it is
/// stored. Written by the test from the rule, not read from the code under test.
struct NaiveLine {
  std::function<std::int64_t(const Index&)> value;
  std::int64_t grid;
  std::int64_t shard;                                              ///< elements per place
  std::int64_t tile;                                               ///< elements per tile
  std::int64_t room() const { return (shard + tile - 1) / tile; }  ///< tiles per place
};

/// Place and slot of an index: divide by the shard, then by the tile; row-major over tiles, then
/// inside one.
inline std::pair<Place, std::int64_t> naive_position(const std::vector<NaiveLine>& lines,
                                                     const Index& index) {
  Place place;
  std::int64_t atom = 0;
  std::int64_t inside = 0;
  std::int64_t inside_size = 1;
  for (const NaiveLine& line : lines) {
    const std::int64_t value = line.value(index);
    place.push_back(value / line.shard);
    const std::int64_t local = value % line.shard;
    atom = atom * line.room() + local / line.tile;
    inside = inside * line.tile + local % line.tile;
    inside_size *= line.tile;
  }
  return {place, atom * inside_size + inside};
}

inline Tensor parsed(std::string_view text) {
  Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << text << "\n" << (tensor ? "" : render(tensor.error(), text));
  if (!tensor) return {Layout::row_major(Shape(), DType::kF32).value(), "none", {}};
  return *std::move(tensor);
}

/// Every element is where the naive lines put it, and every other slot is padding.
inline void check_places(const Layout& layout, const std::vector<NaiveLine>& lines) {
  std::int64_t slots = 1;
  for (const NaiveLine& line : lines) slots *= line.room() * line.tile;
  ASSERT_EQ(layout.slots(), slots);
  std::map<std::pair<Place, std::int64_t>, Index> held;
  const Shape& shape = layout.shape();
  Index index(shape.rank(), 0);
  if (!shape.empty()) {
    do {
      const auto position = naive_position(lines, index);
      const Result<Location> location = layout.locate(index);
      ASSERT_TRUE(location.ok()) << location.error().message;
      ASSERT_EQ(location->places, std::vector<Place>{position.first}) << bracketed(index);
      ASSERT_EQ(location->slot, position.second) << bracketed(index);
      ASSERT_TRUE(held.emplace(position, index).second) << bracketed(index);
    } while (shape.next(index));
  }
  if (layout.places() * layout.slots() > 20000) return;
  for (std::int64_t number = 0; number < layout.places(); ++number) {
    const Place place = layout.mesh().delinear(number);
    for (std::int64_t slot = 0; slot < layout.slots(); ++slot) {
      const Result<Slot> here = layout.element_at(place, slot);
      ASSERT_TRUE(here.ok()) << here.error().message;
      const auto found = held.find({place, slot});
      ASSERT_EQ(std::holds_alternative<Index>(*here), found != held.end())
          << bracketed(place) << " slot " << slot;
      if (found != held.end()) {
        ASSERT_EQ(std::get<Index>(*here), found->second);
      }
    }
  }
}

/// Every padding slot has the cause that the rule gives: within a line, past the shard (`inner`)
/// before past the end of the line (`outer`) before a position that no index has (gap); among all
/// lines the first in the order of causes; lines that are valid alone but not together are a gap.
inline void check_causes(const Layout& layout, const std::vector<NaiveLine>& lines, Cause inner,
                         Cause outer) {
  std::vector<std::set<std::int64_t>> held(lines.size());
  const Shape& shape = layout.shape();
  Index index(shape.rank(), 0);
  if (shape.empty()) return;
  do {
    for (std::size_t i = 0; i < lines.size(); ++i) held[i].insert(lines[i].value(index));
  } while (shape.next(index));
  for (std::int64_t number = 0; number < layout.places(); ++number) {
    const Place place = layout.mesh().delinear(number);
    for (std::int64_t slot = 0; slot < layout.slots(); ++slot) {
      const Slot here = *layout.element_at(place, slot);
      if (std::holds_alternative<Index>(here)) continue;
      std::int64_t tile_size = 1;
      for (const NaiveLine& line : lines) tile_size *= line.tile;
      std::int64_t atom = slot / tile_size;
      std::int64_t inside = slot % tile_size;
      std::optional<Cause> first;
      for (std::size_t i = lines.size(); i-- > 0;) {
        const NaiveLine& line = lines[i];
        const std::int64_t local = atom % line.room() * line.tile + inside % line.tile;
        atom /= line.room();
        inside /= line.tile;
        const std::int64_t value = place[i] * line.shard + local;
        std::optional<Cause> cause;
        if (local >= line.shard) {
          cause = inner;
        } else if (value > *held[i].rbegin()) {
          cause = outer;
        } else if (held[i].count(value) == 0) {
          cause = Cause::kGap;
        }
        if (cause && (!first || *cause < *first)) first = cause;
      }
      ASSERT_EQ(cause_name(std::get<Padding>(here).cause), cause_name(first.value_or(Cause::kGap)))
          << bracketed(place) << " slot " << slot;
    }
  }
}

/// parse(print(t)) gives the same attribute, and the text is the canonical one.
inline void check_round_trip(const Tensor& tensor) {
  const std::string text = print_tensor(tensor);
  const Tensor again = parsed(text);
  EXPECT_EQ(again.notation, tensor.notation) << text;
  EXPECT_TRUE(terms_of(again) == terms_of(tensor)) << text;
  EXPECT_TRUE(again.layout() == tensor.layout()) << text;
  EXPECT_EQ(print_tensor(again), text);
}

/// The raised text parses as the same function, with the same slots, atom, space and padding.
inline void check_raises(const Layout& layout, std::string_view notation) {
  const Result<std::string> text = print_tensor(layout, **find_notation(notation));
  ASSERT_TRUE(text.ok()) << notation << ": " << text.error().message << "\n"
                         << print_native(layout);
  const Tensor again = parsed(*text);
  EXPECT_EQ(again.notation, notation) << *text;
  const Result<Comparison> same = same_function(layout, again.layout());
  ASSERT_TRUE(same.ok()) << *text << same.error().message;
  EXPECT_TRUE(same->equal) << *text << "\n" << print_native(layout);
  EXPECT_EQ(again.layout().slots(), layout.slots()) << *text;
  EXPECT_EQ(again.layout().atom(), layout.atom()) << *text;
  EXPECT_EQ(again.layout().spec().space, layout.spec().space) << *text;
  EXPECT_EQ(again.layout().spec().padding, layout.spec().padding) << *text;
  EXPECT_EQ(again.layout().dtype(), layout.dtype()) << *text;
  if (layout.spec().device_map.kind() == DeviceMap::Kind::kIdentity) return;
  for (std::int64_t number = 0; number < layout.places(); ++number) {
    const Place place = layout.mesh().delinear(number);
    ASSERT_EQ(again.layout().spec().device_map.map(again.layout().mesh(), place),
              layout.spec().device_map.map(layout.mesh(), place))
        << *text;
  }
}

}  // namespace tessera::notation
