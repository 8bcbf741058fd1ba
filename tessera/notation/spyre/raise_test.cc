// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/placement.h"
#include "tessera/testing/notation/reasons.h"
#include "tessera/testing/notation/spyre_checks.h"

namespace tessera::notation::spyre_test {
namespace {

const Notation& notation() {
  const Result<const Notation*> found = find_notation("spyre");
  EXPECT_TRUE(found.ok());
  return **found;
}

/// The law of raising: the raised Spyre layout lowers to the layout that it was raised from.
void expect_same(const Layout& layout, const SpyreLayout& words) {
  SCOPED_TRACE(write(words));
  const Result<Layout> again = lower(words, layout.shape(), layout.dtype());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->slots(), layout.slots());
  EXPECT_EQ(again->atom(), layout.atom());
  EXPECT_EQ(again->mesh(), layout.mesh());
  const Result<Comparison> same = same_function(*again, layout);
  ASSERT_TRUE(same.ok()) << same.error().message;
  EXPECT_TRUE(same->equal);
}

TEST(SpyreRaise, EverythingThatCanBeWritten) {
  Random random(9);
  for (int i = 0; i < 1500; ++i) {
    Case c = i % 3 == 0 ? random.dims() : i % 3 == 1 ? random.defaults() : random.strides();
    if (i % 2 == 0 && c.words.form != SpyreLayout::Form::kDefault) random.divide(c);
    SCOPED_TRACE(describe(c));
    const Result<Layout> layout = lower(c.words, c.shape, c.dtype);
    ASSERT_TRUE(layout.ok()) << layout.error().message;
    const Result<SpyreLayout> raised = raise_spyre(*layout);
    ASSERT_TRUE(raised.ok()) << raised.error().message;
    expect_same(*layout, *raised);
    // A dim_map is raised as a dim_map.
    if (c.words.form == SpyreLayout::Form::kDimMap && c.words.cores.empty()) {
      ASSERT_EQ(raised->form, SpyreLayout::Form::kDimMap) << write(*raised);
    }
    if (HasFailure()) return;
  }
}

std::string raised(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  if (!tensor) return {};
  const Result<std::string> printed = print_tensor(tensor->layout(), notation());
  return printed ? *printed : test::reasons_text(printed.error());
}

TEST(SpyreRaise, SaysWhatItsOwnTextSaid) {
  for (const std::string text : {
           "tensor<128x256x512xf16, spyre<device_size=[256, 8, 128, 64], dim_map=[1, 2, 0, 2]>>",
           "tensor<100x200x500xf16, spyre<device_size=[256, 8, 128, 64], dim_map=[1, 2, 0, 2]>>",
           "tensor<512x1x256xf16, spyre<device_size=[4, 512, 64], dim_map=[2, 0, 2]>>",
           "tensor<512x256xf16, spyre<device_size=[256, 512, 64], dim_map=[1, 0, -1]>>",
           "tensor<f16, spyre<device_size=[64], dim_map=[-1]>>",
           "tensor<15x1x128xf16, spyre<device_size=[5, 2, 3, 64], stride_map=[128, 64, 640, 1]>>",
           "tensor<40x60xf16, spyre<device_size=[38, 64], stride_map=[64, 1]>>",
           ("tensor<40x60xf16, spyre<device_size=[38, 64], stride_map=[64, 1], "
            "host_stride=[1, 40]>>"),
           ("tensor<512x256xf16, spyre<device_size=[4, 512, 64], dim_map=[1, 0, 1], "
            "cores=[2, 4, 1]>>"),
           "tensor<5x100xf16, spyre<device_size=[2, 5, 64], dim_map=[1, 0, 1], cores=[2, 3, 1]>>",
       }) {
    EXPECT_EQ(raised(text), text);
  }
}

TEST(SpyreRaise, SaysWhatOtherNotationsMean) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           // Row-major rows of whole sticks.
           {"tensor<512x256xf16, strided<[256, 1]>>",
            "tensor<512x256xf16, spyre<device_size=[512, 4, 64], dim_map=[0, 1, 1]>>"},
           // Rows of 60: sticks run on into the next row.
           {"tensor<32x60xf16, strided<[60, 1]>>",
            "tensor<32x60xf16, spyre<device_size=[30, 64], stride_map=[64, 1]>>"},
           // The same, column-major.
           {"tensor<60x32xf16, strided<[1, 60]>>",
            "tensor<60x32xf16, spyre<device_size=[30, 64], stride_map=[64, 1], "
            "host_stride=[1, 60]>>"},
           // Elements a stick apart are sparse.
           {"tensor<4xf16, native<{d0} / (1 -> mem*64), slots=256>>",
            "tensor<4xf16, spyre<device_size=[4, 64], dim_map=[0, -1]>>"},
           // Sticks over cores, written by hand.
           {"tensor<512x256xf16, native<mesh=[4], {d0} / (1 -> mem*64), "
            "{d1} / (64 -> m0, 1 -> mem)>>",
            "tensor<512x256xf16, spyre<device_size=[4, 512, 64], dim_map=[1, 0, 1], "
            "cores=[4, 1, 1]>>"},
           {"tensor<8x128xf32, native<{d0} / (1 -> mem*32), {d1} / (32 -> mem*256, 1 -> mem)>>",
            "tensor<8x128xf32, spyre<device_size=[4, 8, 32], dim_map=[1, 0, 1]>>"}}) {
    EXPECT_EQ(raised(text), expected) << text;
  }
}

