// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/op.h"
#include "tessera/graph/rules/rules.h"
#include "tessera/ops/halo_exchange.h"
#include "tessera/ops/propagate.h"
#include "tessera/ops/rules/rules.h"
#include "tessera/ops/shares.h"
#include "tessera/reshard/reshard.h"
#include "tessera/testing/ops/random_calls.h"
#include "tessera/testing/pages/generated_page.h"

/// The C++ of docs/ops.md and docs/propagate.md is code of this file, and the table of loops is
/// complete.
namespace tessera::ops {
namespace {

// An op of the table, as it stands in graph/rules/elementwise.cc.
const graph::OpRule kSquare = {
    .name = "square",
    .family = graph::Family::kElementwise,
    .inputs = {1, 1},
    .outputs = {1, 1},
    .attributes = {},
    .infer = graph::rules::like_first_number,
    .per_element = 1,
};

// The loops of an op that is not elementwise, as they stand in ops/rules/contraction.cc.
void outer_product(rules::Nest& nest) {
  const int i = nest.pass(nest.in(0)[0], "i");
  const int j = nest.pass(nest.in(1)[0], "j");
  nest.input(0, {at(i)});
  nest.input(1, {at(j)});
  nest.output(0, {at(i), at(j)});
}

TEST(OpsPage, AnOpIsAddedAsThePageSays) {
  const graph::TensorType x{*Shape::make({4, 6}), DType::kF32};
  const graph::TensorType a{*Shape::make({4}), DType::kF32};
  const graph::TensorType b{*Shape::make({6}), DType::kF32};
  const graph::Attributes none;
  const graph::TensorType* const one[] = {&x};
  const graph::Call square(*graph::Op::find("relu"), one, none, 1);
  ASSERT_EQ(kSquare.infer(square)->front(), x);
  const graph::Types types = {x};
  rules::Nest nest(square, types);
  rules::elementwise(nest);
  EXPECT_EQ(std::move(nest).take().to_string(), "([a, b]) -> [a, b], a=4, b=6");

  const graph::TensorType* const two[] = {&a, &b};
  const graph::Call product(*graph::Op::find("mul"), two, none, 1);
  rules::Nest outer(product, types);
  outer_product(outer);
  EXPECT_EQ(std::move(outer).take().to_string(), "([i], [j]) -> [i, j], i=4, j=6");
}

/// What a compiler asks for one node, when the layouts of its inputs are known.
Result<std::vector<Layout>> layouts_after(const graph::Call& call,
                                          const std::vector<std::optional<Layout>>& inputs) {
  const Question question{&call, inputs, {}};
  TESSERA_TRY(Answer answer, propagate(question));
  if (answer.legal) return answer.outputs;
  if (answer.alternatives.empty()) return Error{ErrorCode::kNotSupported, answer.reason};
  // Here a compiler inserts reshards to answer.alternatives[0].inputs, and asks again.
  TESSERA_TRY(answer, propagate({&call, answer.alternatives[0].inputs, {}}));
  return answer.outputs;
}

/// What crosses links when every place gets its halos.
Result<std::int64_t> bytes_of_halos(const Layout& operand, const std::vector<Halo>& halos) {
  TESSERA_TRY(const std::vector<HaloPart> parts, halo_exchange(operand, halos));
  std::int64_t bytes = 0;
  for (const HaloPart& part : parts) {
    TESSERA_TRY(const auto mesh, reshard::PhysicalMesh::around(part.from, part.to));
    TESSERA_TRY(const auto move, reshard::Reshard::make(part.from, part.to, mesh));
    TESSERA_TRY(const auto cost, reshard::cost_of(move));
    bytes += cost.bytes;
  }
  return bytes;
}

/// Rows over 4 places: 3 boundaries, over each of which a row of 8 numbers goes both ways.
TEST(OpsPage, HalosAreReshards) {
  LayoutSpec spec = Layout::row_major(*Shape::make({16, 8}), DType::kF32)->spec();
  spec.form.mesh = *Shape::make({4});
  spec.form.folds = {{{Term{0, 1}}, 0, {{4, 4, Target::mesh(0), 1}, {1, 4, Target::memory(), 8}}},
                     {{Term{1, 1}}, 0, {{1, 8, Target::memory(), 1}}}};
  spec.slots.reset();
  const Layout rows = *Layout::make(std::move(spec));
  EXPECT_EQ(*bytes_of_halos(rows, {{1, 1}, {}}), 3 * 2 * 8 * 4);
}

TEST(OpsPage, ANodeIsAskedInOneCall) {
  const graph::TensorType type{*Shape::make({8, 8}), DType::kF32};
  const graph::TensorType* const types[] = {&type, &type};
  const graph::Attributes none;
  const graph::Call call(*graph::Op::find("add"), types, none, 1);
  Form rows{type.shape, *Shape::make({4}), {}, {}, 0};
  rows.folds = {{{Term{0, 1}}, 0, {{2, 4, Target::mesh(0)}, {1, 2, Target::memory(), 8}}},
                {{Term{1, 1}}, 0, {{1, 8, Target::memory(), 1}}}};
  Form columns = rows;
  std::swap(columns.folds[0].terms, columns.folds[1].terms);
  const auto layout = [](const Form& form) {
    return *Layout::make({form, DType::kF32, Atom::scalar(DType::kF32), {}, {}, "", {}});
  };
  const auto same = layouts_after(call, {layout(rows), std::nullopt});
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->front().form().mesh, rows.mesh);
  const auto other = layouts_after(call, {layout(rows), layout(columns)});
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->size(), 1U);
}

