// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <charconv>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/op.h"
#include "tessera/testing/pages/generated_page.h"

/// The type rule of every op. The expected types come from the ONNX operator text (version 17) and,
/// where a number is not obvious, from the arithmetic in a comment.
namespace tessera::graph {
namespace {

using Ints = std::vector<std::int64_t>;

/// "f32[2, 3]"; "-" is an input that is left out.
TensorType type(const std::string& text) {
  const std::size_t open = text.find('[');
  TensorType out;
  out.dtype = parse_dtype(text.substr(0, open)).value_or(DType::kBfpF2);
  Ints extents;
  const char* at = text.data() + open + 1;
  const char* const end = text.data() + text.size();
  while (at < end && *at != ']') {
    std::int64_t extent = 0;
    at = std::from_chars(at, end, extent).ptr;
    extents.push_back(extent);
    while (at < end && (*at == ',' || *at == ' ')) ++at;
  }
  out.shape = *Shape::make(extents);
  return out;
}

Result<Types> infer_text(std::string_view name, const std::vector<std::string>& inputs,
                         const Attributes& attributes, std::size_t outputs) {
  std::vector<TensorType> types;
  for (const std::string& text : inputs) types.push_back(text == "-" ? TensorType() : type(text));
  std::vector<const TensorType*> pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pointers.push_back(inputs[i] == "-" ? nullptr : &types[i]);
  }
  const std::optional<Op> op = Op::find(name);
  EXPECT_TRUE(op) << name;
  return infer(Call(*op, pointers, attributes, outputs));
}

struct Case {
  std::string_view op;
  std::vector<std::string> inputs;
  Attributes attributes;
  std::vector<std::string> outputs;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"add", {"f32[2, 1, 4]", "f32[3, 1]"}, {}, {"f32[2, 3, 4]"}},
      {"add", {"f32[]", "f32[0, 3]"}, {}, {"f32[0, 3]"}},
      {"sub", {"i64[3]", "i64[3]"}, {}, {"i64[3]"}},
      {"mul", {"bf16[8, 1]", "bf16[1, 9]"}, {}, {"bf16[8, 9]"}},
      {"div", {"f64[2]", "f64[]"}, {}, {"f64[2]"}},
      {"pow", {"f32[2, 3]", "i64[3]"}, {}, {"f32[2, 3]"}},
      {"mod", {"i32[4]", "i32[1]"}, {}, {"i32[4]"}},
      {"max", {"ui8[4]", "ui8[4]"}, {}, {"ui8[4]"}},
      {"greater", {"f32[3, 4]", "f32[4]"}, {}, {"i1[3, 4]"}},
      {"and", {"i1[3]", "i1[2, 1]"}, {}, {"i1[2, 3]"}},
      {"not", {"i1[3]"}, {}, {"i1[3]"}},
      {"where", {"i1[2, 1]", "f32[3]", "f32[1]"}, {}, {"f32[2, 3]"}},
      {"prelu", {"f32[2, 3, 4]", "f32[3, 1]"}, {}, {"f32[2, 3, 4]"}},
      {"clip", {"f32[2]", "-", "f32[]"}, {}, {"f32[2]"}},
      {"cast", {"f32[2, 5]"}, {{"to", "i1"}}, {"i1[2, 5]"}},
      {"gelu", {"f16[7]"}, {{"approximate", "tanh"}}, {"f16[7]"}},
      {"is_nan", {"f32[7]"}, {}, {"i1[7]"}},
      {"matmul", {"f32[2, 3]", "f32[3, 4]"}, {}, {"f32[2, 4]"}},
      {"matmul", {"f32[3]", "f32[3]"}, {}, {"f32[]"}},
      {"matmul", {"f32[3]", "f32[5, 3, 4]"}, {}, {"f32[5, 4]"}},
      {"matmul", {"f32[5, 1, 2, 3]", "f32[6, 3, 4]"}, {}, {"f32[5, 6, 2, 4]"}},
      {"gemm",
       {"f32[3, 2]", "f32[4, 3]", "f32[4]"},
       {{"trans_a", 1}, {"trans_b", 1}},
       {"f32[2, 4]"}},
      {"einsum", {"f32[2, 3]", "f32[3, 4]"}, {{"equation", "ij,jk->ik"}}, {"f32[2, 4]"}},
      {"einsum",
       {"f32[5, 2, 3]", "f32[5, 3, 4]"},
       {{"equation", "bij, bjk -> bik"}},
       {"f32[5, 2, 4]"}},
      {"einsum", {"f32[3, 3]"}, {{"equation", "ii"}}, {"f32[]"}},
      {"einsum", {"f32[5, 3, 3]"}, {{"equation", "...ii ->...i"}}, {"f32[5, 3]"}},
      {"einsum", {"f32[3, 4]"}, {{"equation", "ji"}}, {"f32[4, 3]"}},
      {"attention",
       {"f32[1, 8, 5, 16]", "f32[1, 2, 7, 16]", "f32[1, 2, 7, 32]", "f32[5, 7]"},
       {},
       {"f32[1, 8, 5, 32]"}},
      {"reduce_sum", {"f32[3, 2, 2]"}, {{"axes", Ints{1}}, {"keepdims", 0}}, {"f32[3, 2]"}},
      {"reduce_mean", {"f32[3, 2, 2]"}, {{"axes", Ints{-1, 0}}}, {"f32[1, 2, 1]"}},
      {"reduce_max", {"i32[3, 2]"}, {}, {"i32[1, 1]"}},
      {"reduce_l2", {"f32[3, 2]"}, {{"axes", Ints{}}}, {"f32[3, 2]"}},
      {"argmax", {"f32[2, 3]"}, {{"axis", 1}, {"keepdims", 0}}, {"i64[2]"}},
      {"cumsum", {"f64[2, 3]"}, {{"axis", -1}}, {"f64[2, 3]"}},
      {"softmax", {"f32[2, 3]"}, {{"axis", 0}}, {"f32[2, 3]"}},
      {"layer_norm",
       {"f32[2, 3, 4]", "f32[3, 4]", "f32[4]"},
       {{"axis", 1}},
       {"f32[2, 3, 4]", "f32[2, 1, 1]", "f32[2, 1, 1]"}},
      {"rms_norm", {"bf16[2, 8]", "bf16[8]"}, {}, {"bf16[2, 8]"}},
      {"batch_norm",
       {"f32[2, 3, 4]", "f32[3]", "f32[3]", "f32[3]", "f32[3]"},
       {},
       {"f32[2, 3, 4]"}},
      {"group_norm", {"f32[2, 6, 4]", "f32[6]", "f32[6]"}, {{"groups", 3}}, {"f32[2, 6, 4]"}},
      {"lrn", {"f32[5, 5, 5, 5]"}, {{"size", 3}}, {"f32[5, 5, 5, 5]"}},
      // (7 + 1 + 1 - 3) / 2 + 1 = 4.
      {"conv",
       {"f32[1, 1, 7, 5]", "f32[1, 1, 3, 3]"},
       {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
       {"f32[1, 1, 4, 3]"}},
      // A kernel of 3 with dilation 2 reaches over 5: 10 - 5 + 1 = 6.
      {"conv",
       {"f32[2, 4, 10]", "f32[6, 2, 3]", "f32[6]"},
       {{"dilations", Ints{2}}, {"groups", 2}},
       {"f32[2, 6, 6]"}},
      {"conv", {"f32[1, 1, 4, 4, 4]", "f32[2, 1, 2, 2, 2]"}, {}, {"f32[1, 2, 3, 3, 3]"}},
      // 3·(3 - 1) + 1 + 3 = 10 and 2·(3 - 1) + 1 + 3 = 8.
      {"conv_transpose",
       {"f32[1, 1, 3, 3]", "f32[1, 2, 3, 3]"},
       {{"strides", Ints{3, 2}}, {"output_padding", Ints{1, 1}}},
       {"f32[1, 2, 10, 8]"}},
      {"max_pool",
       {"f32[1, 3, 32, 32]"},
       {{"kernel", Ints{5, 5}}, {"strides", Ints{3, 3}}},
       {"f32[1, 3, 10, 10]", "i64[1, 3, 10, 10]"}},
      // ceil((4 - 3) / 2) + 1 = 2.
      {"max_pool",
       {"f32[1, 1, 4, 4]"},
       {{"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil", 1}},
       {"f32[1, 1, 2, 2]"}},
      // The third window would begin at 4, behind the 2 + 1 elements: 2 windows.
      {"average_pool",
       {"f32[1, 1, 2]"},
       {{"kernel", Ints{1}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}, {"ceil", 1}},
       {"f32[1, 1, 2]"}},
      {"global_average_pool", {"f32[1, 3, 5, 5]"}, {}, {"f32[1, 3, 1, 1]"}},
      {"resize",
       {"f32[1, 1, 2, 2]"},
       {{"shape", Ints{1, 1, 4, 6}}, {"mode", "linear"}},
       {"f32[1, 1, 4, 6]"}},
      {"transpose", {"f32[2, 3, 4]"}, {}, {"f32[4, 3, 2]"}},
      {"transpose", {"f32[2, 3, 4]"}, {{"perm", Ints{1, 2, 0}}}, {"f32[3, 4, 2]"}},
      {"reshape", {"f32[2, 3, 4]"}, {{"shape", Ints{4, 6}}}, {"f32[4, 6]"}},
      {"flatten", {"f32[5, 4, 3, 2]"}, {{"axis", 2}}, {"f32[20, 6]"}},
      {"flatten", {"f32[5, 4, 3, 2]"}, {{"axis", 0}}, {"f32[1, 120]"}},
      {"flatten", {"f32[5, 4]"}, {{"axis", 2}}, {"f32[20, 1]"}},
      {"squeeze", {"f32[1, 3, 1, 5]"}, {{"axes", Ints{-2}}}, {"f32[1, 3, 5]"}},
      {"squeeze", {"f32[1, 3, 1, 5]"}, {}, {"f32[3, 5]"}},
      {"unsqueeze", {"f32[3, 4]"}, {{"axes", Ints{4, 0, 1}}}, {"f32[1, 1, 3, 4, 1]"}},
      {"slice",
       {"f32[20, 10, 5]"},
       {{"starts", Ints{0, 0}}, {"ends", Ints{3, 10}}, {"axes", Ints{0, 1}}},
       {"f32[3, 10, 5]"}},
      // 20, 16, 12, 8, 4.
      {"slice",
       {"f32[20, 10, 5]"},
       {{"starts", Ints{20}}, {"ends", Ints{0}}, {"axes", Ints{0}}, {"steps", Ints{-4}}},
       {"f32[5, 10, 5]"}},
      {"slice",
       {"f32[20, 10, 5]"},
       {{"starts", Ints{INT64_MAX}},
        {"ends", Ints{INT64_MIN}},
        {"axes", Ints{-1}},
        {"steps", Ints{INT64_MIN}}},
       {"f32[20, 10, 1]"}},
      {"slice", {"f32[20]"}, {{"starts", Ints{0}}, {"ends", Ints{-1}}}, {"f32[19]"}},
      {"slice", {"f32[20]"}, {{"starts", Ints{5}}, {"ends", Ints{3}}}, {"f32[0]"}},
      // A start is clamped to [0, extent - 1] and an end to [-1, extent - 1]: element 0.
      {"slice",
       {"f32[1]"},
       {{"starts", Ints{-3}}, {"ends", Ints{-3}}, {"steps", Ints{-1}}},
       {"f32[1]"}},
      {"slice",
       {"f32[0]"},
       {{"starts", Ints{-3}}, {"ends", Ints{-3}}, {"steps", Ints{-1}}},
       {"f32[0]"}},
      {"split", {"f32[2, 6]"}, {{"axis", 1}, {"sizes", Ints{2, 4}}}, {"f32[2, 2]", "f32[2, 4]"}},
      {"concat", {"f32[2, 3]", "f32[2, 1]", "f32[2, 0]"}, {{"axis", -1}}, {"f32[2, 4]"}},
      {"pad", {"f32[1, 3, 4, 5]"}, {{"pads", Ints{0, 0, 1, 3, 0, 0, 2, 4}}}, {"f32[1, 3, 7, 12]"}},
      {"pad", {"f32[4]", "f32[]"}, {{"pads", Ints{-1, 0}}}, {"f32[3]"}},
      {"expand", {"f32[3, 1]"}, {{"shape", Ints{2, 1, 6}}}, {"f32[2, 3, 6]"}},
      {"tile", {"f32[2, 3]"}, {{"repeats", Ints{2, 0}}}, {"f32[4, 0]"}},
      {"gather", {"f32[5, 4, 3, 2]", "i64[2, 7]"}, {{"axis", 1}}, {"f32[5, 2, 7, 3, 2]"}},
      {"embedding", {"f16[1000, 64]", "i32[2, 9]"}, {}, {"f16[2, 9, 64]"}},
      {"gather_elements", {"f32[3, 3]", "i64[2, 3]"}, {{"axis", 0}}, {"f32[2, 3]"}},
      {"gather_nd", {"f32[2, 2, 2]", "i64[2, 1]"}, {{"batch_dims", 1}}, {"f32[2, 2]"}},
      {"scatter_nd", {"f32[4, 4, 4]", "i64[2, 1]", "f32[2, 4, 4]"}, {}, {"f32[4, 4, 4]"}},
      {"scatter_elements", {"f32[1, 5]", "i64[1, 2]", "f32[1, 2]"}, {{"axis", 1}}, {"f32[1, 5]"}},
      {"depth_to_space", {"f32[2, 8, 3, 3]"}, {{"block", 2}, {"mode", "CRD"}}, {"f32[2, 2, 6, 6]"}},
      {"space_to_depth", {"f32[2, 2, 6, 6]"}, {{"block", 2}}, {"f32[2, 8, 3, 3]"}},
      {"trilu", {"i64[4, 5]"}, {}, {"i64[4, 5]"}},
      {"dropout", {"f32[3]"}, {}, {"f32[3]"}},
      {"identity", {"i4[3]"}, {}, {"i4[3]"}},
      {"layout_transform", {"f32[53, 63]"}, {{"layout", "Grid(3, 2)"}}, {"f32[53, 63]"}},
      {"constant",
       {},
       {{"shape", Ints{2}}, {"dtype", "i64"}, {"integers", Ints{7, 8}}},
       {"i64[2]"}},
      {"constant_of_shape", {}, {{"shape", Ints{4, 3}}, {"value", 1.0}}, {"f32[4, 3]"}},
      {"shape", {"f32[3, 4, 5]"}, {{"start", -2}}, {"i64[2]"}},
      {"size", {"f32[3, 4, 5]"}, {}, {"i64[]"}},
      // 10, 8: ceil((6 - 10) / -2) = 2.
      {"range",
       {},
       {{"start", 10.0}, {"limit", 6.0}, {"delta", -2.0}, {"dtype", "i32"}},
       {"i32[2]"}},
      {"one_hot", {"i64[2, 2]", "f32[2]"}, {{"depth", 10}, {"axis", 1}}, {"f32[2, 10, 2]"}},
      {"topk", {"f32[3, 4]"}, {{"k", 3}, {"axis", 1}}, {"f32[3, 3]", "i64[3, 3]"}},
      {"eye_like", {"f32[3, 4]"}, {{"dtype", "f64"}}, {"f64[3, 4]"}},
  };
  return list;
}

