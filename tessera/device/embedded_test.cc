// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/device/device.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/tensor.h"
#include "tessera/testing/device/devices.h"
#include "tessera/testing/notation/random_texts.h"
#include "tessera/testing/process.h"

namespace tessera::device {
namespace {

using test::Dice;
using test::failure;

Layout layout_of(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  return *tensor->placement.layout();
}

/// Every element of a buffer is written and read alone, at its own slots, and nothing else counts
/// as written.
std::string memory_mistake(Dice& dice, Device& device, BufferId buffer, std::int64_t seed) {
  const Placement& placement = device.find(buffer)->placement;
  const std::int64_t bits = *dtype_bits(placement.atom().storage);
  const auto held = test::held_elements(placement);
  const auto value = [&](std::size_t place, std::int64_t element) {
    return test::value_of(seed + element * 1000 + static_cast<std::int64_t>(place), bits);
  };
  for (std::size_t place = 0; place < held.size(); ++place) {
    for (std::size_t slot = 0; slot < held[place].size(); ++slot) {
      if (held[place][slot] < 0) continue;
      const Status wrote = test::write_element(device, buffer, static_cast<std::int64_t>(place),
                                               static_cast<std::int64_t>(slot), bits,
                                               value(place, held[place][slot]));
      if (!wrote) return failure(wrote.error());
    }
  }
  for (std::size_t place = 0; place < held.size(); ++place) {
    const auto p = static_cast<std::int64_t>(place);
    for (std::size_t slot = 0; slot < held[place].size(); ++slot) {
      const auto s = static_cast<std::int64_t>(slot);
      const Result<std::uint64_t> found = test::read_element(device, buffer, p, s, bits);
      const bool is_data = held[place][slot] >= 0;
      if (!is_data) {
        const bool named = !found && found.error().reasons.size() == 1 &&
                           found.error().reasons[0].name == "never_written" &&
                           found.error().reasons[0].number("slot") == s;
        if (!named) return cat("padding slot ", s, " of place ", p, " can be read\n");
        continue;
      }
      if (!found) return failure(found.error());
      const auto shard = device.input(buffer, p, {s, {}});
      if (!shard) return failure(shard.error());
      const std::uint64_t expected = value(place, held[place][slot]);
      if (*found != expected || test::bits_at(*shard, s, bits) != expected) {
        return cat("place ", p, " slot ", s, " has ", *found, ", expected ", expected, "\n");
      }
    }
  }
  static_cast<void>(dice);
  return "";
}

TEST(Embedded, KeepsEveryElementOfEveryNotation) {
  int tried = 0;
  const std::uint64_t seeds = test::kSanitized ? 8 : 40;
  for (const notation::Notation& notation : notation::notations()) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      Dice dice(seed * 131 + 7);
      const std::string text = test::random_text(notation.name, dice);
      const Result<Tensor> tensor = parse_tensor(text);
      if (!tensor || tensor->placement.view() != nullptr) continue;
      const Placement& placement = tensor->placement;
      if (!dtype_bits(placement.atom().storage)) continue;
      const auto machine = test::machine_for(placement, test::kPlainBytes);
      if (!machine) continue;
      const auto device = make_embedded(*machine, {.checked = true});
      ASSERT_TRUE(device.ok()) << device.error().message;
      // Two tensors of one layout, one after the other.
      const std::int64_t first = dice.below(16) * 4;
      const auto x =
          (*device)->add({.name = "x", .placement = placement, .space = "sram", .offsets = first});
      if (!x && x.error().code == ErrorCode::kNotSupported)
        continue;  // pieces with maps of their own
      ASSERT_TRUE(x.ok()) << text << "\n" << x.error().message;
      const std::int64_t end = (*device)->use().peak_bytes;
      const auto y =
          (*device)->add({.name = "y", .placement = placement, .space = "sram", .offsets = end});
      ASSERT_TRUE(y.ok()) << text << "\n" << y.error().message;
      EXPECT_EQ(memory_mistake(dice, **device, *x, 1), "") << text;
      EXPECT_EQ(memory_mistake(dice, **device, *y, 2), "") << text;
      EXPECT_EQ(memory_mistake(dice, **device, *x, 3), "") << text;
      ++tried;
    }
  }
  EXPECT_GT(tried, test::kSanitized ? 50 : 250);
}