std::string trimmed(const std::string& line) {
  const std::size_t from = line.find_first_not_of(' ');
  return from == std::string::npos ? "" : line.substr(from);
}

TEST(OpsPage, SnippetsAreCodeOfThisFile) {
  std::ifstream source("tessera/ops/page_test.cc");
  std::string code;
  for (std::string line; std::getline(source, line);) code += trimmed(line) + "\n";
  int snippets = 0;
  for (const char* page : {"docs/ops.md", "docs/propagate.md"}) {
    std::ifstream stream(page);
    std::string snippet;
    bool inside = false;
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with("```")) {
        if (inside) {
          EXPECT_NE(code.find(snippet), std::string::npos) << page << ":\n" << snippet;
          ++snippets;
        }
        inside = line == "```cpp";
        snippet.clear();
      } else if (inside) {
        snippet += trimmed(line) + "\n";
      }
    }
  }
  EXPECT_EQ(snippets, 4);
}

TEST(OpsPage, ListsTheLoopsOfEveryOp) {
  // Elementwise ops with the same loops share a line.
  std::string table = "| op | loops of a small call |\n|---|---|\n";
  std::map<std::size_t, std::string> elementwise;
  for (const graph::OpRule& rule : graph::all_ops()) {
    if (rule.is_open) continue;
    if (rule.family == graph::Family::kElementwise) {
      std::string& names = elementwise[rule.inputs.least];
      names += cat(names.empty() ? "" : ", ", "`", rule.name, "`");
      continue;
    }
    test::Dice dice(11);
    const test::OpCase made = test::random_call(dice, rule.name);
    const auto types = made.types();
    const graph::Call call(made.op, types, made.attributes, made.outputs);
    const Result<Loops> loops = loops_of(call, *graph::infer(call));
    ASSERT_TRUE(loops) << rule.name;
    table += cat("| `", rule.name, "` | `", loops->to_string(), "` |\n");
  }
  std::string list;
  for (const auto& [inputs, names] : elementwise) {
    list += cat("* ", inputs, inputs == 1 ? " input: " : " inputs: ", names, "\n");
  }
  EXPECT_EQ(test::page_mistake("docs/ops.md", {{"elementwise", list}, {"loops", table}}), "");
}

}  // namespace
}  // namespace tessera::ops