TEST(Infer, GivesTheTypesOfTheOnnxText) {
  for (const Case& c : cases()) {
    const Result<Types> types = infer_text(c.op, c.inputs, c.attributes, c.outputs.size());
    ASSERT_TRUE(types) << c.op << ": " << types.error().message;
    ASSERT_EQ(types->size(), c.outputs.size()) << c.op;
    for (std::size_t i = 0; i < c.outputs.size(); ++i) {
      EXPECT_EQ((*types)[i].to_string(), type(c.outputs[i]).to_string()) << c.op;
    }
  }
}

/// Every floating unary op keeps the type; every op of the table has a case or is one of these.
TEST(Infer, CoversTheTable) {
  std::set<std::string_view> covered = {"opaque"};
  for (const Case& c : cases()) covered.insert(c.op);
  for (const std::string_view name :
       {"min", "equal", "greater_or_equal", "less", "less_or_equal", "or", "xor"}) {
    const bool logic = name == "or" || name == "xor";
    const std::string in = logic ? "i1[2]" : "f32[2]";
    const Result<Types> types = infer_text(name, {in, in}, {}, 1);
    ASSERT_TRUE(types) << name;
    EXPECT_EQ((*types)[0].to_string(), name == "min" ? "f32[2]" : "i1[2]") << name;
    covered.insert(name);
  }
  const Result<Types> shifted = infer_text("bit_shift", {"ui8[2]", "ui8[1]"}, {}, 1);
  ASSERT_TRUE(shifted);
  covered.insert("bit_shift");
  covered.insert("reverse_sequence");
  EXPECT_TRUE(infer_text("reverse_sequence", {"f32[4, 3]", "i64[3]"}, {}, 1));
  for (const OpRule& op : all_ops()) {
    if (covered.contains(op.name)) continue;
    const bool channels = op.name == "instance_norm";
    const bool pool = op.name == "global_max_pool";
    const std::vector<std::string> inputs =
        channels ? std::vector<std::string>{"f32[2, 3, 4]", "f32[3]", "f32[3]"}
                 : std::vector<std::string>{"f32[2, 3, 4]"};
    const Result<Types> types = infer_text(op.name, inputs, {}, 1);
    ASSERT_TRUE(types) << op.name << ": " << types.error().message;
    const bool reduced = op.family == Family::kReduction;
    const std::string dtype = op.name == "argmin" ? "i64" : op.name == "is_inf" ? "i1" : "f32";
    const std::string shape = pool                  ? "[2, 3, 1]"
                              : op.name == "argmin" ? "[1, 3, 4]"
                              : reduced             ? "[1, 1, 1]"
                                                    : "[2, 3, 4]";
    EXPECT_EQ((*types)[0].to_string(), dtype + shape) << op.name;
  }
}

