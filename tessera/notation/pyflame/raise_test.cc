// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/pyflame/pyflame.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/notation/reasons.h"
#include "tessera/testing/notation/rule_pyflame.h"

namespace tessera::notation {
namespace {

const Notation& pyflame() { return **find_notation("pyflame"); }

Layout layout_of(const std::string& text) {
  Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor->layout();
}

/// The layout of `said`, without its text, prints as `printed`, which reads back as the same
/// function, allocation and PEs.
void expect_raised(const std::string& type, const std::string& said, const std::string& printed) {
  const std::string text = cat("tensor<", type, ", ", said, ">");
  SCOPED_TRACE(text);
  const Layout layout = layout_of(text);
  const Result<std::string> raised = print_tensor(layout, pyflame());
  ASSERT_TRUE(raised.ok()) << raised.error().message;
  EXPECT_EQ(*raised, cat("tensor<", type, ", ", printed, ">"));
  const Layout again = layout_of(*raised);
  const Result<Comparison> same = same_function(layout, again);
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->equal);
  EXPECT_EQ(again.slots(), layout.slots());
  for (std::int64_t place = 0; layout.mesh().rank() == 2 && place < layout.places(); ++place) {
    const Place tile = layout.mesh().delinear(place);
    EXPECT_EQ(again.spec().device_map.map(again.mesh(), tile),
              layout.spec().device_map.map(layout.mesh(), tile));
  }
}

TEST(PyflameRaise, EveryFactoryAndOptionIsRecovered) {
  for (const std::string layout :
       {"pyflame.SinglePE()",
        "pyflame.SinglePE(origin=(3, 5))",
        "pyflame.RowPartition(3)",
        "pyflame.RowPartition(3, dim_to_pe=[-1, 0, -1])",
        "pyflame.ColPartition(3)",
        "pyflame.ColPartition(3, dim_to_pe=[1, -1, -1])",
        "pyflame.Grid(2, 3)",
        "pyflame.Grid(2, 3, dim_to_pe=[1, 0, -1])",
        "pyflame.Grid(2, 3, dim_to_pe=[-1, -1, 0])",
        "pyflame.Grid(2, 3, dim_to_pe=[-1, -1, -1])",
        "pyflame.Grid(2, 3, dim_to_pe=[[0, 1], -1, -1])",
        "pyflame.Grid(2, 3, dim_to_pe=[-1, -1, [0, 1]], origin=(0, 9))",
        "pyflame.Grid(2, 3, origin=(3, 0))",
        "pyflame.Grid(2, 3, replicate=[0])",
        "pyflame.Grid(2, 3, replicate=[0, 1])",
        "pyflame.Grid(2, 3, partial=[1:sum])",
        "pyflame.Grid(2, 3, replicate=[0], partial=[1:max])",
        "pyflame.Grid(2, 3, dim_to_pe=[-1, -1, 1], origin=(0, 9), replicate=[0])",
        "pyflame.BlockCyclic(2, 3, 2, 1)",
        "pyflame.BlockCyclic(2, 2, 1, 1, dim_to_pe=[1, -1, 0])",
        "pyflame.BlockCyclic(2, 1, 2, 1, origin=(1, 1))",
        "pyflame.BlockCyclic(2, 2, 2, 1, partial=[1:sum])",
        "pyflame.Custom(2, 2, [(0, 0), (0, 1), (1, 1), (1, 0)])",
        "pyflame.Custom(2, 2, [(5, 0), (0, 1), (1, 1), (1, 0)], dim_to_pe=[-1, 0, 1])",
        "pyflame.SinglePE(partial=[0:sum])"}) {
    expect_raised("7x6x5xf32", layout, layout);
  }
}

TEST(PyflameRaise, TheSimplestFactoryIsFound) {
  for (const auto& [type, said, printed] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"7x6xf32", "pyflame.Grid(3, 1)", "pyflame.RowPartition(3)"},
           {"7x6xf32", "pyflame.Grid(1, 3)", "pyflame.ColPartition(3)"},
           {"7x6xf32", "pyflame.Grid(1, 1, replicate=[0, 1])", "pyflame.SinglePE()"},
           {"7x6xf32", "pyflame.BlockCyclic(1, 1, 7, 3)", "pyflame.SinglePE()"},
           {"7x6xf32", "pyflame.BlockCyclic(2, 3, 4, 2)", "pyflame.Grid(2, 3)"},
           {"7x6xf32", "pyflame.Custom(1, 1, [(4, 2)])", "pyflame.SinglePE(origin=(4, 2))"},
           {"7x6xf32", "pyflame.Custom(2, 1, [(4, 2), (5, 2)], origin=(1, 1))",
            "pyflame.RowPartition(2, origin=(5, 3))"},
           {"7x6xf32", "pyflame.Grid(2, 2, dim_to_pe=[0, 1], origin=(0, 0))", "pyflame.Grid(2, 2)"},
           {"1x6xf32", "pyflame.Grid(4, 2, dim_to_pe=[-1, 1])", "pyflame.Grid(4, 2)"},
           {"6xf32", "pyflame.Grid(2, 2, dim_to_pe=[0])", "pyflame.Grid(2, 2, dim_to_pe=[0])"},
           {"f32", "pyflame.Grid(2, 2, dim_to_pe=[])", "pyflame.Grid(2, 2, dim_to_pe=[])"},
           {"0x6xf32", "pyflame.BlockCyclic(2, 2, 1, 1)", "pyflame.Grid(2, 2)"},
           {"0xf32", "pyflame.Grid(2, 2, dim_to_pe=[1])", "pyflame.Grid(2, 2, dim_to_pe=[-1])"},
           // 7 rows in whole blocks of 4 on one PE are 8: only blocks can express it.
           {"7x6xf32", "pyflame.BlockCyclic(1, 2, 4, 3)", "pyflame.BlockCyclic(1, 2, 4, 3)"},
           {"7x6xf32", "pyflame.BlockCyclic(1, 1, 7, 4)", "pyflame.BlockCyclic(1, 1, 1, 4)"}}) {
    expect_raised(type, said, printed);
  }
}

