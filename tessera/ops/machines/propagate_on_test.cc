// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/machines/propagate_on.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/spyre/spyre.h"
#include "tessera/notation/tensor.h"
#include "tessera/notation/ttnn/ttnn.h"
#include "tessera/ops/machines/spyre_sticks.h"
#include "tessera/ops/machines/ttnn_kinds.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/ops/machine_tensors.h"

namespace tessera::ops {
namespace {

using test::Dice;

struct Case {
  MachineFamily family;
  std::string_view op;
  std::vector<std::vector<std::string>> choices;  ///< of each input
  graph::Attributes attributes;
};

std::vector<Case> cases() {
  using namespace test;  // NOLINT(google-build-using-namespace): the names of tensors
  const std::vector<std::string> square = {
      dram(256, 256),      l1_interleaved(256, 256), row_major(256, 256),   height(256, 256, 8),
      height(256, 256, 4), width(256, 256, 8),       block(256, 256, 4, 4), "256x256xbf16"};
  const std::vector<std::string> sticks = {dense("64x128"), dense("64x128", "[1, 0]"),
                                           sparse("64x128"), "64x128xf16",
                                           "tensor<64x128xf16, strided<[128, 1]>>"};
  const auto grid = [](const std::string& more) {
    return cat("tensor<64x64xf32, pyflame.Grid(4, 4", more, ")>");
  };
  const std::vector<std::string> wafer = {grid(""),
                                          grid(", dim_to_pe=[1, 0]"),
                                          grid(", dim_to_pe=[0, -1], replicate=[1]"),
                                          grid(", dim_to_pe=[-1, 1], replicate=[0]"),
                                          grid(", dim_to_pe=[-1, -1], replicate=[0, 1]"),
                                          "64x64xf32"};
  const graph::Attributes rows = {{"axes", std::vector<std::int64_t>{0}}};
  const graph::Attributes first = {{"axis", std::int64_t{0}}};
  std::vector<Case> list;
  for (const auto& [family, tensors] :
       {std::pair(MachineFamily::kTtnn, square), std::pair(MachineFamily::kSpyre, sticks),
        std::pair(MachineFamily::kWafer, wafer)}) {
    list.push_back({family, "add", {tensors, tensors}, {}});
    list.push_back({family, "relu", {tensors}, {}});
    list.push_back({family, "softmax", {tensors}, {}});
    list.push_back({family, "rms_norm", {tensors}, first});
    list.push_back({family, "transpose", {tensors}, {}});
    list.push_back({family, "reduce_sum", {tensors}, rows});
    list.push_back({family, "concat", {tensors, tensors}, first});
    if (family != MachineFamily::kSpyre) list.push_back({family, "matmul", {tensors, tensors}, {}});
  }
  list.push_back({MachineFamily::kSpyre,
                  "matmul",
                  {sticks, {dense("128x64"), dense("128x64", "[1, 0]"), "128x64xf16"}},
                  {}});
  return list;
}

/// The layouts of a choice of inputs; empty where one is a type.
std::vector<std::optional<Layout>> layouts_of(const std::vector<std::string>& texts,
                                              graph::Types& types) {
  std::vector<std::optional<Layout>> layouts;
  for (const std::string& text : texts) {
    layouts.emplace_back();
    std::string whole = text;
    if (!text.starts_with("tensor<")) {
      const std::size_t last = text.rfind('x');
      const std::size_t x = text.find('x');
      whole = cat("tensor<", text, ", strided<[", text.substr(x + 1, last - x - 1), ", 1]>>");
    }
    const Result<Tensor> tensor = parse_tensor(whole);
    EXPECT_TRUE(tensor) << whole;
    if (!tensor) return {};
    types.push_back({tensor->shape(), tensor->dtype()});
    if (whole == text) layouts.back() = *tensor->placement.layout();
  }
  return layouts;
}

TEST(PropagateOn, ObeysThePredicatesWhateverTheLayouts) {
  std::int64_t legal = 0;
  std::int64_t refused = 0;
  std::int64_t offered = 0;
  for (const Case& each : cases()) {
    std::vector<std::size_t> pick(each.choices.size());
    for (bool more = true; more;) {
      std::vector<std::string> texts;
      for (std::size_t i = 0; i < pick.size(); ++i) texts.push_back(each.choices[i][pick[i]]);
      graph::Types types;
      const auto layouts = layouts_of(texts, types);
      std::vector<const graph::TensorType*> inputs;
      for (const graph::TensorType& type : types) inputs.push_back(&type);
      const graph::Call call(*graph::Op::find(each.op), inputs, each.attributes, 1);
      const Result<graph::Types> outputs = graph::infer(call);
      ASSERT_TRUE(outputs);
      const auto ask = [&](const std::vector<std::optional<Layout>>& with) {
        return propagate_on(each.family, 64, {&call, with, {}});
      };
      const auto is_allowed = [&](const OnMachine& made) {
        const std::vector<std::optional<Layout>> of_outputs(made.answer.outputs.begin(),
                                                            made.answer.outputs.end());
        const auto allowed =
            allowed_on(each.family, call, *outputs, {made.answer.inputs, of_outputs});
        return allowed && allowed->legal;
      };
      const Result<OnMachine> made = ask(layouts);
      const bool asks = std::ranges::any_of(layouts, [](const auto& l) { return l.has_value(); });
      if (!asks && !made) {
        EXPECT_EQ(made.error().code, ErrorCode::kUsage);
      } else {
        ASSERT_TRUE(made) << each.op << " " << texts[0] << ": " << made.error().message;
        (made->answer.legal ? legal : refused) += 1;
        if (made->answer.legal) {
          EXPECT_TRUE(is_allowed(*made)) << each.op << " " << texts[0];
          EXPECT_EQ(made->answer.outputs.size(), 1U);
        }
        EXPECT_EQ(made->answer.legal, made->answer.reason.empty());
        for (const Alternative& other : made->answer.alternatives) {
          const Result<OnMachine> again = ask(other.inputs);
          ASSERT_TRUE(again) << again.error().message;
          EXPECT_TRUE(again->answer.legal) << each.op << ": " << again->answer.reason;
          EXPECT_TRUE(is_allowed(*again)) << each.op;
          ++offered;
        }
      }
      more = false;
      for (std::size_t i = pick.size(); i-- > 0 && !more;) {
        more = ++pick[i] < each.choices[i].size();
        if (!more) pick[i] = 0;
      }
    }
  }
  EXPECT_GT(legal, 120);
  EXPECT_GT(refused, 80);
  EXPECT_GT(offered, 150);
}

TEST(TtnnKinds, LayoutsAreThoseOfTheNotation) {
  using machines::Kind;
  Dice dice(7);
  std::int64_t compared = 0;
  for (int n = 0; n < 600; ++n) {
    std::vector<std::int64_t> extents;
    for (std::int64_t d = dice.between(1, 4); d > 0; --d) extents.push_back(dice.between(1, 150));
    const graph::TensorType type{*Shape::make(extents), DType::kBF16};
    const bool tiled = dice.chance(80);
    const Kind kind = tiled ? static_cast<Kind>(dice.below(4)) : Kind::kInterleaved;
    const std::int64_t rows = dice.between(kind == Kind::kBlock ? 2 : 1, 4);
    const std::int64_t columns = dice.between(kind == Kind::kBlock ? 2 : 1, 4);
    using Memory = notation::TtnnLayout::Memory;
    const Memory memory = kind == Kind::kInterleaved ? Memory::kInterleaved
                          : kind == Kind::kHeight    ? Memory::kHeightSharded
                          : kind == Kind::kWidth     ? Memory::kWidthSharded
                                                     : Memory::kBlockSharded;
    const bool interleaved = kind == Kind::kInterleaved;
    const std::vector<std::int64_t> grid =
        interleaved ? std::vector<std::int64_t>{1, 1} : std::vector<std::int64_t>{rows, columns};
    const Atom element = tiled ? Atom::tile(32, 32, DType::kBF16) : Atom::scalar(DType::kBF16);
    const std::string_view space = interleaved ? "dram" : "l1";
    const auto words = notation::make_ttnn(type.shape, element, space, memory, grid);
    if (!words) continue;
    const Result<Layout> theirs = notation::lower(*words, type.shape, type.dtype);
    if (!theirs) continue;
    const machines::Cores cores{theirs->mesh(), theirs->spec().device_map};
    const Result<Layout> ours = machines::ttnn_layout(type, kind, cores, space, tiled);
    ASSERT_TRUE(ours) << ours.error().message;
    const Result<Comparison> same = same_function(*ours, *theirs);
    ASSERT_TRUE(same);
    EXPECT_TRUE(same->equal) << print_native(*ours) << "\n" << print_native(*theirs);
    EXPECT_EQ(ours->slots(), theirs->slots());
    EXPECT_EQ(ours->atom(), theirs->atom());
    ++compared;
  }
  EXPECT_GT(compared, 400);
}

TEST(SpyreSticks, DefaultsAreThoseOfTheNotation) {
  Dice dice(11);
  for (int n = 0; n < 600; ++n) {
    std::vector<std::int64_t> extents;
    for (std::int64_t d = dice.below(5); d > 0; --d) extents.push_back(dice.between(1, 150));
    const Shape shape = *Shape::make(extents);
    const DType dtypes[] = {DType::kF16, DType::kF32, DType::kI8, DType::kBool, DType::kI64};
    const DType dtype = dtypes[dice.below(5)];
    const Layout alone = *Layout::row_major(shape, dtype);
    notation::SpyreLayout words;
    words.form = notation::SpyreLayout::Form::kDefault;
    words.sparse = dice.chance(30);
    std::optional<std::size_t> stick;
    if (!words.sparse && shape.rank() > 0 && dice.chance(50)) {
      stick = static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(shape.rank())));
      words.dim_order.emplace();
      for (std::size_t d = 0; d < shape.rank(); ++d) {
        if (d != *stick) words.dim_order->push_back(static_cast<std::int64_t>(d));
      }
      words.dim_order->push_back(static_cast<std::int64_t>(*stick));
    }
    const Result<Layout> theirs = notation::lower(words, shape, dtype);
    ASSERT_TRUE(theirs) << theirs.error().message;
    const std::optional<Layout> ours =
        words.sparse ? machines::in_sparse_sticks(alone) : machines::in_sticks(alone, stick);
    ASSERT_TRUE(ours) << shape.to_string();
    const Result<Comparison> same = same_function(*ours, *theirs);
    ASSERT_TRUE(same) << same.error().message;
    EXPECT_TRUE(same->equal) << print_native(*ours) << "\n" << print_native(*theirs);
    EXPECT_EQ(ours->slots(), theirs->slots()) << print_native(*theirs);
    EXPECT_EQ(ours->shard_bytes(), theirs->shard_bytes());
  }
}

}  // namespace
}  // namespace tessera::ops
