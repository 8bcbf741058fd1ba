// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/dtensor/dtensor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/testing/notation/placement_checks.h"
#include "tessera/testing/notation/reasons.h"
#include "tessera/testing/notation/text_checks.h"
#include "tessera/testing/process.h"

namespace tessera::notation {
namespace {

using Kind = DtensorPlacement::Kind;

/// PyTorch's rule, element by element: the elements are cut by one mesh dim after another, as
/// torch.chunk does, and each place keeps its part in order.
std::vector<std::int64_t> chunk(const std::vector<std::int64_t>& line, std::int64_t parts,
                                std::int64_t part) {
  const auto size = static_cast<std::int64_t>(line.size());
  const std::int64_t length = (size + parts - 1) / parts;
  std::vector<std::int64_t> out;
  for (std::int64_t i = part * length; i < std::min(size, (part + 1) * length); ++i) {
    out.push_back(line[static_cast<std::size_t>(i)]);
  }
  return out;
}

std::vector<std::int64_t> shard(const std::vector<std::int64_t>& line,
                                const DtensorPlacement& placement, std::int64_t places,
                                std::int64_t coordinate) {
  if (placement.kind == Kind::kShard) return chunk(line, places, coordinate);
  std::vector<std::int64_t> out;
  for (std::int64_t block = 0; block < placement.split_factor; ++block) {
    const auto part = chunk(chunk(line, placement.split_factor, block), places, coordinate);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

Ruling ruled(const DtensorLayout& words, const Shape& shape) {
  Ruling ruling;
  ruling.text = cat("tensor<", extents_text(shape), "f32, ", write(words), ">");
  ruling.mesh = *Shape::make(words.mesh);
  ruling.cause = "grid";
  for (std::int64_t number = 0; number < ruling.mesh.elements(); ++number) {
    const Place place = ruling.mesh.delinear(number);
    std::vector<std::vector<std::int64_t>> lines;
    for (const std::int64_t extent : shape.extents()) {
      lines.emplace_back();
      for (std::int64_t i = 0; i < extent; ++i) lines.back().push_back(i);
    }
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
      const DtensorPlacement& placement = words.placements[axis];
      if (!placement.shards()) continue;
      auto& line = lines[static_cast<std::size_t>(placement.dim)];
      line = shard(line, placement, words.mesh[axis], place[axis]);
    }
    std::vector<std::int64_t> extents;
    for (const auto& line : lines) extents.push_back(static_cast<std::int64_t>(line.size()));
    const Shape local = *Shape::make(extents);
    for (std::int64_t slot = 0; slot < local.elements(); ++slot) {
      Index index = local.delinear(slot);
      for (std::size_t dim = 0; dim < index.size(); ++dim) {
        index[dim] = lines[dim][static_cast<std::size_t>(index[dim])];
      }
      ruling.put(place, slot, index);
    }
    ruling.slots = std::max(ruling.slots, local.elements());
  }
  return ruling;
}

DtensorLayout random_words(Numbers& numbers, std::int64_t rank, int strided_percent) {
  DtensorLayout words;
  std::int64_t places = 1;
  for (std::int64_t axes = numbers.between(0, 3); axes > 0; --axes) {
    words.mesh.push_back(numbers.between(1, std::min<std::int64_t>(5, 16 / places)));
    places *= words.mesh.back();
    DtensorPlacement placement;
    const std::int64_t kind = numbers.below(10);
    if (kind < 7 && rank > 0) {
      placement.kind = Kind::kShard;
      placement.dim = static_cast<int>(numbers.below(rank));
      if (numbers.chance(strided_percent)) {
        placement.kind = Kind::kStridedShard;
        placement.split_factor = numbers.between(1, 4);
      }
    } else if (kind == 7) {
      placement.kind = Kind::kPartial;
      placement.reduction = numbers.chance(50) ? Reduction::kSum : Reduction::kMax;
    }
    words.placements.push_back(placement);
  }
  return words;
}

void expect_rule(std::int64_t cases, int strided_percent, std::uint64_t seed) {
  Numbers numbers(seed);
  int failures = 0;
  int layouts = 0;
  for (std::int64_t i = 0; i < cases && failures < 3; ++i) {
    const Shape shape = numbers.shape(numbers.between(0, 3), 7);
    const DtensorLayout words =
        random_words(numbers, static_cast<std::int64_t>(shape.rank()), strided_percent);
    const std::string wrong = mistake(ruled(words, shape));
    EXPECT_EQ(wrong, "");
    failures += wrong.empty() ? 0 : 1;
    layouts += lower(words, shape, DType::kF32)->layout() != nullptr ? 1 : 0;
  }
  EXPECT_GT(layouts, cases / 2) << "most tensors are one layout";
}

TEST(DtensorRule, SevenThousandTextsOfPlainShards) { expect_rule(7'000, 0, 1); }
TEST(DtensorRule, ThreeThousandTextsOfStridedShards) { expect_rule(3'000, 40, 2); }

Placement placed(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor->placement;
}

/// [from, to) of dim 0 on each place, in row-major order of the mesh.
std::string ranges(std::string_view text) {
  const Placement placement = placed(text);
  std::string out;
  for (std::int64_t number = 0; number < placement.places(); ++number) {
    std::vector<std::int64_t> rows;
    for (std::int64_t slot = 0; slot < placement.slots(); ++slot) {
      const SlotContent held = *placement.contents_at(placement.mesh().delinear(number), slot);
      if (const auto* index = std::get_if<std::vector<Index>>(&held)) {
        rows.push_back(index->front()[0]);
      }
    }
    out += rows.empty() ? "[]" : cat("[", rows.front(), ",", rows.back() + 1, ")");
  }
  return out;
}

TEST(Dtensor, PublishedExamples) {
  // torch/distributed/tensor/_utils.py, compute_local_shape_and_global_offset: 5 columns on 2x2 by
  // (Shard(1), Shard(1)) are 0-1, 2, 3 and 4.
  EXPECT_EQ(ranges("tensor<5xf32, dtensor<mesh=[2,2], [Shard(0), Shard(0)]>>"),
            "[0,2)[2,3)[3,4)[4,5)");
  // torch/distributed/tensor/placement_types.py, _StridedShard: 8 rows on 2x2; rank 1 has rows 4-5.
  EXPECT_EQ(ranges("tensor<8xf32, dtensor<mesh=[2,2], [Shard(0), Shard(0)]>>"),
            "[0,2)[2,4)[4,6)[6,8)");
  EXPECT_EQ(
      ranges("tensor<8xf32, dtensor<mesh=[2,2], [_StridedShard(0, split_factor=2), Shard(0)]>>"),
      "[0,2)[4,6)[2,4)[6,8)");
  // torch.chunk's own example: 11 elements in 6 chunks are 2 2 2 2 2 1.
  EXPECT_EQ(ranges("tensor<11xf32, dtensor<mesh=[6], [Shard(0)]>>"),
            "[0,2)[2,4)[4,6)[6,8)[8,10)[10,11)");
  EXPECT_EQ(ranges("tensor<5xf32, dtensor<mesh=[4], [Shard(0)]>>"), "[0,2)[2,4)[4,5)[]");
}

TEST(Dtensor, ShardsKeepTheirOwnStrides) {
  // Columns 0-2 and 3-4: row 1 begins in slot 3 of the first place, and in slot 2 of the second.
  const Placement placement = placed("tensor<2x5xf32, dtensor<mesh=[2], [Shard(1)]>>");
  ASSERT_NE(placement.pieces(), nullptr);
  EXPECT_EQ(placement.pieces()->pieces().size(), 2U);
  EXPECT_EQ(placement.locate({1, 0})->slot, 3);
  EXPECT_EQ(placement.locate({1, 3})->slot, 2);
  EXPECT_EQ(placement.slots(), 6);
}

TEST(Dtensor, SpellingsOfPyTorch) {
  for (const auto& [said, printed] : std::vector<std::pair<std::string, std::string>>{
           {"mesh=[2, 4], [Shard(dim=0), Replicate()]", "mesh=[2,4], [Shard(0), Replicate()]"},
           {"mesh=[2,4], [S(1), R]", "mesh=[2,4], [Shard(1), Replicate()]"},
           {"mesh=[2,4], (Shard(dim=-1), Replicate())", "mesh=[2,4], [Shard(1), Replicate()]"},
           {"mesh=[2], (Shard(dim=-2),)", "mesh=[2], [Shard(0)]"},
           {"mesh=[2,4], [P, P(max)]", "mesh=[2,4], [Partial(sum), Partial(max)]"},
           {"mesh=[2,4], [Partial(), Partial(\"min\")]",
            "mesh=[2,4], [Partial(sum), Partial(min)]"},
           {"mesh=[2], [Partial('product')]", "mesh=[2], [Partial(product)]"},
           {"mesh=[2], [Partial(reduce_op=\"max\")]", "mesh=[2], [Partial(max)]"},
           {"mesh=[2,2], [_StridedShard(dim=0, sf=2), S(0)]",
            "mesh=[2,2], [_StridedShard(0, split_factor=2), Shard(0)]"},
           {"mesh=[2], [_S(0, 3)]", "mesh=[2], [_StridedShard(0, split_factor=3)]"},
       }) {
    const std::string text = cat("tensor<8x4xf32, dtensor<", said, ">>");
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    EXPECT_EQ(print_tensor(*tensor), cat("tensor<8x4xf32, dtensor<", printed, ">>"));
  }
}

TEST(Dtensor, LargeMeshesTakeNoTime) {
  const double start = test::cpu_seconds();
  for (const std::string_view text : {
           "tensor<994x750xf32, dtensor<mesh=[994,750], [Shard(0), Shard(1)]>>",
           "tensor<1000000x64xf32, dtensor<mesh=[994,750], [Shard(0), Shard(0)]>>",
           ("tensor<745500x8xf32, dtensor<mesh=[994,750], [_StridedShard(0, split_factor=750), "
            "Shard(0)]>>"),
           "tensor<1099511627776xf32, dtensor<mesh=[1048576,1048576], [Shard(0), Shard(0)]>>",
           "tensor<7x1000003xbf16, dtensor<mesh=[994,750], [Shard(1), Replicate()]>>",
       }) {
    const Placement placement = placed(text);
    EXPECT_EQ(raised_mistake(placement, **find_notation("dtensor")), "") << text;
    EXPECT_LE(form_pieces(placement).size(), 3U) << text;
  }
  EXPECT_LT(test::cpu_seconds() - start, 2);
}

TEST(Dtensor, ErrorsPointAtTheOffendingText) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x6xf32, dtensor<mesh=[2], [Shard(2)]>>",  //
            "                                         ^", ErrorCode::kOutOfRange,
            "dim 2 of a tensor of rank 2"},
           {"tensor<4x6xf32, dtensor<mesh=[2], [Shard(dim=-3)]>>",  //
            "                                             ^^", ErrorCode::kOutOfRange,
            "dim -3 of a tensor of rank 2"},
           {"tensor<f32, dtensor<mesh=[2], [Shard(0)]>>",  //
            "                                     ^", ErrorCode::kOutOfRange,
            "dim 0 of a tensor of rank 0"},
           {"tensor<4xf32, dtensor<mesh=[2,2], [Shard(0)]>>",  //
            "                                  ^^^^^^^^^^", ErrorCode::kContradiction,
            "1 placement for a mesh of rank 2"},
           {"tensor<4xf32, dtensor<mesh=[2,0], [Shard(0), R]>>",  //
            "                           ^^^^^", ErrorCode::kBadShape, "a mesh dim of 0 places"},
           {"tensor<4xf32, dtensor<mesh=[2], [Shrad(0)]>>",  //
            "                                 ^^^^^", ErrorCode::kUnknownName,
            "no placement is called 'Shrad'"},
           {"tensor<4xf32, dtensor<mesh=[2], [Partial(avg)]>>",  //
            "                                         ^^^", ErrorCode::kNotSupported,
            "Partial(avg): averages are not supported"},
           {"tensor<4xf32, dtensor<mesh=[2], [Partial(sun)]>>",  //
            "                                         ^^^", ErrorCode::kUnknownName,
            "no reduction is called 'sun'"},
           {"tensor<4xf32, dtensor<mesh=[2], [_StridedShard(0)]>>",  //
            "                                                ^", ErrorCode::kSyntax,
            "expected ',', found ')'"},
           {"tensor<4xf32, dtensor<mesh=[2], [_StridedShard(0, sf=0)]>>",  //
            "                                                     ^", ErrorCode::kOutOfRange,
            "a split factor of 0"},
           {"tensor<4xf32, dtensor<mesh=[2], [MaskP(sum)]>>",  //
            "                                 ^^^^^", ErrorCode::kNotSupported,
            "a masked partial is not supported"},
           {"tensor<4xf32, dtensor<mesh=[2], [Shard(0) R]>>",  //
            "                                          ^", ErrorCode::kSyntax,
            "expected ',' or ']', found 'R'"},
           {"tensor<4xf32, dtensor<[2], [Shard(0)]>>",  //
            "                      ^", ErrorCode::kSyntax, "expected 'mesh', found '['"},
           {"tensor<4xf32, dtensor<mesh=[4611686018427387904,4], [R, R]>>",  //
            "                           ^^^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOverflow,
            "the number of elements of 4611686018427387904x4 does not fit a signed 64-bit integer"},
       }) {
    expect_refused(refusal);
  }
}

TEST(Dtensor, WhatItCannotSayHasAReason) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"native<mesh=[2], {d0} / (2 -> m0, 1 -> mem*4), {d1} / (1 -> mem), atom=tile(2x2, "
            "f32)>",
            "tiles rows=2 cols=2"},
           {"native<mesh=[4], {d0} / (1 -> mem*4), {d1} / (1 -> mem), replicate(m0#2)>",
            "partly_repeated axis=0 coordinates=2 of=4"},
           {"native<mesh=[4], {d0} / (1 -> mem*4), {d1} / (1 -> mem), fixed(m0=3)>",
            "one_coordinate axis=0 coordinate=3"},
           {"native<mesh=[4], {d0} / (2 -> m0*2, 1 -> mem*2), {d1} / (2 -> m0, 1 -> mem)>",
            "axis_shared axis=0 dims=[0, 1]"},
           {"native<mesh=[2], {d0} / (1 -> mem*8), {d1} / (2 -> m0, 1 -> mem)>",
            "allocation slots=26 expected_slots=8"},
           {"native<mesh=[2], {d0} / (1 -> mem), {d1} / (2 -> m0, 1 -> mem*4)>",
            "element_elsewhere index=[0, 1] slot=4 expected_slot=1 place=[0] expected_place=[0] "
            "copies=1 expected_copies=1"},
           {"strided<[0, 1]>", "shared_slots"},
       }) {
    const Placement placement = placed(cat("tensor<4x4xf32, ", text, ">"));
    const Result<std::string> raised = print_tensor(placement, **find_notation("dtensor"));
    ASSERT_FALSE(raised.ok()) << text << " became " << *raised;
    EXPECT_EQ(raised.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(test::reasons_text(raised.error()), reason);
  }
}