TEST(SpyreRaise, WhatItCannotSayHasAReason) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<5x100xf16, strided<[100, 1]>>",
            "part_of_stick slots=500 per_stick=64 dtype=f16"},
           {"tensor<64xf64, strided<[1]>>", "stick_type dtype=f64"},
           {"tensor<64xi64, strided<[1]>>", "stored_as dtype=i64 storage=i64 expected_storage=i32"},
           {"tensor<64xf16, native<{d0} / (1 -> mem), pad=0>>", "padding_value"},
           {"tensor<64xf16, native<{d0} / (1 -> mem), space=l1>>", "memory_space space=l1"},
           {"tensor<64xf16, native<mesh=[2], {d0} / (1 -> mem), replicate(m0)>>",
            "replicated places=2 axis=0"},
           {"tensor<64xf16, native<mesh=[2], {d0} / (1 -> mem), partial(m0, sum)>>",
            "partial_result reduction=sum places=2"},
           {"tensor<128xf16, native<mesh=[2, 2], {d0} / (64 -> m0, 1 -> mem), fixed(m1=0)>>",
            "mesh_rank mesh=[2, 2] least_axes=0 most_axes=1"},
           {"tensor<64xf16, native<{d0} / (1 -> mem), offset=64>>", "first_slot slot=64"},
           {"tensor<64xf16, native<{-d0 + 63} / (1 -> mem)>>", "first_slot slot=63"},
           {"tensor<8x8xf16, native<{d0} / (4 -> mem*32, 1 -> mem*4), "
            "{d1} / (4 -> mem*16, 1 -> mem)>>",
            "runs_in_sticks run=4 per_stick=64"}}) {
    EXPECT_EQ(raised(text), reason) << text;
  }
}

TEST(SpyreRaise, EmptyTensors) {
  for (const std::string text :
       {"tensor<0xf16, spyre.default()>", "tensor<4x0xf16, spyre.default()>",
        "tensor<0x4xf16, spyre.default(era=document, cores=[1, 2, 1])>",
        "tensor<0xf16, spyre<device_size=[3, 64], dim_map=[0, 0]>>",
        "tensor<0xf16, spyre<device_size=[3, 64], stride_map=[5, -1]>>",
        "tensor<0xi1, spyre<device_size=[0, 64], stride_map=[1, -1], cores=[1, 1]>>"}) {
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    const Result<SpyreLayout> words = raise_spyre(tensor->layout());
    ASSERT_TRUE(words.ok()) << words.error().message;
    expect_same(tensor->layout(), *words);
  }
}

}  // namespace
}  // namespace tessera::notation::spyre_test
