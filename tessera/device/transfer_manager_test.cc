// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/transfer_manager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/tensor.h"
#include "tessera/relayout/jobs/combine.h"
#include "tessera/relayout/verify.h"
#include "tessera/testing/device/devices.h"
#include "tessera/testing/device/watched_device.h"
#include "tessera/testing/notation/random_texts.h"
#include "tessera/testing/process.h"
#include "tessera/testing/relayout/naive_cast.h"
#include "tessera/testing/reshard/naive_reshard.h"

namespace tessera::device {
namespace {

using test::Dice;
using test::failure;

Layout sent_layout(const std::string& text) { return *parse_tensor(text)->placement.layout(); }

/// The type of a tensor's elements on the host.
DType host_type(const Placement& placement) {
  return is_block_float(placement.dtype()) ? DType::kF32 : placement.dtype();
}

bool has_shares(const Placement& placement) {
  for (const FormPiece& piece : form_pieces(placement)) {
    for (const Fill& fill : piece.form->fills) {
      if (fill.kind == Fill::Kind::kPartial && fill.count > 1) return true;
    }
  }
  return false;
}

/// Elements on the host that every type of storage can represent, where the storage has another
/// type, and no NaN where shares are combined, which makes a signalling one quiet; any bits
/// otherwise.
std::vector<std::byte> host_elements(Dice& dice, const Placement& placement) {
  const DType type = host_type(placement);
  const std::int64_t bits = *dtype_bits(type);
  const std::int64_t elements = placement.shape().elements();
  std::vector<std::byte> host(static_cast<std::size_t>((elements * bits + 7) / 8));
  const bool computes = type != placement.atom().storage || has_shares(placement);
  for (std::int64_t e = 0; e < elements; ++e) {
    std::uint64_t value = test::value_of(e + dice.below(1000), bits);
    if (type == DType::kBool) value = value & 1;
    if (computes) {
      value = *relayout::bits_of_number(static_cast<double>(dice.below(2)), type);
    }
    test::set_bits(host.data(), e, bits, value);
  }
  return host;
}

/// The bits of each element on the device, by the definition of casts.
std::optional<std::uint64_t> stored_bits(const Placement& placement,
                                         const std::vector<std::byte>& host, std::int64_t element) {
  const DType type = host_type(placement);
  const DType storage = placement.atom().storage;
  if (type == storage) return test::bits_at(host.data(), element, *dtype_bits(type));
  std::array<std::byte, 8> cast{};
  test::naive_cast_one(type, host.data(), element, storage, cast.data(), 0);
  return test::bits_at(cast.data(), 0, *dtype_bits(storage));
}

/// What places hold after host_to_device, share by share.
std::string sent_mistake(const Device& device, BufferId buffer,
                         const std::vector<std::byte>& host) {
  const Placement& placement = device.find(buffer)->placement;
  const DType storage = placement.atom().storage;
  const std::int64_t bits = *dtype_bits(storage);
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> expected;
  for (std::int64_t e = 0; e < placement.shape().elements(); ++e) {
    const Index index = placement.shape().delinear(e);
    const test::Home home = test::home_of(placement, index);
    for (std::size_t share = 0; share < home.shares.size(); ++share) {
      for (const std::int64_t place : home.shares[share]) {
        std::uint64_t value = *stored_bits(placement, host, e);
        if (share > 0) {
          for (const Fill& fill : placement.form_at(index).first->fills) {
            if (fill.kind != Fill::Kind::kPartial || fill.count == 1) continue;
            value = relayout::combiner_of(fill.reduction, storage)->neutral;
          }
        }
        expected[{place, home.slot}] = value;
      }
    }
  }
  const auto number = relayout::padding_to_write(placement, relayout::PaddingRule::kPromised);
  for (std::int64_t place = 0; place < placement.places(); ++place) {
    for (std::int64_t slot = 0; slot < placement.slots(); ++slot) {
      const Result<std::uint64_t> found = test::read_element(device, buffer, place, slot, bits);
      const auto entry = expected.find({place, slot});
      if (entry == expected.end() && !number) {
        if (found.ok()) return cat("padding ", slot, " of place ", place, " was written\n");
        continue;
      }
      if (!found) return failure(found.error());
      const std::uint64_t value =
          entry != expected.end() ? entry->second : *relayout::bits_of_number(*number, storage);
      if (*found != value) {
        return cat("place ", place, " slot ", slot, " has ", *found, ", expected ", value, "\n");
      }
    }
  }
  return "";
}

struct Tried {
  int tensors = 0;
  int casts = 0;
  int tiles = 0;
  int shares = 0;
};

std::string round_trip_mistake(Dice& dice, const Placement& placement, Tried& tried) {
  const auto machine = test::machine_for(placement, test::kPlainBytes);
  if (!machine) return "";
  const auto device = make_embedded(*machine, {.checked = dice.chance(85)});
  if (!device) return failure(device.error());
  const auto x = (*device)->add(
      {.name = "x", .placement = placement, .space = "sram", .offsets = dice.below(9) * 4});
  if (!x && x.error().code == ErrorCode::kNotSupported) return "";
  if (!x) return failure(x.error());
  const auto transfers = TransferManager::make(
      **device, {.block_bytes = std::int64_t{64} << dice.below(8),
                 .words = dice.chance(50) ? BorderWords::kAlways : BorderWords::kNever,
                 .in_place = dice.chance(50)});
  if (!transfers) return failure(transfers.error());
  const std::vector<std::byte> host = host_elements(dice, placement);
  if (*(*transfers)->host_bytes(*x) != static_cast<std::int64_t>(host.size()))
    return "host bytes\n";
  const Status sent = (*transfers)->host_to_device(*x, host);
  if (!sent && sent.error().code == ErrorCode::kNotSupported) return "";
  if (!sent) return failure(sent.error());
  const bool tiles = is_block_float(placement.atom().storage);
  if ((*device)->checked() && !tiles) {
    const std::string mistake = sent_mistake(**device, *x, host);
    if (!mistake.empty()) return mistake;
  }
  std::vector<std::byte> back(host.size());
  const Status received = (*transfers)->device_to_host(*x, back);
  if (!received) return failure(received.error());
  const auto [differs, with] = std::mismatch(back.begin(), back.end(), host.begin());
  if (differs != back.end()) {
    return cat("byte ", differs - back.begin(), " came back as ", std::to_integer<int>(*differs),
               ", not ", std::to_integer<int>(*with), "\n");
  }
  if ((*transfers)->total_bytes_transferred() != 2 * host.size()) return "bytes are not counted\n";
  ++tried.tensors;
  if (tiles) ++tried.tiles;
  if (host_type(placement) != placement.atom().storage) ++tried.casts;
  if (has_shares(placement)) ++tried.shares;
  return "";
}

TEST(TransferManager, BringsEveryNotationToItsPlacesAndBack) {
  Tried tried;
  const std::uint64_t seeds = test::kSanitized ? 8 : 40;
  for (const notation::Notation& notation : notation::notations()) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      Dice dice(seed * 977 + 5);
      const std::string text = test::random_text(notation.name, dice);
      const Result<Tensor> tensor = parse_tensor(text);
      if (!tensor || tensor->placement.view() != nullptr) continue;
      EXPECT_EQ(round_trip_mistake(dice, tensor->placement, tried), "") << text;
    }
  }
  EXPECT_GT(tried.tensors, test::kSanitized ? 50 : 280);
  if (test::kSanitized) return;
  EXPECT_GT(tried.casts, 5);
  EXPECT_GT(tried.tiles, 3);
  EXPECT_GT(tried.shares, 5);
}