TEST(Embedded, ReadsAndWritesBoxes) {
  const auto device =
      *make_embedded(test::plain_machine({2, 2}, test::kPlainBytes), {.checked = true});
  const BufferId x = *device->add(
      {.name = "x", .placement = layout_of("tensor<8x16xf16, pyflame.Grid(2, 2)>"), .space = ""});
  // Rows 3 and 1, columns 6, 4, 2 of the 4x8 shard of place 3.
  const std::array<SlotLoop, 2> loops = {{{2, -16}, {3, -2}}};
  const SlotBox box{3 * 8 + 6, loops};
  const std::array<std::uint16_t, 6> values = {11, 12, 13, 14, 15, 16};
  ASSERT_TRUE(device->write(x, 3, box, std::as_bytes(std::span(values))).ok());
  std::array<std::uint16_t, 6> found{};
  ASSERT_TRUE(device->read(x, 3, box, std::as_writable_bytes(std::span(found))).ok());
  EXPECT_EQ(found, values);
  EXPECT_EQ(*test::read_element(*device, x, 3, 1 * 8 + 4, 16), 15U);
  // A box that also has slot 3·8 + 5.
  const std::array<SlotLoop, 1> row = {{{3, 1}}};
  std::array<std::uint16_t, 3> three{};
  const Status missing =
      device->read(x, 3, {3 * 8 + 4, row}, std::as_writable_bytes(std::span(three)));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().reasons.at(0).number("slot"), 3 * 8 + 5);
}

TEST(Embedded, KeepsWholeTilesOfBlockFloats) {
  const auto device =
      *make_embedded(test::plain_machine({2}, test::kPlainBytes), {.checked = true});
  LayoutSpec spec = layout_of("tensor<64x32xf32, pyflame.RowPartition(2)>").spec();
  spec.atom = Atom::tile(32, 32, DType::kBfpBf8);
  const Layout layout = *Layout::make(spec);
  const auto machine = test::plain_machine({2, 1}, test::kPlainBytes);
  const auto tiles = *make_embedded(machine, {.checked = true});
  const BufferId x = *tiles->add({.name = "x", .placement = layout, .space = ""});
  std::vector<std::byte> tile(1088, std::byte{7});
  const std::array<SlotLoop, 1> all = {{{1024, 1}}};
  ASSERT_TRUE(tiles->write(x, 1, {0, all}, tile).ok());
  std::vector<std::byte> found(1088);
  ASSERT_TRUE(tiles->read(x, 1, {0, all}, found).ok());
  EXPECT_EQ(found, tile);
  EXPECT_EQ(tiles->read(x, 0, {0, all}, found).error().code, ErrorCode::kOutOfRange);
  const std::array<SlotLoop, 1> part = {{{16, 1}}};
  EXPECT_EQ(tiles->read(x, 1, {0, part}, found).error().code, ErrorCode::kNotSupported);
}

/// What a checked device refuses: which fault, where.
struct Fault {
  std::string_view reason;
  std::vector<std::int64_t> place;
  std::int64_t offset = 0;
};
void expect_fault(const Error& error, ErrorCode code, const Fault& fault) {
  EXPECT_EQ(error.code, code);
  ASSERT_EQ(error.reasons.size(), 1U) << error.message;
  EXPECT_EQ(error.reasons[0].name, fault.reason);
  EXPECT_EQ(error.reasons[0].text("tensor"), "x");
  EXPECT_EQ(error.reasons[0].numbers("place"), fault.place);
  EXPECT_EQ(error.reasons[0].number("offset"), fault.offset);
}