TEST(Infer, RefusesWithTheOffendingNumbers) {
  struct Bad {
    std::string_view op;
    std::vector<std::string> inputs;
    Attributes attributes;
    std::size_t outputs;
    ErrorCode code;
    std::vector<std::string> named;  ///< in the message
  };
  const std::vector<Bad> cases = {
      {"add",
       {"f32[2, 3]", "f32[4, 3]"},
       {},
       1,
       ErrorCode::kShapeMismatch,
       {"f32[2, 3]", "f32[4, 3]"}},
      {"add", {"f32[2]", "f64[2]"}, {}, 1, ErrorCode::kBadDType, {"f32[2]", "f64[2]"}},
      {"add", {"f32[2]"}, {}, 1, ErrorCode::kBadNode, {"1", "2"}},
      {"add", {"f32[2]", "-"}, {}, 1, ErrorCode::kBadNode, {"1"}},
      {"add", {"i1[2]", "i1[2]"}, {}, 1, ErrorCode::kBadDType, {"i1[2]"}},
      {"and", {"f32[2]", "i1[2]"}, {}, 1, ErrorCode::kBadDType, {"f32[2]"}},
      {"relu", {"f32[2]"}, {{"alpha", 1.0}}, 1, ErrorCode::kBadNode, {"alpha"}},
      {"softmax", {"f32[2]"}, {{"axis", 1}}, 1, ErrorCode::kBadNode, {"1"}},
      {"softmax", {"f32[2]"}, {{"axis", 1.0}}, 1, ErrorCode::kBadNode, {"axis"}},
      {"matmul", {"f32[2, 3]", "f32[4, 5]"}, {}, 1, ErrorCode::kShapeMismatch, {"3", "4"}},
      {"cast", {"f32[2]"}, {}, 1, ErrorCode::kBadNode, {"to"}},
      {"gather_elements",
       {"f32[3, 3]", "i64[2, 4]"},
       {{"axis", 0}},
       1,
       ErrorCode::kShapeMismatch,
       {"4", "3"}},
      {"scatter_elements",
       {"f32[1, 5]", "i64[2, 2]", "f32[2, 2]"},
       {{"axis", 1}},
       1,
       ErrorCode::kShapeMismatch,
       {"2", "1"}},
      {"cast", {"f32[2]"}, {{"to", "f33"}}, 1, ErrorCode::kBadDType, {"f33"}},
      {"reshape", {"f32[2, 3]"}, {{"shape", Ints{7}}}, 1, ErrorCode::kShapeMismatch, {"6", "7"}},
      {"reshape", {"f32[2, 3]"}, {{"shape", Ints{-1}}}, 1, ErrorCode::kBadShape, {"-1"}},
      {"conv",
       {"f32[1, 3, 8, 8]", "f32[4, 2, 3, 3]"},
       {},
       1,
       ErrorCode::kShapeMismatch,
       {"3", "2"}},
      {"conv",
       {"f32[1, 3, 2, 8]", "f32[4, 3, 3, 3]"},
       {},
       1,
       ErrorCode::kShapeMismatch,
       {"3", "2"}},
      {"conv",
       {"f32[1, 3, 8, 8]", "f32[4, 3, 3, 3]"},
       {{"strides", Ints{0, 1}}},
       1,
       ErrorCode::kBadNode,
       {"0"}},
      {"tile", {"f32[4]"}, {{"repeats", Ints{INT64_MAX}}}, 1, ErrorCode::kOverflow, {}},
      {"expand", {"f32[1]"}, {{"shape", Ints{INT64_MAX}}}, 1, ErrorCode::kOverflow, {}},
      {"concat",
       {"f32[2, 3]", "f32[3, 3]"},
       {{"axis", 1}},
       1,
       ErrorCode::kShapeMismatch,
       {"f32[2, 3]", "f32[3, 3]"}},
      {"split", {"f32[5]"}, {{"sizes", Ints{2, 2}}}, 2, ErrorCode::kBadNode, {"5"}},
      {"einsum",
       {"f32[2, 3]", "f32[4, 5]"},
       {{"equation", "ij,jk->ik"}},
       1,
       ErrorCode::kShapeMismatch,
       {"3", "4"}},
      {"einsum", {"f32[2, 3]"}, {{"equation", "ij->k"}}, 1, ErrorCode::kBadNode, {}},
      {"topk", {"f32[2]"}, {{"k", 3}}, 2, ErrorCode::kBadNode, {"3", "2"}},
      {"range", {}, {{"limit", 1.0}, {"delta", 0.0}}, 1, ErrorCode::kBadNode, {}},
      {"opaque", {"f32[2]"}, {}, 1, ErrorCode::kBadNode, {}},
  };
  for (const Bad& c : cases) {
    const Result<Types> types = infer_text(c.op, c.inputs, c.attributes, c.outputs);
    ASSERT_FALSE(types) << c.op;
    EXPECT_EQ(types.error().code, c.code) << c.op << ": " << types.error().message;
    for (const std::string& part : c.named) {
      EXPECT_NE(types.error().message.find(part), std::string::npos) << types.error().message;
    }
  }
}

