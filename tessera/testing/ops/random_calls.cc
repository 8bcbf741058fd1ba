// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/ops/random_calls.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/testing/ops/call_maker.h"

namespace tessera::test {

std::vector<const graph::TensorType*> OpCase::types() const {
  std::vector<const graph::TensorType*> list;
  for (const auto& input : inputs) list.push_back(input ? &input->type : nullptr);
  return list;
}

Result<graph::Types> OpCase::infer() const {
  const auto list = types();
  return graph::infer(graph::Call(op, list, attributes, outputs));
}

std::optional<std::vector<NaiveTensor>> OpCase::evaluate() const {
  const auto list = types();
  const graph::Call call(op, list, attributes, outputs);
  const Result<graph::Types> made = graph::infer(call);
  if (!made) return std::nullopt;
  NaiveCall naive{op.name(), {}, {}, call};
  for (const auto& input : inputs) naive.inputs.push_back(input ? &*input : nullptr);
  for (const graph::TensorType& type : *made) {
    naive.outputs.push_back(
        {type, std::vector<long double>(static_cast<std::size_t>(type.shape.elements()))});
  }
  if (!evaluate_node(naive)) return std::nullopt;
  for (NaiveTensor& output : naive.outputs) {
    for (long double& element : output.elements) element = as_element(element, output.type.dtype);
  }
  return std::move(naive.outputs);
}

bool OpCase::is_index(std::size_t input) const {
  if (op.is("reverse_sequence") || op.is("gather") || op.is("embedding") ||
      op.is("gather_elements") || op.is("gather_nd") || op.is("scatter_nd") ||
      op.is("scatter_elements")) {
    return input == 1;
  }
  return op.is("one_hot") && input == 0;
}

std::string OpCase::text() const {
  std::string text = cat(op.name(), " of ");
  for (const auto& input : inputs) text += (input ? input->type.to_string() : "none") + ", ";
  text += "{";
  for (const auto& [name, value] : attributes) text += cat(name, "=", graph::to_string(value), " ");
  return text + "}";
}

OpCase CallMaker::run() {
  const std::string_view op = made_.op.name();
  switch (made_.op.rule().family) {
    case graph::Family::kElementwise:
      elementwise(op);
      break;
    case graph::Family::kReduction:
      reduction(op);
      break;
    case graph::Family::kContraction:
      contraction(op);
      break;
    case graph::Family::kNormalization:
      normalization(op);
      break;
    case graph::Family::kWindow:
      window(op);
      break;
    case graph::Family::kMovement:
      movement(op);
      break;
    default:
      creation(op);
  }
  return std::move(made_);
}

void CallMaker::elementwise(std::string_view op) {
  const bool logic = op == "and" || op == "or" || op == "xor" || op == "not";
  const DType dtype = logic ? DType::kBool : op == "bit_shift" ? DType::kU8 : DType::kF32;
  if (op == "cast") set("to", std::string("i32"));
  if (op == "mod") set("fmod", std::int64_t{1});
  if (op == "gelu" && dice_.chance(50)) set("approximate", std::string("tanh"));
  const Extents full = shape(0, 3);
  if (op == "clip") {
    input(full);
    if (dice_.chance(70)) input({});
    return;
  }
  if (op == "where") {
    input(narrower(full), DType::kBool);
    input(full);
    input(narrower(full));
    return;
  }
  const std::size_t count = made_.op.rule().inputs.least;
  const bool swapped = count == 2 && op != "prelu" && dice_.chance(40);
  for (std::size_t i = 0; i < count; ++i) {
    input((i == 0) != swapped ? full : narrower(full), dtype);
  }
}

void CallMaker::reduction(std::string_view op) {
  const Extents x = shape(1, 4);
  input(x);
  if (op == "cumsum") {
    set("axis", axis(x.size()));
    set("exclusive", dice_.below(2));
    set("reverse", dice_.below(2));
    return;
  }
  set("keepdims", dice_.below(2));
  if (op == "argmax" || op == "argmin") {
    set("axis", axis(x.size()));
  } else if (dice_.chance(80)) {
    Extents axes;
    for (std::size_t d = 0; d < x.size(); ++d) {
      if (dice_.chance(50)) axes.push_back(static_cast<std::int64_t>(d));
    }
    set("axes", axes);
  }
}

void CallMaker::contraction(std::string_view op) {
  const std::int64_t i = extent();
  const std::int64_t j = extent();
  const std::int64_t k = extent();
  if (op == "gemm") {
    const bool a = dice_.chance(50);
    const bool b = dice_.chance(50);
    set("trans_a", std::int64_t{a});
    set("trans_b", std::int64_t{b});
    set("beta", 2.0);
    input(a ? Extents{k, i} : Extents{i, k});
    input(b ? Extents{j, k} : Extents{k, j});
    if (dice_.chance(60)) input(narrower({i, j}));
  } else if (op == "einsum") {
    static const std::vector<std::pair<std::string, std::vector<std::string>>> equations = {
        {"ik,kj->ij", {"ik", "kj"}},
        {"ij->ji", {"ij"}},
        {"ii->i", {"ii"}},
        {"ij->", {"ij"}},
        {"i,j->ij", {"i", "j"}},
        {"ij,kj,k->i", {"ij", "kj", "k"}},
        {"...ik,...kj->...ij", {"bik", "bkj"}},
        {"bij,bjk", {"bij", "bjk"}}};
    const auto& [equation, terms] =
        equations[static_cast<std::size_t>(dice_.below(static_cast<int>(equations.size())))];
    set("equation", equation);
    const std::int64_t b = extent();
    for (const std::string& term : terms) {
      Extents extents;
      for (const char label : term) {
        extents.push_back(label == 'i' ? i : label == 'j' ? j : label == 'k' ? k : b);
      }
      input(extents);
    }
  } else if (op == "attention") {
    const std::int64_t groups = dice_.between(1, 3);
    const std::int64_t heads = groups * dice_.between(1, 2);
    const std::int64_t b = dice_.between(1, 2);
    set("causal", dice_.below(2));
    input({b, heads, i, k});
    input({b, groups, j, k});
    input({b, groups, j, extent()});
    if (dice_.chance(40)) input(narrower({b, heads, i, j}));
    if (dice_.chance(30)) set("scale", 0.5);
  } else {
    const Extents batch = shape(0, 2);
    Extents a = dice_.chance(20) ? Extents() : batch;
    Extents b = dice_.chance(30) ? Extents() : batch;
    for (std::int64_t& e : b) e = dice_.chance(30) ? 1 : e;
    if (!a.empty() || dice_.chance(80)) a.push_back(i);
    a.push_back(k);
    b.push_back(k);
    if (b.size() > 1 || dice_.chance(80)) b.push_back(j);
    input(a);
    input(b);
  }
}

void CallMaker::normalization(std::string_view op) {
  const bool channels = op == "batch_norm" || op == "instance_norm" || op == "group_norm";
  if (channels || op == "lrn") {
    const std::int64_t groups = dice_.between(1, 3);
    Extents x = {extent(), groups * dice_.between(1, 3)};
    for (const std::int64_t e : shape(1, 2)) x.push_back(e);
    input(x);
    if (op == "group_norm") set("groups", groups);
    if (op == "lrn") set("size", dice_.between(1, 5));
    if (!channels) return;
    for (std::size_t i = 1; i < made_.op.rule().inputs.least; ++i) {
      for (long double& element : input({x[1]}).elements) element = std::abs(element);
    }
    return;
  }
  const Extents x = shape(1, 3);
  const std::int64_t at = axis(x.size());
  set("axis", at);
  input(x);
  const std::size_t from =
      static_cast<std::size_t>(at < 0 ? at + static_cast<std::int64_t>(x.size()) : at);
  const Extents part(x.begin() + static_cast<std::ptrdiff_t>(from), x.end());
  if (op == "layer_norm") {
    input(part);
    if (dice_.chance(50)) input(part);
    made_.outputs = static_cast<std::size_t>(dice_.between(1, 3));
  } else if (op == "rms_norm" && dice_.chance(60)) {
    input(part);
  }
}

void CallMaker::window(std::string_view op) {
  const auto dims = static_cast<std::size_t>(dice_.between(1, 2));
  if (op == "resize") {
    Extents x = {1, dice_.between(1, 2)};
    Extents to = x;
    for (std::size_t d = 0; d < dims; ++d) {
      x.push_back(extent());
      to.push_back(dice_.chance(60) ? x.back() * dice_.between(1, 3) : extent());
    }
    input(x);
    set("shape", to);
    set("mode", std::string(dice_.chance(60) ? "nearest" : "linear"));
    if (dice_.chance(30)) {
      set("coordinates", std::string("asymmetric"));
      set("nearest_mode", std::string(dice_.chance(70) ? "floor" : "round_prefer_ceil"));
    }
    return;
  }
  const std::int64_t groups = dice_.chance(40) ? dice_.between(1, 3) : 1;
  const std::int64_t inputs = dice_.between(1, 2);
  const std::int64_t outputs = dice_.between(1, 2);
  Extents x = {dice_.between(1, 2), groups * inputs};
  Extents kernel;
  Extents strides;
  Extents dilations;
  Extents before;
  Extents after;
  for (std::size_t d = 0; d < dims; ++d) {
    kernel.push_back(dice_.between(1, 3));
    strides.push_back(dice_.between(1, 3));
    dilations.push_back(dice_.between(1, 2));
    const std::int64_t reach = dilations.back() * (kernel.back() - 1) + 1;
    x.push_back(reach + dice_.between(0, 4));
    before.push_back(dice_.below(std::min<std::int64_t>(reach, kernel.back())));
    after.push_back(dice_.below(std::min<std::int64_t>(reach, kernel.back())));
  }
  input(x);
  if (op == "global_max_pool" || op == "global_average_pool") return;
  Extents pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  set("strides", strides);
  set("dilations", dilations);
  set("pads", pads);
  if (op == "conv" || op == "conv_transpose") {
    set("groups", groups);
    Extents w =
        op == "conv" ? Extents{groups * outputs, inputs} : Extents{groups * inputs, outputs};
    w.insert(w.end(), kernel.begin(), kernel.end());
    input(w);
    if (dice_.chance(50)) input({groups * outputs});
    return;
  }
  set("kernel", kernel);
  if (op == "max_pool") made_.outputs = static_cast<std::size_t>(dice_.between(1, 2));
  if (op == "average_pool") set("count_include_pad", dice_.below(2));
}

OpCase random_call(Dice& dice, std::string_view op) { return CallMaker(dice, op).run(); }

std::vector<std::string_view> ops_with_loops() {
  std::vector<std::string_view> names;
  for (const graph::OpRule& rule : graph::all_ops()) {
    if (rule.name != "opaque") names.push_back(rule.name);
  }
  return names;
}

}  // namespace tessera::test