TEST(TransferManager, BringsRandomLayoutsOfEveryTypeToTheirPlacesAndBack) {
  Tried tried;
  for (std::uint64_t seed = 0; seed < (test::kSanitized ? 80 : 400); ++seed) {
    Dice dice(seed * 31 + 1);
    const std::optional<Layout> layout = test::random_layout(dice, {});
    if (!layout) continue;
    LayoutSpec spec = layout->spec();
    const std::vector<DType>& types = all_dtypes();
    spec.dtype =
        types[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(types.size())))];
    if (is_block_float(spec.dtype)) continue;
    spec.atom = Atom::scalar(spec.dtype);
    spec.space = "";
    const Result<Layout> typed = Layout::make(spec);
    if (!typed) continue;
    EXPECT_EQ(round_trip_mistake(dice, *typed, tried), "") << "seed " << seed;
  }
  EXPECT_GT(tried.tensors, test::kSanitized ? 30 : 200);
}

TEST(TransferManager, CombinesPartialSumsOnTheWayBack) {
  const auto device =
      *make_embedded(test::plain_machine({3, 4}, test::kPlainBytes), {.checked = true});
  const Layout layout =
      sent_layout("tensor<5x7xi32, pyflame.Grid(3, 4, dim_to_pe=[1, -1], partial=[0:sum])>");
  const BufferId x = *device->add({.name = "x", .placement = layout, .space = ""});
  std::vector<std::uint32_t> sums(35, 0);
  for (std::int64_t e = 0; e < 35; ++e) {
    const test::Home home = test::home_of(layout, layout.shape().delinear(e));
    ASSERT_EQ(home.shares.size(), 3U);
    for (std::size_t share = 0; share < 3; ++share) {
      const auto value =
          static_cast<std::uint32_t>(test::value_of(e * 3 + static_cast<std::int64_t>(share), 32));
      sums[static_cast<std::size_t>(e)] += value;
      for (const std::int64_t place : home.shares[share]) {
        ASSERT_TRUE(test::write_element(*device, x, place, home.slot, 32, value).ok());
      }
    }
  }
  const auto transfers = *TransferManager::make(*device, {.block_bytes = 64});
  std::vector<std::uint32_t> found(35);
  const Status done = transfers->device_to_host(x, std::as_writable_bytes(std::span(found)));
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(found, sums);
}