/// Hand arithmetic: a multiplication and an addition are two operations.
TEST(Infer, CountsArithmetic) {
  struct Flops {
    std::string_view op;
    std::vector<std::string> inputs;
    Attributes attributes;
    std::int64_t expected;
  };
  const std::vector<Flops> cases = {
      {"add", {"f32[2, 3]", "f32[3]"}, {}, 6},
      {"matmul", {"f32[2, 3]", "f32[3, 4]"}, {}, 2L * 2 * 3 * 4},
      {"gemm", {"f32[2, 3]", "f32[3, 4]", "f32[4]"}, {}, 2 * 2 * 3 * 4 + 8},
      // 2x2 outputs of 5 channels, each over 3 channels of a 3x3 kernel, and a bias.
      {"conv", {"f32[1, 3, 4, 4]", "f32[5, 3, 3, 3]", "f32[5]"}, {}, 20L * (2 * 27 + 1)},
      {"einsum", {"f32[2, 3]", "f32[3, 4]"}, {{"equation", "ij,jk->ik"}}, 2L * 2 * 3 * 4},
      {"reduce_sum", {"f32[3, 5]"}, {}, 15},
      {"transpose", {"f32[3, 5]"}, {}, 0},
      {"max_pool", {"f32[1, 1, 4, 4]"}, {{"kernel", Ints{2, 2}}}, 9L * 4},
      // 4 heads, 5 queries, 7 keys: 2·16 for the score, 2·16 for the sum, 5 for the softmax.
      {"attention", {"f32[4, 5, 16]", "f32[4, 7, 16]", "f32[4, 7, 16]"}, {}, 4L * 5 * 7 * 69},
  };
  for (const Flops& c : cases) {
    std::vector<TensorType> types;
    std::vector<const TensorType*> pointers;
    for (const std::string& text : c.inputs) types.push_back(type(text));
    for (const TensorType& each : types) pointers.push_back(&each);
    const Call call(*Op::find(c.op), pointers, c.attributes, 1);
    const Result<Types> outputs = infer(call);
    ASSERT_TRUE(outputs) << c.op;
    EXPECT_EQ(flops_of(call, *outputs), c.expected) << c.op;
  }
}

