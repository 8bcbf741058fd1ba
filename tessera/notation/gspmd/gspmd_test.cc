// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/gspmd/gspmd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tessera/testing/notation/placement_checks.h"
#include "tessera/testing/notation/reasons.h"
#include "tessera/testing/notation/text_checks.h"
#include "tessera/testing/process.h"

namespace tessera::notation {
namespace {

using Copies = GspmdLayout::Copies;
using Kind = GspmdLayout::Kind;
using Devices = std::vector<std::int64_t>;

/// arange(n).reshape(reshape).transpose(transpose).flatten()
Devices devices_of(const GspmdLayout& words) {
  if (!words.devices.empty()) return words.devices;
  const Shape from = *Shape::make(words.reshape);
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    extents.push_back(
        from[words.transpose.empty() ? i : static_cast<std::size_t>(words.transpose[i])]);
  }
  const Shape to = *Shape::make(extents);
  Devices devices;
  for (std::int64_t number = 0; number < to.elements(); ++number) {
    const Index moved = to.delinear(number);
    Index index(from.rank());
    for (std::size_t i = 0; i < from.rank(); ++i) {
      index[words.transpose.empty() ? i : static_cast<std::size_t>(words.transpose[i])] = moved[i];
    }
    devices.push_back(from.linear(index));
  }
  return devices;
}

/// XLA's rule (HloSharding::TileOffsetForDevice): shards of ceil(n/t), every copy of a tile on its
/// device.
Ruling ruled(const GspmdLayout& words, const Shape& shape) {
  Ruling ruling;
  ruling.text = cat("tensor<", extents_text(shape), "f32, ", write(words), ">");
  ruling.cause = "grid";
  std::vector<std::int64_t> tiles(shape.rank(), 1);
  Devices devices = {words.device};
  if (words.kind == Kind::kTiled) {
    devices = devices_of(words);
    std::copy_n(words.tiles.begin(), shape.rank(), tiles.begin());
    ruling.mesh = *Shape::make({static_cast<std::int64_t>(devices.size())});
  } else {
    ruling.mesh = *Shape::make({words.partitions});
    if (words.kind != Kind::kMaximal) {
      devices.resize(static_cast<std::size_t>(words.partitions));
      std::iota(devices.begin(), devices.end(), 0);
    }
  }
  const Shape grid = *Shape::make(tiles);
  const std::size_t copies = devices.size() / static_cast<std::size_t>(grid.elements());
  std::vector<std::int64_t> extents;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    extents.push_back((shape[dim] + tiles[dim] - 1) / tiles[dim]);
  }
  const Shape shard = *Shape::make(extents);
  ruling.slots = shard.elements();
  for (std::int64_t number = 0; number < shape.elements(); ++number) {
    const Index index = shape.delinear(number);
    Index tile(shape.rank());
    Index inside(shape.rank());
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      tile[dim] = index[dim] / shard[dim];
      inside[dim] = index[dim] % shard[dim];
    }
    for (std::size_t copy = 0; copy < copies; ++copy) {
      const std::size_t at = static_cast<std::size_t>(grid.linear(tile)) * copies + copy;
      ruling.put({devices[at]}, shard.linear(inside), index);
    }
  }
  return ruling;
}

void shuffle(Numbers& numbers, std::vector<std::int64_t>& list) {
  for (std::size_t i = list.size(); i > 1; --i) {
    std::swap(list[i - 1],
              list[static_cast<std::size_t>(numbers.below(static_cast<std::int64_t>(i)))]);
  }
}

GspmdLayout random_words(Numbers& numbers, std::int64_t rank) {
  GspmdLayout words;
  if (numbers.chance(8)) {
    words.kind = static_cast<Kind>(numbers.between(1, 3));
    words.partitions = numbers.between(1, 6);
    if (words.kind == Kind::kMaximal) words.device = numbers.below(words.partitions);
    return words;
  }
  std::int64_t devices = 1;
  const auto dims = [&](std::int64_t count) {
    for (; count > 0; --count) {
      words.tiles.push_back(numbers.between(1, std::min<std::int64_t>(4, 16 / devices)));
      devices *= words.tiles.back();
    }
  };
  dims(rank);
  for (std::int64_t kinds = numbers.chance(50) ? numbers.between(1, 2) : 0; kinds > 0; --kinds) {
    dims(1);
    words.copies.push_back(numbers.chance(80) ? Copies::kReplicated : Copies::kUnreduced);
  }
  if (words.tiles.empty()) return random_words(numbers, rank);
  if (devices == 1) words.reshape = {1};
  for (std::int64_t left = devices; left > 1;) {
    std::int64_t factor = numbers.between(2, left);
    while (left % factor != 0) --factor;
    words.reshape.push_back(factor);
    left /= factor;
  }
  if (words.reshape.size() > 1 && numbers.chance(80)) {
    words.transpose.resize(words.reshape.size());
    std::iota(words.transpose.begin(), words.transpose.end(), 0);
    shuffle(numbers, words.transpose);
  }
  if (numbers.chance(50)) {
    words.devices = devices_of(words);
    if (numbers.chance(70)) shuffle(numbers, words.devices);
    words.reshape.clear();
    words.transpose.clear();
  }
  return words;
}