TEST(Embedded, NamesTensorPlaceAndOffsetOfEveryFault) {
  // wse2: 36864 bytes for data on each of 994x750 places.
  const auto device = *make_embedded(**find_machine("wse2"), {.checked = true});
  const Layout layout = layout_of("tensor<6x8xf32, pyflame.Grid(2, 2, origin=(4, 1))>");
  const BufferId x = *device->add({.name = "x", .placement = layout, .space = "", .offsets = 128});
  const SlotBox slot7{7, {}};
  expect_fault(device->input(x, 3, slot7).error(), ErrorCode::kOutOfRange,
               {"never_written", {5, 2}, 128 + 28});
  EXPECT_TRUE(device->output(x, 3, slot7).ok());
  EXPECT_TRUE(device->input(x, 3, slot7).ok());
  expect_fault(device->input(x, 2, slot7).error(), ErrorCode::kOutOfRange,
               {"never_written", {5, 1}, 128 + 28});
  expect_fault(device->output(x, 0, {12, {}}).error(), ErrorCode::kOutOfRange,
               {"outside_buffer", {4, 1}, 128 + 48});
  expect_fault(device->output(x, 0, {-1, {}}).error(), ErrorCode::kOutOfRange,
               {"outside_buffer", {4, 1}, 128 - 4});
  EXPECT_EQ(device->output(x, 4, slot7).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(device->output(x, -1, slot7).error().code, ErrorCode::kOutOfRange);
  // 48 bytes from byte 36820 end 4 bytes past the budget.
  const Error past =
      device->add({.name = "x", .placement = layout, .space = "", .offsets = 36820}).error();
  expect_fault(past, ErrorCode::kDoesNotFit, {"past_memory", {4, 1}, 36820});
  EXPECT_EQ(past.reasons[0].number("capacity"), 36864);
  EXPECT_TRUE(
      device->add({.name = "fits", .placement = layout, .space = "", .offsets = 36816}).ok());
  // Bytes that another buffer has.
  EXPECT_EQ(
      device->add({.name = "y", .placement = layout, .space = "", .offsets = 172}).error().code,
      ErrorCode::kBadBuffer);
  const Layout beside = layout_of("tensor<6x8xf32, pyflame.Grid(2, 2)>");
  EXPECT_TRUE(device->add({.name = "y", .placement = beside, .space = "", .offsets = 172}).ok());
  // Places, memories and alignments that are not there.
  EXPECT_EQ(device->add({.name = "z", .placement = layout, .space = "l9"}).error().code,
            ErrorCode::kUnknownName);
  EXPECT_EQ(device
                ->add({.name = "z",
                       .placement = layout_of("tensor<995xf32, pyflame.RowPartition(995)>"),
                       .space = ""})
                .error()
                .code,
            ErrorCode::kOutOfRange);
  EXPECT_EQ(device->forget(static_cast<BufferId>(77)).error().code, ErrorCode::kBadBuffer);
  ASSERT_TRUE(device->release(x).ok());
  EXPECT_EQ(device->release(x).error().code, ErrorCode::kBadBuffer);
  EXPECT_EQ(device->input(x, 3, slot7).error().code, ErrorCode::kBadBuffer);
  EXPECT_EQ(device->find(x), nullptr);
}

TEST(Embedded, PoisonsPaddingAndFreedMemory) {
  const auto device =
      *make_embedded(test::plain_machine({1, 1}, test::kPlainBytes), {.checked = true});
  // 3x5 in rows of 8: three slots of padding in each.
  const Layout layout = *Layout::strided(*Shape::make({3, 5}), DType::kF32, {8, 1});
  const BufferId x = *device->add({.name = "x", .placement = layout, .space = "", .offsets = 64});
  float* const data = reinterpret_cast<float*>(*device->output(x, 0, {0, {}}));
  EXPECT_TRUE(std::isnan(data[5]));
  EXPECT_TRUE(std::isnan(data[0]));
  const std::array<SlotLoop, 2> all = {{{3, 8}, {5, 1}}};
  const std::vector<float> ones(15, 1.0F);
  ASSERT_TRUE(device->write(x, 0, {0, all}, std::as_bytes(std::span(ones))).ok());
  EXPECT_EQ(data[20], 1.0F);
  EXPECT_TRUE(std::isnan(data[13]));
  ASSERT_TRUE(device->release(x).ok());
  EXPECT_TRUE(std::isnan(data[20]));
  const BufferId y = *device->add({.name = "y", .placement = layout, .space = "", .offsets = 64});
  EXPECT_FALSE(device->input(y, 0, {0, {}}).ok());
  ASSERT_TRUE(device->write(y, 0, {0, all}, std::as_bytes(std::span(ones))).ok());
  ASSERT_TRUE(device->forget(y).ok());
  EXPECT_TRUE(std::isnan(data[20]));
  EXPECT_FALSE(device->input(y, 0, {0, {}}).ok());
}

TEST(Embedded, UncheckedKnowsWhatWasLost) {
  const auto device = *make_embedded(test::plain_machine({1, 1}, test::kPlainBytes));
  const Layout layout = *Layout::row_major(*Shape::make({4}), DType::kF32);
  const BufferId x = *device->add({.name = "x", .placement = layout, .space = ""});
  EXPECT_TRUE(device->input(x, 0, {0, {}}).ok());
  ASSERT_TRUE(device->forget(x).ok());
  EXPECT_FALSE(device->input(x, 0, {0, {}}).ok());
  EXPECT_TRUE(device->output(x, 0, {0, {}}).ok());
  EXPECT_TRUE(device->input(x, 0, {0, {}}).ok());
}

TEST(Embedded, AliasesShareWhatIsWritten) {
  const auto device =
      *make_embedded(test::plain_machine({1, 1}, test::kPlainBytes), {.checked = true});
  const Layout four = *Layout::row_major(*Shape::make({4}), DType::kF32);
  const Layout two = *Layout::row_major(*Shape::make({2}), DType::kF32);
  const BufferId x = *device->add({.name = "x", .placement = four, .space = ""});
  const BufferId half =
      *device->add({.name = "half", .placement = two, .space = "", .offsets = 8, .alias = x});
  ASSERT_TRUE(test::write_element(*device, x, 0, 3, 32, 5).ok());
  EXPECT_EQ(*test::read_element(*device, half, 0, 1, 32), 5U);
  ASSERT_TRUE(device->release(x).ok());
  EXPECT_EQ(*test::read_element(*device, half, 0, 1, 32), 5U);
  // The memory of x is not free while half of it is in use.
  EXPECT_EQ(device->add({.name = "y", .placement = two, .space = ""}).error().code,
            ErrorCode::kBadBuffer);
  ASSERT_TRUE(device->release(half).ok());
  EXPECT_TRUE(device->add({.name = "y", .placement = two, .space = ""}).ok());
  EXPECT_EQ(device->use().buffers, 1);
}

TEST(Embedded, PlacesBuffersAtOffsetsByClass) {
  const auto device = *make_embedded(test::plain_machine({3}, 64), {.checked = true});
  const auto classes =
      std::make_shared<const std::vector<std::uint32_t>>(std::vector<std::uint32_t>{0, 1, 0});
  LayoutSpec spec;
  spec.form = layout_of("tensor<6xi32, gspmd{devices=[3]<=[3]}>").form();
  spec.dtype = DType::kI32;
  spec.atom = Atom::scalar(DType::kI32);
  const Layout layout = *Layout::make(spec);
  Offsets offsets;
  offsets.by_class = {0, 56};
  offsets.class_of = classes;
  const BufferId x =
      *device->add({.name = "x", .placement = layout, .space = "", .offsets = offsets});
  EXPECT_EQ(device->use().peak_bytes, 64);
  // The first bytes of place 1 are free, those of places 0 and 2 are not.
  Offsets other;
  other.by_class = {8, 0};
  other.class_of = classes;
  const BufferId y =
      *device->add({.name = "y", .placement = layout, .space = "", .offsets = other});
  for (std::int64_t place = 0; place < 3; ++place) {
    ASSERT_TRUE(test::write_element(*device, x, place, 1, 32, 10).ok());
    ASSERT_TRUE(test::write_element(*device, y, place, 0, 32, 20).ok());
    EXPECT_EQ(*test::read_element(*device, x, place, 1, 32), 10U);
  }
  EXPECT_EQ(device->add({.name = "z", .placement = layout, .space = "", .offsets = 0}).error().code,
            ErrorCode::kBadBuffer);
  offsets.by_class = {0, 60};
  const Error past =
      device->add({.name = "x", .placement = layout, .space = "", .offsets = offsets}).error();
  expect_fault(past, ErrorCode::kDoesNotFit, {"past_memory", {1}, 60});
}

TEST(Embedded, KeepsABufferOnSomePlacesOnly) {
  const auto device = *make_embedded(test::plain_machine({2, 3}, 64), {.checked = true});
  // One element each on the four places of columns 1 and 2, in a mesh of six places.
  LayoutSpec spec;
  spec.form = layout_of("tensor<2x2xi32, pyflame.Grid(2, 2)>").form();
  spec.form.mesh = *Shape::make({2, 3});
  spec.form.fills.push_back(Fill::fixed(1, 1));
  spec.dtype = DType::kI32;
  spec.atom = Atom::scalar(DType::kI32);
  const Layout right = *Layout::make(spec);
  const Box columns{{0, 1}, {2, 3}};
  const BufferId x =
      *device->add({.name = "x", .placement = right, .space = "", .places = columns});
  EXPECT_EQ(device->use().allocated_bytes, 16);
  EXPECT_EQ(device->find(x)->places, columns);
  for (const std::int64_t place : {1, 2, 4, 5}) {
    ASSERT_TRUE(test::write_element(*device, x, place, 0, 32, 7).ok()) << place;
  }
  const Error none = test::write_element(*device, x, 3, 0, 32, 7).error();
  EXPECT_EQ(none.code, ErrorCode::kOutOfRange);
  ASSERT_EQ(none.reasons.size(), 1U);
  EXPECT_EQ(none.reasons[0].name, "not_on_place");
  EXPECT_EQ(none.reasons[0].numbers("place"), (std::vector<std::int64_t>{1, 0}));
  // The same bytes are free on column 0, and only there.
  spec.form.fills.back() = Fill::fixed(1, 0);
  const Layout left = *Layout::make(spec);
  EXPECT_EQ(device->add({.name = "y", .placement = left, .space = ""}).error().code,
            ErrorCode::kBadBuffer);
  EXPECT_EQ(
      device->add({.name = "y", .placement = left, .space = "", .places = Box{{0, 0}, {2, 2}}})
          .error()
          .code,
      ErrorCode::kBadBuffer);
  const BufferId y =
      *device->add({.name = "y", .placement = left, .space = "", .places = Box{{0, 0}, {2, 1}}});
  ASSERT_TRUE(test::write_element(*device, y, 3, 0, 32, 9).ok());
  EXPECT_EQ(*test::read_element(*device, x, 4, 0, 32), 7U);
  for (const Box& wrong : {Box{{0, 1}, {2, 4}}, Box{{-1, 0}, {1, 1}}, Box{{0}, {1}}}) {
    EXPECT_EQ(
        device->add({.name = "z", .placement = left, .space = "", .places = wrong}).error().code,
        ErrorCode::kOutOfRange);
  }
  const Layout flat = *Layout::row_major(*Shape::make({2}), DType::kI32);
  EXPECT_EQ(
      device->add({.name = "z", .placement = flat, .space = "", .places = columns}).error().code,
      ErrorCode::kNotSupported);
  ASSERT_TRUE(device->release(x).ok());
  EXPECT_EQ(*test::read_element(*device, y, 3, 0, 32), 9U);
}

TEST(Embedded, HasBanksAndSharedMemories) {
  const auto device = *make_embedded(**find_machine("wormhole"), {.checked = true});
  // 96 tiles of 32x32 are dealt out over 12 banks: page 13 is the second of bank 1.
  const Layout tiles = layout_of(
      "tensor<256x384xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
      "memref<8x12x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>>");
  const BufferId x = *device->add({.name = "x", .placement = tiles, .space = "dram"});
  const BufferFacts& facts = *device->find(x);
  EXPECT_EQ(facts.placement.mesh().elements(), 96);
  EXPECT_EQ(facts.allocated_bytes, 96 * 4096);
  EXPECT_EQ(device->use().peak_bytes, 8 * 4096);
  ASSERT_TRUE(test::write_element(*device, x, 13, 5, 32, 1234).ok());
  EXPECT_EQ(*test::read_element(*device, x, 13, 5, 32), 1234U);
  const Error missing = device->input(x, 13, {6, {}}).error();
  expect_fault(missing, ErrorCode::kOutOfRange, {"never_written", {1}, 4096 + 24});
  // All shards of a grid in the host's memory, one after the other.
  const Layout grid = layout_of("tensor<8x8xf32, pyflame.Grid(2, 2)>");
  const BufferId h = *device->add({.name = "h", .placement = grid, .space = "system"});
  ASSERT_TRUE(test::write_element(*device, h, 3, 0, 32, 3).ok());
  ASSERT_TRUE(test::write_element(*device, h, 0, 0, 32, 9).ok());
  const auto first = device->input(h, 0, {0, {}});
  const auto last = device->input(h, 3, {0, {}});
  EXPECT_EQ(*last - *first, 3 * 64);
}

/// Memory of this process, as the system counts it.
std::int64_t process_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  statm >> pages >> resident;
  return resident * 4096;
}

