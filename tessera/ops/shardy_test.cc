// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/ops/loops.h"

/// Sharding rules that Shardy publishes as examples, compared with our loops: for each operand, the
/// factors of each dim, and which factors are reduced or must be replicated. The shapes and factors
/// are facts from the tests of Shardy's rule registry and the descriptions of its rules
/// (github.com/openxla/shardy, shardy/dialect/sdy/transforms/propagation, at a0277a83), written for
/// our ops; no text is taken over. Ops that Shardy treats alike (every pointwise op has one rule)
/// are listed one by one, because each has a rule to find here.
///
/// Where the two differ, the row has our rule and a comment says why. Factors of extent 1 have no
/// meaning for a division and are left out on both sides.
namespace tessera::ops {
namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

struct Example {
  std::string_view op;
  Shapes inputs;
  graph::Attributes attributes;
  /// "ik,kj->ij": one letter per factor, several factors of a dim in parentheses, "." for a dim
  /// without one. Factors after "+" are reduced, after "!" they stay whole.
  std::string_view rule;
  std::map<char, std::int64_t> extents;
};

using Integers = std::vector<std::int64_t>;

std::vector<Example> examples() {
  std::vector<Example> list;
  const std::map<char, std::int64_t> ij = {{'i', 4}, {'j', 8}};
  for (const std::string_view op :
       {"neg", "abs", "sign", "floor", "ceil", "round", "exp", "log", "sqrt", "rsqrt", "sin", "cos",
        "tan", "tanh", "sigmoid", "erf", "not", "identity"}) {
    list.push_back({op, {{4, 8}}, {}, "ij->ij", ij});
  }
  for (const std::string_view op :
       {"add", "sub", "mul", "div", "max", "min", "pow", "equal", "greater", "greater_or_equal",
        "less", "less_or_equal", "and", "or", "xor"}) {
    list.push_back({op, {{4, 8}, {4, 8}}, {}, "ij,ij->ij", ij});
  }
  list.push_back({"add", {{2, 1, 4}, {2, 1, 4}}, {}, "i.k,i.k->i.k", {{'i', 2}, {'k', 4}}});
  list.push_back({"add", {{}, {}}, {}, ",->", {}});
  list.push_back({"mod", {{4, 8}, {4, 8}}, {{"fmod", std::int64_t{1}}}, "ij,ij->ij", ij});
  list.push_back({"layout_transform", {{8, 4}}, {}, "ij->ij", {{'i', 8}, {'j', 4}}});
  list.push_back({"cast", {{4, 8}}, {{"to", std::string("i32")}}, "ij->ij", ij});
  list.push_back({"clip", {{4, 8}, {}, {}}, {}, "ij,,->ij", ij});
  list.push_back({"where", {{4, 8}, {4, 8}, {4, 8}}, {}, "ij,ij,ij->ij", ij});
  list.push_back({"where", {{}, {4, 8}, {4, 8}}, {}, ",ij,ij->ij", ij});

  // Products. A vector on either side has no factor of its own.
  list.push_back({"matmul", {{32}, {32}}, {}, "i,i->+i", {{'i', 32}}});
  list.push_back({"matmul", {{32}, {32, 16}}, {}, "j,ji->i+j", {{'i', 16}, {'j', 32}}});
  list.push_back({"matmul", {{8, 32}, {32}}, {}, "ij,j->i+j", {{'i', 8}, {'j', 32}}});
  list.push_back(
      {"matmul", {{8, 32}, {32, 16}}, {}, "ik,kj->ij+k", {{'i', 8}, {'j', 16}, {'k', 32}}});
  list.push_back({"matmul",
                  {{4, 8, 32}, {4, 32, 16}},
                  {},
                  "ijl,ilk->ijk+l",
                  {{'i', 4}, {'j', 8}, {'k', 16}, {'l', 32}}});
  list.push_back(
      {"gemm", {{8, 32}, {32, 16}}, {}, "ik,kj->ij+k", {{'i', 8}, {'j', 16}, {'k', 32}}});
  list.push_back({"einsum",
                  {{2, 4, 8, 4, 64, 32}, {16, 32, 64, 4, 2}},
                  {{"equation", std::string("ijklon,mnoji->ijklm")}},
                  "ijklon,mnoji->ijklm+no",
                  {{'i', 2}, {'j', 4}, {'k', 8}, {'l', 4}, {'m', 16}, {'n', 32}, {'o', 64}}});

  // Reductions of one dim of [2, 64, 13], of two, and beside a dim of extent 1.
  const graph::Attributes middle = {{"axes", Integers{1}}, {"keepdims", std::int64_t{0}}};
  const graph::Attributes outer = {{"axes", Integers{0, 2}}, {"keepdims", std::int64_t{0}}};
  const std::map<char, std::int64_t> ijk = {{'i', 2}, {'j', 64}, {'k', 13}};
  for (const std::string_view op : {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod"}) {
    list.push_back({op, {{2, 64, 13}}, middle, "ijk->ik+j", ijk});
    list.push_back({op, {{2, 64, 13}}, outer, "ijk->j+ik", ijk});
  }
  list.push_back(
      {"reduce_sum", {{2, 64, 1, 13}}, middle, "ij.l->i.l+j", {{'i', 2}, {'j', 64}, {'l', 13}}});

  // Movement.
  list.push_back({"transpose",
                  {{256, 32, 64, 100}},
                  {{"perm", Integers{3, 1, 0, 2}}},
                  "kjli->ijkl",
                  {{'i', 100}, {'j', 32}, {'k', 256}, {'l', 64}}});
  list.push_back({"expand",
                  {{2, 1, 13}},
                  {{"shape", Integers{2, 64, 13}}},
                  "i.l->ikl",
                  {{'i', 2}, {'k', 64}, {'l', 13}}});
  list.push_back({"expand", {{}}, {{"shape", Integers{2, 1, 13}}}, "->i.k", {{'i', 2}, {'k', 13}}});
  const auto reshape = [&](std::vector<std::int64_t> from, const Integers& to,
                           std::string_view rule, std::map<char, std::int64_t> extents) {
    list.push_back({"reshape", {std::move(from)}, {{"shape", to}}, rule, std::move(extents)});
  };
  reshape({1, 1}, {}, "..->", {});
  reshape({2, 4}, {8}, "ij->(ij)", {{'i', 2}, {'j', 4}});
  reshape({8}, {2, 4}, "(ij)->ij", {{'i', 2}, {'j', 4}});
  reshape({4, 12}, {4, 2, 3, 2}, "i(jkl)->ijkl", {{'i', 4}, {'j', 2}, {'k', 3}, {'l', 2}});
  reshape({8, 4, 5}, {2, 16, 5}, "(ij)kl->i(jk)l", {{'i', 2}, {'j', 4}, {'k', 4}, {'l', 5}});
  // Shardy gives each side factors of its own; here they must also stay whole, because a part of
  // one is no part of the other.
  reshape({3, 2}, {2, 3}, "il->jk!iljk", {{'i', 3}, {'j', 2}, {'k', 3}, {'l', 2}});
  reshape({6, 4}, {4, 6}, "(ij)(mn)->(ik)(ln)!jklm",
          {{'i', 2}, {'j', 3}, {'k', 2}, {'l', 3}, {'m', 2}, {'n', 2}});
  reshape({2, 3, 8}, {3, 4, 4}, "ik(mn)->j(lm)n!ijkl",
          {{'i', 2}, {'j', 3}, {'k', 3}, {'l', 2}, {'m', 2}, {'n', 4}});
  reshape({3, 4, 4}, {2, 3, 8}, "i(lm)n->jk(mn)!ijkl",
          {{'i', 3}, {'j', 2}, {'k', 3}, {'l', 2}, {'m', 2}, {'n', 4}});
  reshape({4, 7, 5, 8}, {14, 10, 8}, "(ij)lno->(ik)(mn)o!jklm",
          {{'i', 2}, {'j', 2}, {'k', 7}, {'l', 7}, {'m', 2}, {'n', 5}, {'o', 8}});
  reshape({1, 8, 4}, {8, 1, 4, 1}, ".jl->j.l.", {{'j', 8}, {'l', 4}});
  reshape({8, 4}, {32, 1}, "ij->(ij).", {{'i', 8}, {'j', 4}});
  reshape({32, 1}, {8, 4}, "(ij).->ij", {{'i', 8}, {'j', 4}});
  reshape({32}, {8, 1, 4}, "(ik)->i.k", {{'i', 8}, {'k', 4}});
  list.push_back({"flatten",
                  {{2, 4, 8}},
                  {{"axis", std::int64_t{2}}},
                  "ijk->(ij)k",
                  {{'i', 2}, {'j', 4}, {'k', 8}}});
  list.push_back(
      {"squeeze", {{8, 1, 4}}, {{"axes", Integers{1}}}, "i.k->ik", {{'i', 8}, {'k', 4}}});
  list.push_back({"unsqueeze", {{8, 4}}, {{"axes", Integers{1}}}, "ik->i.k", {{'i', 8}, {'k', 4}}});
  // Slices, pads and reversals are permutations there; here a factor runs over what is read, with
  // an offset and a step.
  list.push_back(
      {"slice",
       {{32, 4, 8}},
       {{"starts", Integers{0, 1, 4}}, {"ends", Integers{32, 2, 8}}, {"steps", Integers{1, 1, 2}}},
       "i.k->i.k",
       {{'i', 32}, {'k', 2}}});
  list.push_back({"slice",
                  {{4, 32, 8, 2}},
                  {{"starts", Integers{0, 31, 0, 1}},
                   {"ends", Integers{4, -33, 8, -3}},
                   {"steps", Integers{1, -1, 1, -1}}},
                  "ijkl->ijkl",
                  {{'i', 4}, {'j', 32}, {'k', 8}, {'l', 2}}});
  list.push_back({"pad",
                  {{28, 28, 16}, {}},
                  {{"pads", Integers{1, -1, 0, 1, -1, 0}}},
                  "ijk,->ijk",
                  {{'i', 30}, {'j', 26}, {'k', 16}}});
  // The axis of a concat is replicated there. Here it is divided, and a place reads the part of
  // each input that its part of the axis has.
  const auto concat = [&](const Shapes& inputs, std::int64_t axis, std::string_view rule,
                          std::map<char, std::int64_t> extents) {
    list.push_back({"concat", inputs, {{"axis", axis}}, rule, std::move(extents)});
  };
  concat({{4, 3, 256}, {4, 5, 256}}, 1, "ijk,ijk->ijk", {{'i', 4}, {'j', 8}, {'k', 256}});
  concat({{4, 16, 256}, {4, 16, 256}}, 1, "ijk,ijk->ijk", {{'i', 4}, {'j', 32}, {'k', 256}});
  concat({{4, 1, 256}, {4, 1, 256}, {4, 1, 256}}, 1, "ijk,ijk,ijk->ijk",
         {{'i', 4}, {'j', 3}, {'k', 256}});
  concat({{4, 64}, {4, 64}, {4, 64}}, 0, "ij,ij,ij->ij", {{'i', 12}, {'j', 64}});

  // Windows, with the batch and the channels in front, as our ops have them. The window's own
  // factor is compound there; here it is added to the position.
  const graph::Attributes window = {{"strides", Integers{2, 2}}, {"pads", Integers{0, 0, 1, 1}}};
  list.push_back({"conv",
                  {{2, 192, 224, 224}, {64, 192, 3, 3}},
                  window,
                  "in(jk)(lm),onkm->iojl+kmn",
                  {{'i', 2}, {'j', 112}, {'k', 3}, {'l', 112}, {'m', 3}, {'n', 192}, {'o', 64}}});
  graph::Attributes grouped = window;
  grouped.set("groups", std::int64_t{16});
  list.push_back(
      {"conv",
       {{8, 192, 224, 224}, {256, 12, 3, 3}},
       grouped,
       "i(no)(jk)(lm),(np)okm->i(np)jl+kmo",
       {{'i', 8}, {'j', 112}, {'k', 3}, {'l', 112}, {'m', 3}, {'n', 16}, {'o', 12}, {'p', 16}}});
  list.push_back({"conv",
                  {{8, 16, 224, 224}, {256, 1, 3, 3}},
                  grouped,
                  "in(jk)(lm),(np).km->i(np)jl+km",
                  {{'i', 8}, {'j', 112}, {'k', 3}, {'l', 112}, {'m', 3}, {'n', 16}, {'p', 16}}});
  list.push_back({"conv",
                  {{8, 192, 224, 224}, {16, 12, 3, 3}},
                  grouped,
                  "i(no)(jk)(lm),nokm->injl+kmo",
                  {{'i', 8}, {'j', 112}, {'k', 3}, {'l', 112}, {'m', 3}, {'n', 16}, {'o', 12}}});
  list.push_back({"max_pool",
                  {{2, 3, 48, 48}},
                  {{"kernel", Integers{3, 1}}, {"strides", Integers{3, 1}}},
                  "in(jk)l->injl!k",
                  {{'i', 2}, {'n', 3}, {'j', 16}, {'k', 3}, {'l', 48}}});

  // Lookups: rows of the table are reduced, since one place has the row and the others nothing.
  list.push_back({"gather",
                  {{3, 5, 2}, {2, 3}},
                  {{"axis", std::int64_t{0}}},
                  "mkl,ij->ijkl+m",
                  {{'i', 2}, {'j', 3}, {'k', 5}, {'l', 2}, {'m', 3}}});
  list.push_back({"gather_nd",
                  {{3, 4, 2}, {2, 3, 2}},
                  {},
                  "mnl,ijk->ijl+mn!k",
                  {{'i', 2}, {'j', 3}, {'k', 2}, {'l', 2}, {'m', 3}, {'n', 4}}});
  list.push_back({"embedding",
                  {{100, 64}, {2, 8}},
                  {},
                  "vd,bs->bsd+v",
                  {{'v', 100}, {'d', 64}, {'b', 2}, {'s', 8}}});

  // What sorts or accumulates along a dim keeps it whole.
  list.push_back(
      {"topk", {{16, 8}}, {{"k", std::int64_t{2}}}, "ij->ik!jk", {{'i', 16}, {'j', 8}, {'k', 2}}});
  list.push_back({"cumsum",
                  {{8, 10, 12}},
                  {{"axis", std::int64_t{1}}},
                  "ijk->ijk!j",
                  {{'i', 8}, {'j', 10}, {'k', 12}}});
  // The feature is dim 1 of ours.
  list.push_back({"batch_norm",
                  {{4, 16, 8, 32}, {16}, {16}, {16}, {16}},
                  {},
                  "ikjl,k,k,k,k->ikjl",
                  {{'i', 4}, {'j', 8}, {'k', 16}, {'l', 32}}});
  return list;
}

/// The rule of loops with our names, in the form of Example::rule: the letters of an example are
/// matched to our factors dim by dim.
class Matcher {
 public:
  Matcher(const Loops& loops, const Example& example) : loops_(loops), example_(example) {}

  std::string run() {
    const std::string_view rule = example_.rule;
    const std::size_t arrow = rule.find("->");
    const std::size_t kinds = std::min(rule.find_first_of("+!"), rule.size());
    std::vector<std::string_view> inputs = split(rule.substr(0, arrow));
    if (inputs.size() != loops_.inputs.size()) return "another number of inputs";
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!match(inputs[i], *loops_.inputs[i])) return wrong_ + cat(" in input ", i);
    }
    const std::string_view output = rule.substr(arrow + 2, kinds - arrow - 2);
    if (!match(output, loops_.outputs[0])) return wrong_ + " in the output";
    return check_kinds(rule.substr(kinds));
  }