TEST(GspmdRule, TenThousandTexts) {
  Numbers numbers(3);
  int failures = 0;
  int texts = 0;
  int pieces = 0;
  int tables = 0;
  for (; texts < 10'000 && failures < 3;) {
    const Shape shape = numbers.shape(numbers.between(0, 4), 5);
    const GspmdLayout words = random_words(numbers, static_cast<std::int64_t>(shape.rank()));
    const Result<Placement> placement = lower(words, shape, DType::kF32);
    ASSERT_TRUE(placement.ok()) << write(words) << ": " << placement.error().message;
    const std::string wrong = mistake(ruled(words, shape));
    EXPECT_EQ(wrong, "");
    failures += wrong.empty() ? 0 : 1;
    ++texts;
    pieces += placement->pieces() != nullptr ? 1 : 0;
    const Layout* layout = placement->layout();
    tables += layout != nullptr && layout->spec().device_map != DeviceMap::identity() ? 1 : 0;
  }
  EXPECT_EQ(texts, 10'000);
  EXPECT_GT(pieces, 500);
  EXPECT_GT(tables, 300);
}

Placement placed(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor->placement;
}

/// The first device of each element, in row-major order.
Devices devices(std::string_view text) {
  const Placement placement = placed(text);
  Devices out;
  Index index(placement.shape().rank(), 0);
  do {
    out.push_back(placement.locate(index)->places.front()[0]);
  } while (placement.shape().next(index));
  return out;
}

TEST(Gspmd, PublishedExamples) {
  // xla/hlo/ir/tile_assignment.h: dims [4,4,1] with reshape [4,2,2] and transpose [1,0,2].
  EXPECT_EQ(devices("tensor<4x4x1xf32, gspmd{devices=[4,4,1]<=[4,2,2]T(1,0,2)}>"),
            (Devices{0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15}));
  // xla/hlo/ir/tile_assignment_test.cc: dims [3,2] with reshape [2,3] and transpose [1,0].
  EXPECT_EQ(devices("tensor<3x2xf32, gspmd{devices=[3,2]<=[2,3]T(1,0)}>"),
            (Devices{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(devices("tensor<2x2xf32, gspmd{devices=[2,2]0,2,1,3}>"), (Devices{0, 2, 1, 3}));
  // HloSharding::TileOffsetForDevice: min(index * ceil(5/4), 5); the last device has nothing.
  EXPECT_EQ(devices("tensor<5xf32, gspmd{devices=[4]<=[4]}>"), (Devices{0, 0, 1, 1, 2}));
  // xla/hlo/parser/hlo_parser_test.cc, partially replicated: tile 0 on devices 0 and 1, 2 and 3.
  for (const std::string_view layout : {"{devices=[2,2]0,1,2,3 last_tile_dim_replicate}",
                                        "{devices=[2,2]<=[4] last_tile_dim_replicate}"}) {
    const Placement placement = placed(cat("tensor<4xf32, gspmd", layout, ">"));
    EXPECT_EQ(placement.locate({3})->places, (std::vector<Place>{{2}, {3}}));
  }
  EXPECT_EQ(placed("tensor<4xf32, gspmd{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}>")
                .locate({0})
                ->places,
            (std::vector<Place>{{0}, {2}}));
}

TEST(Gspmd, ListsInDisguiseAreOneLayout) {
  for (const auto& [said, raised] : std::vector<std::pair<std::string, std::string>>{
           {"{devices=[2,2]0,1,2,3}", "{devices=[2,2]<=[4]}"},
           {"{devices=[2,2]0,2,1,3}", "{devices=[2,2]<=[2,2]T(1,0)}"},
           {"{devices=[2,1,4]0,2,4,6,1,3,5,7 last_tile_dim_replicate}",
            "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}"},
           {"{devices=[2,2]<=[2,2]T(0,1)}", "{devices=[2,2]<=[4]}"},
           {"{devices=[1,1]<=[1]}", "{replicated num_partitions=1}"},
           {"{devices=[1,2,3]0,2,4,1,3,5 last_tile_dims={unreduced}}",
            "{devices=[1,2,3]<=[3,2]T(1,0) last_tile_dims={unreduced}}"}}) {
    const Placement placement = placed(cat("tensor<8x6xf32, gspmd", said, ">"));
    EXPECT_NE(placement.layout(), nullptr) << said;
    EXPECT_EQ(*print_tensor(placement, **find_notation("gspmd")),
              cat("tensor<8x6xf32, gspmd", raised, ">"));
  }
  const Placement odd = placed("tensor<8x6xf32, gspmd{devices=[2,2]3,0,1,2}>");
  ASSERT_NE(odd.pieces(), nullptr);
  EXPECT_EQ(*print_tensor(odd, **find_notation("gspmd")),
            "tensor<8x6xf32, gspmd{devices=[2,2]3,0,1,2}>");
}

TEST(Gspmd, LargeMeshesTakeNoTime) {
  const double start = test::cpu_seconds();
  for (const std::string_view text : {
           "tensor<994x750xf32, gspmd{devices=[994,750]<=[745500]}>",
           "tensor<745500x8xf32, gspmd{devices=[745500,1]<=[994,750]T(1,0)}>",
           "tensor<100000x64xbf16, gspmd{devices=[750,1,994]<=[994,750]T(1,0) "
           "last_tile_dim_replicate}>",
           "tensor<7xf32, gspmd{devices=[1152921504606846976]<=[1073741824,1073741824]T(1,0)}>",
       }) {
    const Placement placement = placed(text);
    EXPECT_NE(placement.layout(), nullptr) << text;
    EXPECT_EQ(raised_mistake(placement, **find_notation("gspmd")), "") << text;
  }
  EXPECT_LT(test::cpu_seconds() - start, 2);
}

TEST(Gspmd, ErrorsPointAtTheOffendingText) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x6xf32, gspmd{devices=[2]<=[2]}>",  //
            "                              ^^^^^^^^", ErrorCode::kContradiction,
            "tiles for 1 dim of a tensor of rank 2"},
           {"tensor<4x6xf32, gspmd{devices=[2,2,2]<=[8]}>",  //
            "                              ^^^^^^^^^^^^", ErrorCode::kContradiction,
            "tiles for 3 dims of a tensor of rank 2"},
           {"tensor<4x4xf32, gspmd{devices=[2,2]<=[16]}>",  //
            "                              ^^^^^^^^^^^", ErrorCode::kContradiction,
            "16 devices for 4 tiles"},
           {"tensor<4x4xf32, gspmd{devices=[2,2]0,1,2,3,4}>",  //
            "                              ^^^^^^^^^^^^^^", ErrorCode::kContradiction,
            "5 devices for 4 tiles"},
           {"tensor<4x4xf32, gspmd{devices=[2,2]0,1,2,7}>",  //
            "                              ^^^^^^^^^^^^", ErrorCode::kContradiction,
            "device 7 of 4"},
           {"tensor<4x4xf32, gspmd{devices=[2,2]0,1,2,1}>",  //
            "                              ^^^^^^^^^^^^", ErrorCode::kContradiction,
            "device 1 is listed twice"},
           {"tensor<4x4xf32, gspmd{devices=[2,2]<=[2,2]T(0,0)}>",  //
            "                              ^^^^^^^^^^^^^^^^^^", ErrorCode::kContradiction,
            "T(0,0) of 2 dims"},
           {"tensor<4xf32, gspmd{replicated}>",  //
            "              ^^^^^^^^^^^^^^^^^", ErrorCode::kSyntax,
            "'replicated' without the number of devices"},
           {"tensor<4xf32, gspmd{maximal num_partitions=4}>",  //
            "                    ^^^^^^^", ErrorCode::kSyntax, "'maximal' without its device"},
           {"tensor<4xf32, gspmd{maximal device=4 num_partitions=4}>",  //
            "                                   ^", ErrorCode::kContradiction, "device 4 of 4"},
           {"tensor<4xf32, gspmd{manual}>",  //
            "                    ^^^^^^", ErrorCode::kNotSupported, "'manual' is not supported"},
           {"tensor<4xf32, gspmd{{replicated}, {replicated}}>",  //
            "                    ^", ErrorCode::kNotSupported, "'{' is not supported"},
           {"tensor<4xf32, gspmd{devices=[2,2]<=[4] last_tile_dims={manual}}>",  //
            "                                                       ^^^^^^",
            ErrorCode::kNotSupported, "'manual' is not supported"},
           {"tensor<4xf32, gspmd{devices=[2,2]<=[4] last_tile_dims={replicate}}>",  //
            "                                                       ^^^^^^^^^",
            ErrorCode::kUnknownName, "no kind of copies is called 'replicate'"},
           {"tensor<4xf32, gspmd{devices=[4]<=[4] metadata={op_name=\"a\"}}>",  //
            "                                     ^^^^^^^^", ErrorCode::kNotSupported,
            "'metadata' is not supported"},
           {"tensor<4xf32, gspmd{replicatd num_partitions=2}>",  //
            "                    ^^^^^^^^^", ErrorCode::kUnknownName,
            "no sharding has 'replicatd'"},
           {"tensor<4xf32, gspmd{devices=[4]<=[4] replicated}>",  //
            "                                     ^^^^^^^^^^", ErrorCode::kContradiction,
            "'replicated' after 'devices'"},
           {"tensor<4x4xf32, gspmd{devices=[4611686018427387904,4]<=[8]}>",  //
            "                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOverflow,
            "the number of elements of 4611686018427387904x4 does not fit a signed 64-bit integer"},
       }) {
    expect_refused(refusal);
  }
}