TEST(PyflameRaise, WhatOtherNotationsSayIsFoundToo) {
  for (const auto& [type, said, printed] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"7x6xf32", "strided<[6, 1]>", "pyflame.SinglePE()"},
           {"f32", "strided<[]>", "pyflame.SinglePE()"},
           {"7x6xf32", "native<{6*d0 + d1} / (1 -> mem)>", "pyflame.SinglePE()"},
           {"8x6xf32", "native<mesh=[4, 1], {6*d0 + d1} / (12 -> m0, 1 -> mem)>",
            "pyflame.RowPartition(4)"},
           // Tiles of 4, 4, 2 and 0 rows are not ceil(10/4) = 3 long, but one round of blocks is.
           {"10xf32", "native<mesh=[4, 1], {d0} / (4 -> m0, 1 -> mem)>",
            "pyflame.BlockCyclic(4, 1, 4, 1)"},
           {"5xf32", "native<{d0} / (1#6 -> mem)>", "pyflame.BlockCyclic(1, 1, 3, 1)"},
           {"4x4xf32",
            "native<mesh=[2, 2], {d0} / (2 -> m0, 1 -> mem*2), {d1} / (2 -> m1, 1 -> mem), "
            "device=folded([2, 2], {d0} / (1 -> m1), {d1} / (1 -> m0))>",
            "pyflame.Custom(2, 2, [(0, 0), (1, 0), (0, 1), (1, 1)])"},
           {"4x4xf32",
            "native<mesh=[2, 2], {d0} / (2 -> m0, 1 -> mem*2), {d1} / (2 -> m1, 1 -> mem), "
            "device=folded([994, 750], {2*d0 + d1} / (2 -> m0, 1 -> m1), origin=[3, 5])>",
            "pyflame.Grid(2, 2, origin=(3, 5))"},
           {"4xf32", "native<mesh=[4, 1], {d0} / (1 -> mem), replicate(m0#2), replicate(m0#2*2)>",
            "pyflame.RowPartition(4, replicate=[0])"}}) {
    expect_raised(type, said, printed);
  }
}