 private:
  static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    std::size_t from = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
      if (at < text.size() && text[at] != ',') continue;
      parts.push_back(text.substr(from, at - from));
      from = at + 1;
    }
    return parts;
  }

  bool fail(std::string why) {
    wrong_ = std::move(why);
    return false;
  }

  bool match(std::string_view dims, const Access& access) {
    std::size_t at = 0;
    for (const DimAccess& dim : access.dims) {
      if (at >= dims.size()) return fail("more dims");
      std::string letters(1, dims[at]);
      if (dims[at] == '(') {
        const std::size_t end = dims.find(')', at);
        letters = std::string(dims.substr(at + 1, end - at - 1));
        at = end;
      }
      ++at;
      if (letters == ".") letters.clear();
      std::vector<Term> terms = dim.terms;
      std::erase_if(terms, [&](const Term& term) { return extent(term.dim) <= 1; });
      if (terms.size() != letters.size()) return fail(cat(terms.size(), " factors in a dim"));
      for (std::size_t t = 0; t < terms.size(); ++t) {
        const auto [found, is_new] = factors_.emplace(letters[t], terms[t].dim);
        if (found->second != terms[t].dim) return fail(cat("another factor than ", letters));
      }
    }
    return at == dims.size() || fail("fewer dims");
  }

  std::string check_kinds(std::string_view kinds) {
    std::map<char, FactorKind> expected;
    FactorKind kind = FactorKind::kPass;
    for (const char c : kinds) {
      if (c == '+') {
        kind = FactorKind::kReduce;
      } else if (c == '!') {
        kind = FactorKind::kWhole;
      } else {
        expected[c] = kind;
      }
    }
    std::set<int> distinct;
    for (const auto& [letter, factor] : factors_) {
      const Factor& f = loops_.factors[static_cast<std::size_t>(factor)];
      distinct.insert(factor);
      const auto size = example_.extents.find(letter);
      if (size == example_.extents.end() || size->second != f.extent) {
        return cat(letter, " has extent ", f.extent);
      }
      const auto found = expected.find(letter);
      const FactorKind wanted = found == expected.end() ? FactorKind::kPass : found->second;
      if (f.kind != wanted) return cat(letter, " is ", kind_name(f.kind));
    }
    if (distinct.size() != factors_.size()) return "one factor for two letters";
    if (factors_.size() != example_.extents.size()) return "fewer factors";
    return "";
  }

  std::int64_t extent(int factor) const {
    return loops_.factors[static_cast<std::size_t>(factor)].extent;
  }

  const Loops& loops_;
  const Example& example_;
  std::map<char, int> factors_;
  std::string wrong_;
};