std::string listed(int devices) {
  std::string list;
  for (int i = 0; i < devices; ++i) list += cat(i == 0 ? "" : ",", i ^ 1);
  return cat("tensor<", devices, "xf32, gspmd{devices=[", devices, "]", list, "}>");
}

TEST(Gspmd, LongLists) {
  const Result<Tensor> tensor = parse_tensor(listed(1'000'000));
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  const Place place = tensor->placement.locate({654'321})->places.front();
  EXPECT_EQ(PlaceNames::of(*tensor).name_of(place), Place{654'320});
  const Result<std::string> raised = print_tensor(tensor->placement, **find_notation("gspmd"));
  ASSERT_TRUE(raised.ok()) << raised.error().message;
  EXPECT_EQ(*raised, listed(1'000'000));
  const Result<Tensor> longer = parse_tensor(listed(1'100'000));
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code, ErrorCode::kTooLarge);
}

TEST(Gspmd, CopiesOnListedDevices) {
  // Tile 0 is on devices 2, 0 and 3, tile 1 on 1, 5 and 4.
  const char* text = "tensor<8xf32, gspmd{devices=[2,3]2,0,3,1,5,4 last_tile_dim_replicate}>";
  const Tensor tensor = *parse_tensor(text);
  const PlaceNames names = PlaceNames::of(tensor);
  std::vector<Place> places = tensor.placement.locate({5})->places;
  for (Place& place : places) place = names.name_of(place);
  std::sort(places.begin(), places.end());
  EXPECT_EQ(places, (std::vector<Place>{{1}, {4}, {5}}));
  EXPECT_EQ(std::get<std::vector<Index>>(*tensor.placement.contents_at(names.place_of({4}), 1)),
            (std::vector<Index>{{5}}));
  // Another order of the copies is the same tensor; other devices are not.
  const auto same_as = [&](std::string_view other) {
    return same_on_device(tensor.placement, parse_tensor(other)->placement)->equal;
  };
  EXPECT_TRUE(same_as("tensor<8xf32, gspmd{devices=[2,3]0,2,3,4,1,5 last_tile_dim_replicate}>"));
  EXPECT_FALSE(same_as("tensor<8xf32, gspmd{devices=[2,3]0,2,4,3,1,5 last_tile_dim_replicate}>"));
  EXPECT_FALSE(
      same_as("tensor<8xf32, gspmd{devices=[2,3]0,2,3,4,1,5 last_tile_dims={unreduced}}>"));
}

TEST(Gspmd, WhatItCannotSayHasAReason) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"native<mesh=[2, 2], {d0} / (2 -> m0, 1 -> mem*2), {d1} / (2 -> m1, 1 -> mem)>",
            "mesh_rank mesh=[2, 2] least_axes=0 most_axes=1"},
           {"native<mesh=[4], {d0} / (1 -> mem*4), {d1} / (1 -> mem), partial(m0, max)>",
            "partial_result reduction=max places=4"},
           {"native<mesh=[2], {d0} / (2 -> m0, 1 -> mem*4), {d1} / (1 -> mem), pad=0>",
            "padding_value"},
           {"native<mesh=[2], {d0} / (1 -> mem), {d1} / (2 -> m0, 1 -> mem*4)>",
            "element_elsewhere index=[0, 1] slot=4 expected_slot=1 place=[0] expected_place=[0] "
            "copies=1 expected_copies=1"},
       }) {
    const Placement placement = placed(cat("tensor<4x4xf32, ", text, ">"));
    const Result<std::string> raised = print_tensor(placement, **find_notation("gspmd"));
    ASSERT_FALSE(raised.ok()) << text << " became " << *raised;
    EXPECT_EQ(raised.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(test::reasons_text(raised.error()), reason);
  }
}

}  // namespace
}  // namespace tessera::notation