TEST(TransferManager, CrossesInFewRectangles) {
  const auto device = *make_embedded(**find_machine("wse2"));
  const auto transfers = *TransferManager::make(*device);
  std::int64_t offset = 0;
  const auto border = [&](const std::string& text) {
    const BufferId x =
        *device->add({.name = "x", .placement = sent_layout(text), .space = "", .offsets = offset});
    const BorderUse use = *transfers->border_use(x);
    EXPECT_TRUE(device->release(x).ok());
    return use;
  };
  // 10x7 on 4x3: tiles of 3x3; the last row has 1, the last column 1.
  const BorderUse ragged = border("tensor<10x7xf32, pyflame.Grid(4, 3)>");
  EXPECT_EQ(ragged.rectangles, 4);
  EXPECT_EQ(ragged.calls, 4);
  // Inner tiles 9 slots, the last column 3 rows of pitch 3 but 7 slots, and so on.
  EXPECT_EQ(ragged.bytes, 4 * (6 * 9 + 3 * 7 + 2 * 3 + 1));
  EXPECT_EQ(border("tensor<12x9xf32, pyflame.Grid(4, 3)>").rectangles, 1);
  EXPECT_EQ(border("tensor<12x10xf32, pyflame.Custom(2, 2, [(0, 0), (0, 2), (5, 5), (5, 6)])>")
                .rectangles,
            3);
  // 16-bit elements take a word each.
  const BorderUse half = border("tensor<12x9xf16, pyflame.Grid(4, 3)>");
  EXPECT_TRUE(half.words);
  EXPECT_EQ(half.bytes, 4 * 108);
  for (std::int64_t rows = 1; rows < 40; rows += 3) {
    for (std::int64_t cols = 1; cols < 40; cols += 4) {
      const BorderUse grid =
          border(cat("tensor<", rows, "x", cols, "xf32, pyflame.Grid(5, 6, origin=(2, 3))>"));
      EXPECT_LE(grid.rectangles, 4) << rows << " " << cols;
      const BorderUse cyclic =
          border(cat("tensor<", rows, "x", cols, "xf32, pyflame.BlockCyclic(3, 4, 2, 3)>"));
      EXPECT_LE(cyclic.rectangles, 9) << rows << " " << cols;
    }
  }
}

TEST(TransferManager, StreamsTilesInTheOrderOfTheirMemory) {
  // Cerebras' conformance example: column-major tiles of a 4x4 tensor on 2x2 PEs.
  Machine machine = test::plain_machine({2, 2}, test::kPlainBytes);
  machine.rules.fabric = target::Fabric{0, 0, 2, 2};
  const auto inside = *make_embedded(machine);
  test::WatchedDevice device(*inside);
  LayoutSpec spec = sent_layout("tensor<4x4xi16, pyflame.Grid(2, 2)>").spec();
  for (Fold& fold : spec.form.folds) {
    for (Cut& cut : fold.cuts) {
      if (cut.target.is_memory()) cut.stride = fold.terms.at(0).dim == 0 ? 1 : 2;
    }
  }
  const BufferId x = *device.add({.name = "x", .placement = *Layout::make(spec), .space = ""});
  const auto transfers = *TransferManager::make(device);
  std::vector<std::uint32_t> words;
  device.sent = [&](const BorderCall& call, std::span<const std::byte> data) {
    EXPECT_TRUE(call.words);
    EXPECT_EQ(call.slots, 4);
    words.resize(data.size() / 4);
    std::memcpy(words.data(), data.data(), data.size());
  };
  std::vector<std::int16_t> host(16);
  std::iota(host.begin(), host.end(), std::int16_t{0});
  ASSERT_TRUE(transfers->host_to_device(x, std::as_bytes(std::span(host))).ok());
  EXPECT_EQ(words,
            (std::vector<std::uint32_t>{0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15}));
}