TEST(Dtensor, HostileNumbers) {
  std::string axes;
  std::string shards;
  for (int i = 0; i < 62; ++i) {
    axes += cat(i == 0 ? "" : ",", 2);
    shards += cat(i == 0 ? "" : ", ", "Shard(0)");
  }
  const std::string deep =
      cat("tensor<3074457345618258603xi8, dtensor<mesh=[", axes, "], [", shards, "]>>");
  const Result<Tensor> tensor = parse_tensor(deep);
  if (tensor) {
    EXPECT_LE(form_pieces(tensor->placement).size(), kMaxPieces);
  } else {
    EXPECT_EQ(tensor.error().code, ErrorCode::kTooLarge);
  }
  expect_refused({"tensor<7x1000003xf32, dtensor<mesh=[99999,7], [Shard(1), Shard(1)]>>",
                  "                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
                  ErrorCode::kTooLarge, "uneven shards make more than 4096 boxes"});
  // Chunks of one element each are all on coordinate 0.
  const Placement split =
      placed("tensor<1099511627776xi8, dtensor<mesh=[3], [_S(0, 1099511627776)]>>");
  EXPECT_EQ(form_pieces(split).size(), 1U);
  EXPECT_EQ(split.slots(), std::int64_t{1} << 40);
  EXPECT_EQ(raised_mistake(split, **find_notation("dtensor")), "");
}

/// Block floats have no scalar atom, so no layout of plain elements.
TEST(Dtensor, BlockFloatsAreRefused) {
  for (const char* shape : {"64x64x", "0x64x", "1x"}) {
    const Result<Tensor> tensor =
        parse_tensor(cat("tensor<", shape, "bfp_bf8, dtensor<mesh=[2], [Shard(0)]>>"));
    ASSERT_FALSE(tensor.ok()) << shape;
    EXPECT_EQ(tensor.error().code, ErrorCode::kBadAtom) << shape << tensor.error().message;
  }
}

}  // namespace
}  // namespace tessera::notation