TEST(Embedded, AWaferCostsThePagesThatItsTensorsTouch) {
  const Machine& wafer = **find_machine("wse2");
  const std::int64_t before = process_bytes();
  ASSERT_EQ(wafer.places(), 745500);
  const auto device = *make_embedded(wafer, {.checked = true});
  // 8x8 places of 16 KB: 4 pages each, perhaps 5, and half as much for the table; 2 MB or so.
  const Layout small = layout_of("tensor<512x512xf32, pyflame.Grid(8, 8, origin=(400, 300))>");
  const BufferId x = *device->add({.name = "x", .placement = small, .space = ""});
  const std::array<SlotLoop, 1> all = {{{4096, 1}}};
  const std::vector<float> ones(4096, 1.0F);
  for (std::int64_t place = 0; place < 64; ++place) {
    ASSERT_TRUE(device->write(x, place, {0, all}, std::as_bytes(std::span(ones))).ok());
  }
  EXPECT_GE(device->use().resident_bytes, 64 * 16384);
  EXPECT_LE(device->use().resident_bytes, 64 * (5 + 3) * 4096);
  if (!test::kSanitized) {
    EXPECT_LE(process_bytes() - before, std::int64_t{16} << 20);
  }

  // 4 bytes on every place, on a device that knows that no more than 64 will be used: 48 MB.
  const auto planned = *make_embedded(wafer, {.planned = {{"sram", 64}}});
  const Layout wide = layout_of("tensor<994x750xf32, pyflame.Grid(994, 750)>");
  const BufferId y = *planned->add({.name = "y", .placement = wide, .space = ""});
  for (std::int64_t place = 0; place < wafer.places(); place += 50) {
    ASSERT_TRUE(test::write_element(*planned, y, place, 0, 32, 1).ok());
  }
  EXPECT_LE(planned->use().resident_bytes, (wafer.places() * 64) + 8192);
  EXPECT_EQ(planned->add({.name = "z", .placement = wide, .space = "", .offsets = 64}).error().code,
            ErrorCode::kDoesNotFit);
  EXPECT_EQ(make_embedded(wafer, {.planned = {{"sram", 36865}}}).error().code,
            ErrorCode::kDoesNotFit);
  EXPECT_EQ(make_embedded(wafer, {.planned = {{"l1", 64}}}).error().code, ErrorCode::kUnknownName);
}

