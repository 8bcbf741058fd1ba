// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/mover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/tensor.h"
#include "tessera/relayout/verify.h"
#include "tessera/testing/device/devices.h"
#include "tessera/testing/exchange/exchange_runs.h"
#include "tessera/testing/process.h"
#include "tessera/testing/reshard/reshard_runs.h"

namespace tessera::device {
namespace {

using test::Dice;
using test::failure;

Layout moved_layout(const std::string& text) { return *parse_tensor(text)->placement.layout(); }

/// The destination of a move as the naive reshard says, with its padding.
std::string destination_mistake(const Device& device, BufferId to, const test::ReshardPair& pair,
                                const test::ExchangeCase& data, relayout::PaddingRule rule) {
  const std::int64_t bits = *dtype_bits(pair.to.atom().storage);
  const std::optional<double> number = relayout::padding_to_write(pair.to, rule);
  for (std::size_t place = 0; place < data.to.size(); ++place) {
    for (std::size_t slot = 0; slot < data.to[place].size(); ++slot) {
      const test::ExchangeCase::Expected& want = data.to[place][slot];
      const Result<std::uint64_t> found = test::read_element(
          device, to, static_cast<std::int64_t>(place), static_cast<std::int64_t>(slot), bits);
      if (!want.is_element && !number) {
        if (found.ok()) return cat("padding ", slot, " of place ", place, " was written\n");
        continue;
      }
      if (!found) return failure(found.error());
      const std::uint64_t expected =
          want.is_element ? want.bits : *relayout::bits_of_number(*number, pair.to.atom().storage);
      if (*found != expected) {
        return cat("place ", place, " slot ", slot, " has ", *found, ", expected ", expected, "\n");
      }
    }
  }
  return "";
}

int moves_tried = 0;

/// Whether the pieces of a tensor hold partial sums of different kinds, or only some hold any: a
/// mover refuses what would combine them differently.
bool has_mixed_shares(const Placement& placement) {
  const Piecewise* const pieces = placement.pieces();
  if (pieces == nullptr) return false;
  const auto shares = [](const LayoutPiece& piece) {
    std::vector<Fill> fills = piece.layout.form().fills;
    std::erase_if(fills, [](const Fill& fill) { return fill.kind != Fill::Kind::kPartial; });
    return fills;
  };
  return std::ranges::any_of(pieces->pieces(), [&](const LayoutPiece& piece) {
    return shares(piece) != shares(pieces->pieces().front());
  });
}

/// A move on a device gives what the naive reshard gives, and counts what it counts.
std::string move_mistake(const test::ReshardPair& pair, const test::NaiveReshard& moves) {
  const bool owns = pair.from.view() == nullptr && pair.to.view() == nullptr;
  if (!owns || !test::can_be_exchanged(pair, moves)) return "";
  Dice dice(pair.from.slots() * 7919 + pair.to.slots() * 31 + pair.to.shape().elements());
  const Machine machine =
      test::plain_machine(pair.physical.mesh.extents(), test::kPlainBytes, pair.physical.dead);
  const auto device = make_embedded(machine, {.checked = true});
  if (!device) return failure(device.error());
  const auto x = (*device)->add({.name = "x", .placement = pair.from, .space = "sram"});
  // Pieces with their own maps, and meshes of another rank than the machine's.
  const auto has_no_place = [](const Error& error) {
    return error.code == ErrorCode::kNotSupported || error.code == ErrorCode::kMeshMismatch;
  };
  if (!x && has_no_place(x.error())) return "";
  if (!x) return failure(x.error());
  const std::int64_t behind = (*device)->use().peak_bytes;
  const auto y =
      (*device)->add({.name = "y", .placement = pair.to, .space = "sram", .offsets = behind});
  if (!y && has_no_place(y.error())) return "";
  if (!y) return failure(y.error());

  const test::ExchangeCase data = test::exchange_case(pair, moves);
  const std::int64_t bits = *dtype_bits(pair.from.atom().storage);
  for (const test::NaiveHome& home : moves.from) {
    for (const auto& share : home.shares) {
      for (const test::NaivePlace& at : share) {
        const std::uint64_t value =
            test::bits_at(data.from[static_cast<std::size_t>(at.place)].data(), home.slot, bits);
        const Status wrote = test::write_element(**device, *x, at.place, home.slot, bits, value);
        if (!wrote) return failure(wrote.error());
      }
    }
  }
  const auto rule = dice.chance(40)   ? relayout::PaddingRule::kZero
                    : dice.chance(30) ? relayout::PaddingRule::kLeave
                                      : relayout::PaddingRule::kPromised;
  ThreadPool pool(static_cast<int>(dice.between(1, 3)));
  const auto mover = Mover::make(**device, {*x, {}}, {*y, {}},
                                 {.padding = rule, .pool = dice.chance(50) ? &pool : nullptr});
  if (!mover && mover.error().code == ErrorCode::kNotSupported &&
      (has_mixed_shares(pair.from) || has_mixed_shares(pair.to))) {
    return "";
  }
  if (!mover) return failure(mover.error());
  for (int run = 0; run < 2; ++run) {
    const Status moved = mover->run(**device, *x, *y, pool);
    if (!moved) return failure(moved.error());
    const std::string mistake = destination_mistake(**device, *y, pair, data, rule);
    if (!mistake.empty()) return mistake;
  }
  std::int64_t crossing = 0;
  for (const auto& [ends, elements] : moves.messages) crossing += elements;
  const MoveTotals& totals = mover->totals();
  if (totals.messages != static_cast<std::int64_t>(moves.messages.size()) ||
      totals.crossing_bytes != test::naive_bytes(pair.from, crossing)) {
    return cat("counts ", totals.messages, " messages of ", totals.crossing_bytes, " bytes, not ",
               moves.messages.size(), " of ", test::naive_bytes(pair.from, crossing), "\n");
  }
  ++moves_tried;
  return "";
}

TEST(Mover, BringsAnythingToItsPlaces) {
  moves_tried = 0;
  test::reshard_law_holds(1500, test::ReshardSource::kForms, move_mistake);
  EXPECT_GT(moves_tried, test::kSanitized ? 30 : 300);
}

TEST(Mover, BringsNotationsToEachOther) {
  moves_tried = 0;
  test::reshard_law_holds(400, test::ReshardSource::kTexts, move_mistake);
  EXPECT_GT(moves_tried, test::kSanitized ? 10 : 100);
}

TEST(Mover, MovesPartsOfBuffers) {
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    const std::int64_t rows = dice.between(1, 12);
    const std::int64_t cols = dice.between(1, 12);
    const auto grid = [&](std::int64_t r, std::int64_t c) {
      return moved_layout(cat("tensor<", r, "x", c, "xf32, pyflame.Grid(", dice.between(1, 4), ", ",
                              dice.between(1, 4), ", origin=(", dice.below(3), ", ", dice.below(3),
                              "))>"));
    };
    const Layout whole = grid(rows, cols);
    const std::int64_t first_row = dice.below(rows);
    const std::int64_t first_col = dice.below(cols);
    const std::int64_t part_rows = dice.between(1, rows - first_row);
    const std::int64_t step = dice.between(1, 3);
    const std::int64_t part_cols = (cols - first_col + step - 1) / step;
    const auto slice = View::of(whole).slice(0, first_row, part_rows);
    ASSERT_TRUE(slice.ok());
    const auto part = slice->slice(1, first_col, part_cols, step);
    if (!part) continue;
    const Layout panel = grid(part_rows, part_cols);
    const auto device =
        *make_embedded(test::plain_machine({8, 8}, test::kPlainBytes), {.checked = true});
    const BufferId x = *device->add({.name = "x", .placement = whole, .space = ""});
    const BufferId y =
        *device->add({.name = "y", .placement = panel, .space = "", .offsets = 4096});
    const auto number = [&](std::int64_t i) {  // of the panel's element in the whole
      return (first_row + i / part_cols) * cols + first_col + i % part_cols * step;
    };
    const auto in_whole = [](std::int64_t e) { return test::value_of(e, 32); };
    const auto in_panel = [&](std::int64_t e) { return test::value_of(number(e), 32); };
    ThreadPool pool(2);
    ASSERT_TRUE(test::write_all(*device, x, in_whole).ok());
    const auto out = Mover::make(*device, {x, *part}, {y, {}});
    ASSERT_TRUE(out.ok()) << out.error().message;
    ASSERT_TRUE(out->run(*device, x, y, pool).ok());
    EXPECT_EQ(test::content_mistake(*device, y, in_panel, std::nullopt), "");
    // And back, into other values.
    const auto other = [](std::int64_t e) { return test::value_of(e + 5000, 32); };
    ASSERT_TRUE(test::write_all(*device, x, other).ok());
    const auto back = Mover::make(*device, {y, {}}, {x, *part});
    ASSERT_TRUE(back.ok()) << back.error().message;
    ASSERT_TRUE(back->run(*device, y, x, pool).ok());
    std::vector<bool> is_part(static_cast<std::size_t>(rows * cols));
    for (std::int64_t i = 0; i < part_rows * part_cols; ++i) {
      is_part[static_cast<std::size_t>(number(i))] = true;
    }
    const auto mixed = [&](std::int64_t e) {
      return is_part[static_cast<std::size_t>(e)] ? in_whole(e) : other(e);
    };
    EXPECT_EQ(test::content_mistake(*device, x, mixed, std::nullopt), "");
    ++tried;
  }
  EXPECT_GT(tried, 150);
}

TEST(Mover, MovesBetweenMemories) {
  const auto device = *make_embedded(**find_machine("wormhole"), {.checked = true});
  const Layout tiles = moved_layout(
      "tensor<96x160xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
      "memref<3x5x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>>");
  const BufferId dram = *device->add({.name = "w", .placement = tiles, .space = "dram"});
  const BufferId l1 =
      *device->add({.name = "w in l1",
                    .placement = moved_layout("tensor<96x160xf32, pyflame.Grid(3, 4)>"),
                    .space = "l1"});
  const BufferId host =
      *device->add({.name = "w on the host",
                    .placement = *Layout::row_major(*Shape::make({96, 160}), DType::kF32),
                    .space = "system"});
  const auto value = [](std::int64_t e) { return test::value_of(e, 32); };
  ASSERT_TRUE(test::write_all(*device, host, value).ok());
  ThreadPool pool(2);
  const auto in = Mover::make(*device, {host, {}}, {dram, {}});
  ASSERT_TRUE(in.ok()) << in.error().message;
  ASSERT_TRUE(in->run(*device, host, dram, pool).ok());
  EXPECT_EQ(test::content_mistake(*device, dram, value, std::nullopt), "");
  const auto across = Mover::make(*device, {dram, {}}, {l1, {}});
  ASSERT_TRUE(across.ok()) << across.error().message;
  ASSERT_TRUE(across->run(*device, dram, l1, pool).ok());
  EXPECT_EQ(test::content_mistake(*device, l1, value, std::nullopt), "");
}

TEST(Mover, SaysWhatWasNeverWrittenAndLosesTheDestination) {
  const auto device =
      *make_embedded(test::plain_machine({2, 2}, test::kPlainBytes), {.checked = true});
  const Layout rows = moved_layout("tensor<4x4xf32, pyflame.RowPartition(2)>");
  const Layout cols = moved_layout("tensor<4x4xf32, pyflame.ColPartition(2)>");
  const BufferId x = *device->add({.name = "x", .placement = rows, .space = ""});
  const BufferId y = *device->add({.name = "y", .placement = cols, .space = "", .offsets = 64});
  const auto value = [](std::int64_t e) { return test::value_of(e, 32); };
  ASSERT_TRUE(test::write_all(*device, x, value).ok());
  ASSERT_TRUE(test::write_all(*device, y, value).ok());
  const Mover mover = *Mover::make(*device, {x, {}}, {y, {}});
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    ASSERT_TRUE(mover.run(*device, x, y, pool).ok());
    ASSERT_TRUE(device->forget(x).ok());
    const Status moved = mover.run(*device, x, y, pool);
    ASSERT_FALSE(moved.ok());
    EXPECT_EQ(moved.error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(moved.error().reasons.at(0).text("tensor"), "x");
    EXPECT_EQ(moved.error().reasons.at(0).number("slot"), 0);
    EXPECT_FALSE(test::read_element(*device, y, 0, 0, 32).ok());
    ASSERT_TRUE(test::write_all(*device, x, value).ok());
  }
  ThreadPool pool(1);
  EXPECT_EQ(mover.run(*device, x, x, pool).error().code, ErrorCode::kBadBuffer);
  EXPECT_EQ(mover.run(*device, y, x, pool).error().code, ErrorCode::kBadBuffer);
  ASSERT_TRUE(device->release(y).ok());
  EXPECT_EQ(mover.run(*device, x, y, pool).error().code, ErrorCode::kBadBuffer);
  EXPECT_EQ(Mover::make(*device, {x, {}}, {y, {}}).error().code, ErrorCode::kBadBuffer);
  // Another buffer of the same layout will do.
  const BufferId z = *device->add({.name = "z", .placement = cols, .space = "", .offsets = 128});
  ASSERT_TRUE(mover.run(*device, x, z, pool).ok());
  EXPECT_EQ(test::content_mistake(*device, z, value, std::nullopt), "");
}

}  // namespace
}  // namespace tessera::device