TEST(PyflameRaise, WhatPyflameCannotSayHasAReason) {
  for (const auto& [type, said, reason] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"4xf32", "native<{d0} / (1 -> mem), atom=tile(2x2, f32)>", "tiles rows=2 cols=2"},
           {"4xf32", "native<{d0} / (1 -> mem), atom=bf16>",
            "stored_as dtype=f32 storage=bf16 expected_storage=f32"},
           {"4xf32", "native<{d0} / (1 -> mem), pad=0>", "padding_value"},
           {"4xf32", "native<{d0} / (1 -> mem), space=l1>", "memory_space space=l1"},
           {"4xf32", "native<mesh=[2], {d0} / (2 -> m0, 1 -> mem)>",
            "mesh_rank mesh=[2] least_axes=2 most_axes=2"},
           {"4xf32", "native<mesh=[2, 1, 1], {d0} / (2 -> m0, 1 -> mem)>",
            "mesh_rank mesh=[2, 1, 1] least_axes=2 most_axes=2"},
           {"4x6xf32", "strided<[1, 4]>", "not_row_major dim=0 step=1 inner_dim=1 inner_step=4"},
           {"4x6xf32", "strided<[8, 1]>", "part_of_step slots=30 step=8 dim=0"},
           {"4x6xf32", "native<{d0} / (1 -> mem*7), {d1} / (1 -> mem), slots=28>",
            "dim_allocation dim=1 extent=6 allocated=7"},
           {"4xf32", "strided<[2]>", "part_of_step slots=7 step=2 dim=0"},
           {"4xf32", "native<{d0} / (1 -> mem*2), slots=8>", "gaps dim=0 step=2"},
           {"5xf32", "native<{d0} / (1 -> mem), slots=7>",
            "dim_allocation dim=0 extent=5 allocated=7"},
           {"4xf32", "strided<[1], offset: 4>", "first_slot slot=4"},
           {"4xf32", "strided<[-1], offset: 3>", "runs_downward dim=0"},
           {"5x7xf32", "native<mesh=[4, 1], {7*d0 + d1} / (9 -> m0, 1 -> mem)>",
            "joined_dims dims=[0, 1]"},
           {"8xf32", "native<mesh=[2, 2], {d0} / (4 -> m1, 2 -> m0, 1 -> mem)>", "both_axes dim=0"},
           {"8xf32", "native<mesh=[2, 2], {d0} / (6 -> m0, 3 -> m1, 1 -> mem)>", "both_axes dim=0"},
           {"4x2xf32", "native<mesh=[4, 1], {d0} / (2 -> m0*2, 1 -> mem), {d1} / (1 -> m0)>",
            "axis_step axis=0 dim=0 step=2"},
           {"4xf32", "native<mesh=[2, 2], {d0} / (2 -> m0, 1 -> mem), fixed(m1=1)>",
            "first_place place=[0, 1]"},
           {"4xf32", "native<mesh=[4, 1], {d0} / (1 -> mem), replicate(m0#2), fixed(m0=0)>",
            "partly_repeated axis=0 coordinates=2 of=4"},
           {"4xf32",
            "native<mesh=[4, 1], {d0} / (1 -> mem), replicate(m0#2), partial(m0#2*2, sum)>",
            "partly_repeated axis=0 coordinates=4 of=4"},
           {"8xf32", "native<mesh=[2, 1], {d0} / (4 -> m0, 1#6 -> mem)>",
            "block_allocation dim=0 allocated=6 block=4 places=2 expected=4"},
           {"8xf32",
            "native<mesh=[2, 1], {d0} / (4 -> m0, 1 -> mem), device=folded([1, 2, 1], {d0} / (1 -> "
            "m1))>",
            "device_map rank=3"},
           {"8xf32",
            "native<mesh=[4, 1], {d0} / (2 -> m0, 1 -> mem), device=folded([2, 1], {d0} / (2 -> "
            "mem, 1 -> m0))>",
            "device_map"},
           {"8xf32",
            "native<mesh=[2, 1], {d0} / (4 -> mem*2, 2 -> m0, 1 -> mem), device=table([2, 2], [[0, "
            "0], [1, 1]])>",
            "cyclic_on_list"},
           {"12xf32", "native<mesh=[4, 1], {d0} / (6 -> mem*2, 2 -> m0, 1 -> mem)>",
            "element_elsewhere index=[6] slot=2 expected_slot=0 place=[0, 0] expected_place=[3, "
            "0]"}}) {
    const std::string text = cat("tensor<", type, ", ", said, ">");
    SCOPED_TRACE(text);
    const Result<std::string> raised = print_tensor(layout_of(text), pyflame());
    ASSERT_FALSE(raised.ok()) << *raised;
    EXPECT_EQ(raised.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(test::reasons_text(raised.error()), reason);
    EXPECT_FALSE(raised.error().help.empty());
  }
}

// Raising depends on the function, not on the folds that describe it.
TEST(PyflameRaise, RewrittenLayoutsAreRecognised) {
  std::int64_t tried = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    test::Dice dice(seed);
    const test::Numbers extents = test::random_shape(dice, 3, 100);
    const std::string text =
        test::tensor_text(extents, "f32", test::random_pyflame(dice, extents).text());
    const Layout layout = layout_of(text);
    LayoutSpec spec = layout.spec();
    spec.form = test::rewrite(dice, spec.form);
    spec.slots = layout.slots();
    const Result<Layout> rewritten = Layout::make(spec);
    if (!rewritten.ok()) continue;                     // digits that overlap in padding
    if (rewritten->mesh() != layout.mesh()) continue;  // more PEs than the factory has
    ++tried;
    const Result<PyflameLayout> words = raise_pyflame(*rewritten);
    ASSERT_TRUE(words.ok()) << text << "\n"
                            << print_native(*rewritten) << "\n"
                            << words.error().message;
    const Result<Layout> again = lower(*words, layout.shape(), layout.dtype());
    ASSERT_TRUE(again.ok());
    const Result<Comparison> same = same_function(layout, *again);
    ASSERT_TRUE(same.ok() && same->equal) << text << "\n" << write(*words);
    EXPECT_EQ(again->slots(), layout.slots());
  }
  EXPECT_GT(tried, 2000);
}

}  // namespace
}  // namespace tessera::notation