TEST(OpTable, HasDistinctNamesAndAttributes) {
  std::set<std::string_view> names;
  for (const OpRule& op : all_ops()) {
    EXPECT_TRUE(names.insert(op.name).second) << op.name;
    EXPECT_NE(op.infer, nullptr) << op.name;
    std::set<std::string_view> attributes;
    for (const AttributeRule& rule : op.attributes) {
      EXPECT_TRUE(attributes.insert(rule.name).second) << op.name << " " << rule.name;
      if (rule.otherwise) {
        EXPECT_EQ(kind_of(*rule.otherwise), rule.kind) << op.name;
      }
    }
  }
  EXPECT_GE(names.size(), 110U);
  EXPECT_FALSE(Op::find("no_such_op"));
}

/// docs/graph.md lists every op with its attributes and their defaults.
TEST(OpTable, IsOnThePage) {
  std::string body = "\n| op | family | inputs | outputs | attributes |\n|---|---|---|---|---|\n";
  const auto count = [](Arity arity) {
    if (arity.most == kAnyNumber) return cat(arity.least, " or more");
    return arity.least == arity.most ? cat(arity.least) : cat(arity.least, " to ", arity.most);
  };
  for (const OpRule& op : all_ops()) {
    std::string attributes;
    for (const AttributeRule& rule : op.attributes) {
      attributes +=
          cat(attributes.empty() ? "" : ", ", "`", rule.name, "`", rule.required ? "*" : "");
      if (rule.otherwise) attributes += cat(" ", to_string(*rule.otherwise));
    }
    body += cat("| `", op.name, "` | ", family_name(op.family), " | ", count(op.inputs), " | ",
                count(op.outputs), " | ", attributes, " |\n");
  }
  EXPECT_EQ(test::page_mistake("docs/graph.md", {{"ops", body + "\n"}}), "");
}

}  // namespace
}  // namespace tessera::graph