TEST(Loops, AreThoseOfShardysExamples) {
  std::set<std::string_view> ops;
  const std::vector<Example> list = examples();
  for (const Example& example : list) {
    graph::Types types;
    for (std::size_t i = 0; i < example.inputs.size(); ++i) {
      const bool position =
          i == 1 && (example.op.starts_with("gather") || example.op == "embedding");
      const std::set<std::string_view> logic = {"and", "or", "xor", "not"};
      const bool condition = (i == 0 && example.op == "where") || logic.contains(example.op);
      types.push_back({*Shape::make(example.inputs[i]), position    ? DType::kI64
                                                        : condition ? DType::kBool
                                                                    : DType::kF32});
    }
    std::vector<const graph::TensorType*> inputs;
    for (const graph::TensorType& type : types) inputs.push_back(&type);
    const std::size_t outputs = example.op == "topk" ? 2 : 1;
    const graph::Call call(*graph::Op::find(example.op), inputs, example.attributes, outputs);
    const Result<graph::Types> made = graph::infer(call);
    ASSERT_TRUE(made) << example.op << ": " << made.error().message;
    const Result<Loops> loops = loops_of(call, *made);
    ASSERT_TRUE(loops) << example.op;
    EXPECT_EQ(Matcher(*loops, example).run(), "") << example.op << " " << example.rule << "\n"
                                                  << loops->to_string();
    ops.insert(example.op);
  }
  EXPECT_GE(ops.size(), 60U);
  EXPECT_GE(list.size(), 75U);
}

}  // namespace
}  // namespace tessera::ops