TEST(Embedded, PinsBuffersWhereTheyAre) {
  const auto device =
      *make_embedded(test::plain_machine({2, 2}, test::kPlainBytes), {.checked = true});
  const Layout layout = layout_of("tensor<4x4xf32, pyflame.Grid(2, 2)>");
  const BufferId x = *device->add({.name = "x", .placement = layout, .space = ""});
  const BufferId y = *device->add({.name = "y", .placement = layout, .space = "", .offsets = 64});
  ASSERT_TRUE(device->is_addressable());
  ASSERT_TRUE(test::write_element(*device, x, 3, 1, 32, 77).ok());
  const SlotBox second{1, {}};
  const std::array<BufferId, 2> buffers = {x, y};
  const Status copied =
      device->in_place(buffers, [&](std::span<PinnedBuffer* const> pinned) -> Status {
        EXPECT_EQ(pinned.size(), 2U);
        // What was never written shows here too.
        EXPECT_FALSE(pinned[0]->input(3, {0, {}}).ok());
        TESSERA_TRY(const std::byte* const from, pinned[0]->input(3, second));
        TESSERA_TRY(std::byte* const to, pinned[1]->output(3, second));
        EXPECT_EQ(from, pinned[0]->address(3));
        EXPECT_EQ(to, pinned[1]->address(3));
        std::memcpy(to + 4, from + 4, 4);
        return ok_status();
      });
  ASSERT_TRUE(copied.ok()) << failure(copied.error());
  EXPECT_EQ(*test::read_element(*device, y, 3, 1, 32), 77U);
  EXPECT_FALSE(test::read_element(*device, y, 3, 0, 32).ok());
  const Error refused{ErrorCode::kTooLarge, "an error of the test"};
  EXPECT_EQ(device->in_place(buffers, [&](auto) -> Status { return refused; }).error().code,
            ErrorCode::kTooLarge);
  ASSERT_TRUE(device->release(y).ok());
  EXPECT_EQ(device->in_place(buffers, [](auto) { return ok_status(); }).error().code,
            ErrorCode::kBadBuffer);
}

}  // namespace
}  // namespace tessera::device