/// Places of a machine at distances that are not those of their mesh: pages over banks, places one
/// by one, a corner of a wafer, replicas. Whole tensors come and go both ways.
TEST(TransferManager, MovesInPlaceWhatStagingMoves) {
  struct Case {
    const char* machine;
    const char* space;
    const char* text;
  };
  for (const Case& one : {
           Case{"wse2", "", "tensor<70x110xf32, pyflame.Grid(7, 11, origin=(980, 730))>"},
           Case{"wse2", "", "tensor<71x113xf16, pyflame.Grid(7, 11)>"},
           Case{"wse2", "", "tensor<71x113xi8, pyflame.BlockCyclic(4, 3, 2, 5)>"},
           Case{"wse2", "",
                "tensor<41x7xf64, pyflame.Custom(2, 2, [(0, 0), (0, 2), (5, 5), (5, 6)])>"},
           Case{"wse2", "", "tensor<300xi32, pyflame.RowPartition(9)>"},
           Case{"wse2", "",
                "tensor<5x7xi32, pyflame.Grid(3, 4, dim_to_pe=[1, -1], partial=[0:sum])>"},
           Case{"wse2", "", "tensor<64x8xf32, pyflame.Grid(3, 4, dim_to_pe=[1, -1])>"},
           Case{"wormhole", "dram", "tensor<100x600xf32, strided<[600, 1]>>"},
           Case{"wormhole", "dram",
                "tensor<96x160xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
                "memref<3x5x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>>"},
       }) {
    const Result<Tensor> tensor = parse_tensor(one.text);
    ASSERT_TRUE(tensor.ok()) << one.text;
    const auto device = *make_embedded(**find_machine(one.machine), {.checked = true});
    const auto x = device->add({.name = "x",
                                .placement = tensor->placement,
                                .space = one.space,
                                .offsets = std::int64_t{256}});
    ASSERT_TRUE(x.ok()) << x.error().message;
    Dice dice(7);
    const std::vector<std::byte> host = host_elements(dice, tensor->placement);
    for (const bool sends_in_place : {true, false}) {
      const auto to = *TransferManager::make(*device, {.in_place = sends_in_place});
      const auto from = *TransferManager::make(*device, {.in_place = !sends_in_place});
      ASSERT_TRUE(device->forget(*x).ok());
      const Status sent = to->host_to_device(*x, host);
      ASSERT_TRUE(sent.ok()) << one.text << sent.error().message;
      for (const auto& back_by : {&from, &to}) {
        std::vector<std::byte> back(host.size());
        const Status received = (*back_by)->device_to_host(*x, back);
        ASSERT_TRUE(received.ok()) << one.text << received.error().message;
        EXPECT_TRUE(back == host) << one.text;
      }
      if (tensor->placement.places() < 1000) {
        EXPECT_EQ(sent_mistake(*device, *x, host), "") << one.text;
      }
    }
  }
}

TEST(TransferManager, RefusesWhatDoesNotFit) {
  const auto device =
      *make_embedded(test::plain_machine({2, 2}, test::kPlainBytes), {.checked = true});
  LayoutSpec spec = sent_layout("tensor<4xf32, pyflame.RowPartition(2)>").spec();
  spec.atom = Atom::scalar(DType::kF16);
  const BufferId x = *device->add({.name = "x", .placement = *Layout::make(spec), .space = ""});
  const auto transfers = *TransferManager::make(*device);
  const std::vector<float> host = {1, 2, 70000, 4};
  const auto bytes = std::as_bytes(std::span(host));
  EXPECT_EQ(transfers->host_to_device(x, bytes).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(transfers->host_to_device(x, bytes.first(12)).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(transfers->host_to_device(static_cast<BufferId>(9), bytes).error().code,
            ErrorCode::kBadBuffer);
  std::vector<float> back(4);
  EXPECT_EQ(transfers->device_to_host(x, std::as_writable_bytes(std::span(back)))
                .error()
                .reasons.at(0)
                .name,
            "never_written");
  EXPECT_EQ(transfers->total_bytes_transferred(), 0U);
  EXPECT_EQ(transfers->average_transfer_bandwidth(), 0);
  const auto saturating =
      *TransferManager::make(*device, {.rounding = relayout::Rounding::kSaturate});
  EXPECT_TRUE(saturating->host_to_device(x, bytes).ok());
  ASSERT_TRUE(saturating->device_to_host(x, std::as_writable_bytes(std::span(back))).ok());
  EXPECT_EQ(back, (std::vector<float>{1, 2, 65504, 4}));
  EXPECT_GT(saturating->average_transfer_bandwidth(), 0);
  EXPECT_EQ(TransferManager::make(*device, {.block_bytes = 32}).error().code,
            ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace tessera::device
