// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/ops/random_calls.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/testing/graph/random_graphs.h"

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

namespace {

using Extents = std::vector<std::int64_t>;

class Maker {
 public:
  Maker(Dice& dice, std::string_view op) : dice_(dice), made_{*graph::Op::find(op), {}, {}, 1} {}

  OpCase run() {
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

 private:
  std::int64_t extent() { return dice_.between(1, 5); }
  Extents shape(std::int64_t least, std::int64_t most) {
    Extents extents;
    for (std::int64_t d = dice_.between(least, most); d > 0; --d) extents.push_back(extent());
    return extents;
  }
  std::int64_t axis(std::size_t rank) {
    const auto n = static_cast<std::int64_t>(rank);
    const std::int64_t at = dice_.below(n);
    return dice_.chance(50) ? at : at - n;
  }
  void set(std::string_view name, graph::Attribute value) {
    made_.attributes.set(name, std::move(value));
  }

  NaiveTensor& input(const Extents& extents, DType dtype = DType::kF32) {
    const graph::TensorType type{*Shape::make(extents), dtype};
    made_.inputs.emplace_back(*naive_tensor(
        type, graph::Data::of_bytes(random_elements(dice_, type.shape.elements(), dtype))));
    return *made_.inputs.back();
  }
  void indices(const Extents& extents, std::int64_t below) {
    for (long double& element : input(extents, DType::kI64).elements) {
      element = static_cast<long double>(dice_.below(below));
    }
  }
  /// A shape that is broadcast to `full`: leading dims dropped, others of extent 1.
  Extents narrower(const Extents& full) {
    Extents extents(
        full.begin() +
            (dice_.chance(30) ? dice_.below(static_cast<std::int64_t>(full.size() + 1)) : 0),
        full.end());
    for (std::int64_t& e : extents) {
      if (dice_.chance(25)) e = 1;
    }
    return extents;
  }

  void elementwise(std::string_view op) {
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

  void reduction(std::string_view op) {
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

  void contraction(std::string_view op) {
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

  void normalization(std::string_view op) {
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

  void window(std::string_view op) {
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

  void movement(std::string_view op) {
    Extents x = shape(1, 4);
    const auto rank = static_cast<std::int64_t>(x.size());
    const auto any = [&](std::int64_t at) {
      return static_cast<std::size_t>(at < 0 ? at + rank : at);
    };
    if (op == "reshape") {
      input(x);
      set("shape", regrouped(x));
    } else if (op == "flatten") {
      input(x);
      set("axis", dice_.between(0, rank));
    } else if (op == "squeeze") {
      const std::int64_t at = dice_.below(rank);
      x[static_cast<std::size_t>(at)] = 1;
      input(x);
      if (dice_.chance(50)) set("axes", Extents{at});
    } else if (op == "unsqueeze") {
      input(x);
      set("axes", Extents{dice_.between(0, rank)});
    } else if (op == "transpose") {
      input(x);
      Extents perm;
      for (const std::size_t d : dice_.order(x.size())) perm.push_back(static_cast<int>(d));
      if (dice_.chance(80)) set("perm", perm);
    } else if (op == "slice") {
      input(x);
      Extents starts;
      Extents ends;
      Extents steps;
      for (const std::int64_t e : x) {
        const bool back = dice_.chance(30);
        starts.push_back(dice_.below(e));
        ends.push_back(back ? -e - 1 : dice_.between(starts.back() + 1, e));
        steps.push_back(back ? -dice_.between(1, 2) : dice_.between(1, 3));
      }
      set("starts", starts);
      set("ends", ends);
      set("steps", steps);
    } else if (op == "split") {
      input(x);
      const std::int64_t at = axis(x.size());
      const std::int64_t first = dice_.between(0, x[any(at)]);
      set("axis", at);
      set("sizes", Extents{first, x[any(at)] - first});
      made_.outputs = 2;
    } else if (op == "concat") {
      const std::int64_t at = axis(x.size());
      set("axis", at);
      for (std::int64_t i = dice_.between(1, 3); i > 0; --i) {
        x[any(at)] = extent();
        input(x);
      }
    } else if (op == "pad") {
      const bool constant = dice_.chance(60);
      const bool edge = dice_.chance(50);
      set("mode", std::string(constant ? "constant" : edge ? "edge" : "reflect"));
      Extents pads(2 * x.size());
      for (std::size_t d = 0; d < x.size(); ++d) {
        const std::int64_t most = constant || edge ? 2 : x[d] - 1;
        const std::int64_t crop = constant && x[d] > 2 ? 1 : 0;
        pads[d] = dice_.between(0, most + crop) - crop;
        pads[d + x.size()] = dice_.between(0, most);
      }
      input(x);
      set("pads", pads);
      if (constant && dice_.chance(50)) input({});
    } else if (op == "expand") {
      input(narrower(x));
      set("shape", x);
    } else if (op == "tile") {
      input(x);
      Extents repeats;
      for (std::size_t d = 0; d < x.size(); ++d) repeats.push_back(dice_.between(1, 3));
      set("repeats", repeats);
    } else if (op == "gather") {
      const std::int64_t at = axis(x.size());
      input(x);
      indices(shape(0, 2), x[any(at)]);
      set("axis", at);
    } else if (op == "embedding") {
      const Extents table = {extent(), extent()};
      input(table);
      indices(shape(0, 2), table[0]);
    } else if (op == "gather_elements" || op == "scatter_elements") {
      const std::int64_t at = axis(x.size());
      input(x);
      Extents picked = x;
      for (std::int64_t& e : picked) e = dice_.between(1, e);
      picked[any(at)] = op == "gather_elements" ? extent() : dice_.between(1, x[any(at)]);
      indices(picked, x[any(at)]);
      set("axis", at);
      if (op == "scatter_elements") {
        set("reduction", std::string("add"));
        input(picked);
      }
    } else if (op == "gather_nd" || op == "scatter_nd") {
      const bool gather = op == "gather_nd";
      const std::int64_t batch =
          gather && rank > 1 ? dice_.below(std::min<std::int64_t>(rank, 2)) : 0;
      const std::int64_t width = dice_.between(1, rank - batch);
      Extents list(x.begin(), x.begin() + batch);
      for (const std::int64_t e : shape(1, 1)) list.push_back(e);
      Extents updates = list;
      updates.insert(updates.end(), x.begin() + batch + width, x.end());
      list.push_back(width);
      input(x);
      std::int64_t least = 5;
      for (std::int64_t d = batch; d < batch + width; ++d) {
        least = std::min(least, x[static_cast<std::size_t>(d)]);
      }
      indices(list, least);
      if (gather) set("batch_dims", batch);
      if (!gather) input(updates);
    } else if (op == "depth_to_space" || op == "space_to_depth") {
      const std::int64_t block = dice_.between(1, 2);
      Extents deep = {dice_.between(1, 2), dice_.between(1, 2), extent(), extent()};
      set("block", block);
      if (op == "depth_to_space") {
        deep[1] *= block * block;
        if (dice_.chance(50)) set("mode", std::string("CRD"));
      } else {
        deep[2] *= block;
        deep[3] *= block;
      }
      input(deep);
    } else if (op == "trilu") {
      input({extent(), extent()});
      set("upper", dice_.below(2));
      set("k", dice_.between(-1, 1));
    } else if (op == "reverse_sequence") {
      const Extents matrix = {extent(), extent()};
      input(matrix);
      indices({matrix[1]}, matrix[0] + 1);
    } else {
      input(x);
    }
  }

  /// The same number of elements in other dims: primes of the extents dealt to new dims.
  Extents regrouped(const Extents& x) {
    Extents to(static_cast<std::size_t>(dice_.between(1, 4)), 1);
    const auto last = static_cast<std::int64_t>(to.size());
    for (std::int64_t left : x) {
      for (std::int64_t p = 2; left > 1; ++p) {
        for (; left % p == 0; left /= p) to[static_cast<std::size_t>(dice_.below(last))] *= p;
      }
    }
    return to;
  }

  void creation(std::string_view op) {
    const Extents x = shape(1, 3);
    if (op == "constant_of_shape") {
      set("shape", x);
    } else if (op == "constant") {
      set("shape", Extents{2});
      set("reals", std::vector<double>{1, 2});
    } else if (op == "range") {
      set("limit", 4.0);
    } else if (op == "one_hot") {
      const std::int64_t depth = extent();
      indices(x, depth);
      input({2});
      set("depth", depth);
      set("axis", axis(x.size() + 1));
    } else if (op == "topk") {
      const std::int64_t at = axis(x.size());
      input(x);
      set("axis", at);
      set("k",
          dice_.between(
              1,
              x[static_cast<std::size_t>(at < 0 ? at + static_cast<std::int64_t>(x.size()) : at)]));
      made_.outputs = 2;
    } else if (op == "eye_like") {
      input({extent(), extent()});
    } else {
      input(x);
    }
  }

  Dice& dice_;
  OpCase made_;
};

}  // namespace

OpCase random_call(Dice& dice, std::string_view op) { return Maker(dice, op).run(); }

std::vector<std::string_view> ops_with_loops() {
  std::vector<std::string_view> names;
  for (const graph::OpRule& rule : graph::all_ops()) {
    if (rule.name != "opaque") names.push_back(rule.name);
  }
  return names;
}

}  // namespace tessera::test
