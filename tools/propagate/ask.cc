// SPDX-License-Identifier: Apache-2.0
#include "tools/propagate/ask.h"

#include <algorithm>
#include <istream>
#include <utility>

#include "tessera/base/read_real.h"
#include "tessera/base/text.h"
#include "tools/command/usage.h"
#include "tools/propagate/one_mesh.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// Written for an input that is left out, and for an output without a layout.
constexpr std::string_view kAbsent = "_";

Result<graph::Op> op_of(const std::string& name) {
  if (const std::optional<graph::Op> op = graph::Op::find(name)) return *op;
  std::vector<std::string_view> names;
  std::string longer;  // names of which this is a part: reduce_sum for sum
  for (const graph::OpRule& rule : graph::all_ops()) {
    names.push_back(rule.name);
    if (name.size() < 3 || rule.name.find(name) == std::string_view::npos) continue;
    longer += cat(longer.empty() ? "did you mean " : ", ", rule.name);
  }
  return Error{
      ErrorCode::kUnknownName, cat("there is no op ", quote(name)), std::nullopt,
      longer.empty() ? did_you_mean(name, names, "docs/ops.md lists the ops") : longer + "?"};
}

Result<std::vector<double>> parse_reals(std::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  std::vector<double> list;
  while (!text.empty()) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    double number = 0;
    const auto [end, error] = read_real(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) {
      return Error{ErrorCode::kBadNumber, cat(quote(text), " is not a number"), std::nullopt,
                   "write it as 0.5 or 1e-5"};
    }
    list.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (text.empty()) break;
    if (text.front() != ',') {
      return Error{ErrorCode::kBadNumber, cat("expected ',' between numbers, found ", quote(text)),
                   std::nullopt, "write a list as [1, 2]"};
    }
    text.remove_prefix(1);
  }
  return list;
}

Result<graph::Attribute> attribute_value(graph::AttributeKind kind, std::string_view text) {
  switch (kind) {
    case graph::AttributeKind::kInteger: {
      if (text == "true" || text == "false") return graph::Attribute(std::int64_t{text == "true"});
      TESSERA_TRY(const std::int64_t number, parse_number(text));
      return graph::Attribute(number);
    }
    case graph::AttributeKind::kIntegers: {
      TESSERA_TRY(std::vector<std::int64_t> list, parse_numbers(text));
      return graph::Attribute(std::move(list));
    }
    case graph::AttributeKind::kReal: {
      TESSERA_TRY(const std::vector<double> list, parse_reals(text));
      if (list.size() == 1) return graph::Attribute(list.front());
      return Error{ErrorCode::kBadNumber, cat(quote(text), " is not one number"), std::nullopt,
                   "write it as 0.5 or 1e-5"};
    }
    case graph::AttributeKind::kReals: {
      TESSERA_TRY(std::vector<double> list, parse_reals(text));
      return graph::Attribute(std::move(list));
    }
    case graph::AttributeKind::kText:
      break;
  }
  return graph::Attribute(std::string(text));
}

Result<graph::Attributes> attributes_of(graph::Op op, const std::vector<std::string>& texts) {
  graph::Attributes attributes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return usage(cat("--attr ", quote(text), " has no value"), "write NAME=VALUE: --attr axis=1");
    }
    const std::string name = text.substr(0, equals);
    const std::vector<graph::AttributeRule>& rules = op.rule().attributes;
    const auto rule = std::ranges::find(rules, name, &graph::AttributeRule::name);
    if (rule == rules.end()) {
      std::vector<std::string_view> names;
      std::string all;
      for (const graph::AttributeRule& each : rules) {
        names.push_back(each.name);
        all += cat(all.empty() ? "" : ", ", each.name);
      }
      return Error{ErrorCode::kUnknownName,
                   cat("op ", op.name(), " has no attribute ", quote(name)), std::nullopt,
                   did_you_mean(name, names,
                                all.empty() ? cat(op.name(), " has no attributes")
                                            : cat("its attributes are: ", all))};
    }
    if (attributes.find(name) != nullptr) {
      return usage(cat("attribute ", name, " is given twice"), "give it once");
    }
    Result<graph::Attribute> value = attribute_value(rule->kind, text.substr(equals + 1));
    if (!value) {
      Error error = value.error();
      error.message =
          cat("--attr ", name, ", which is ", graph::kind_text(rule->kind), ": ", error.message);
      return error;
    }
    attributes.set(name, *std::move(value));
  }
  return attributes;
}

/// "32x64xf32", or "tensor<32x64xf32>".
Result<graph::TensorType> bare_type(std::string_view text) {
  const auto bad = [&] {
    return Error{ErrorCode::kSyntax, cat(quote(text), " is neither a tensor nor a type"),
                 std::nullopt, "such as 'tensor<32x64xf32, pyflame.Grid(4, 4)>', or 32x64xf32"};
  };
  std::string_view rest = text;
  if (rest.starts_with("tensor<") && rest.ends_with('>')) rest = rest.substr(7, rest.size() - 8);
  const std::size_t last = rest.rfind('x');
  const std::string_view dtype_text = last == std::string_view::npos ? rest : rest.substr(last + 1);
  const std::optional<DType> dtype = parse_dtype(dtype_text);
  if (!dtype) return bad();
  std::vector<std::int64_t> extents;
  rest = last == std::string_view::npos ? std::string_view() : rest.substr(0, last + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('x');
    const Result<std::int64_t> extent = parse_number(rest.substr(0, end));
    if (!extent) return bad();
    extents.push_back(*extent);
    rest.remove_prefix(end + 1);
  }
  TESSERA_TRY(Shape shape, Shape::make(std::move(extents)));
  return graph::TensorType{std::move(shape), *dtype};
}

/// The operand of a text; empty for "_".
Result<std::optional<Operand>> operand_of(const std::string& text) {
  if (text == kAbsent) return std::optional<Operand>();
  if (!text.starts_with("tensor<") || text.find(',') == std::string::npos) {
    TESSERA_TRY(graph::TensorType type, bare_type(text));
    return std::optional<Operand>(Operand{std::move(type), std::nullopt, std::nullopt});
  }
  TESSERA_TRY(Tensor tensor, parse_tensor(text));
  graph::TensorType type{tensor.shape(), tensor.dtype()};
  return std::optional<Operand>(Operand{std::move(type), std::move(tensor), std::nullopt});
}

bool read_operands(const Request& request, std::string_view flag, std::istream& in,
                   std::vector<std::optional<Operand>>& operands, Failure& failure) {
  for (const std::string& argument : request.texts(flag)) {
    Result<std::string> text = text_of(argument, in);
    Result<std::optional<Operand>> operand =
        text ? operand_of(*text) : Result<std::optional<Operand>>(text.error());
    if (!operand) {
      failure = {operand.error(), text ? *text : ""};
      failure.error.message = cat(flag, "put ", operands.size(), ": ", failure.error.message);
      return false;
    }
    operands.push_back(*std::move(operand));
  }
  return true;
}

/// How many outputs a call has.
Result<std::size_t> count_outputs(const Request& request, const Asked& asked) {
  const graph::Arity arity = asked.op.rule().outputs;
  if (request.has("outputs")) {
    const std::int64_t number = request.number("outputs");
    if (number < static_cast<std::int64_t>(arity.least) ||
        static_cast<std::uint64_t>(number) > arity.most || number > 4096) {
      return usage(cat("op ", asked.op.name(), " has no ", number, " outputs"),
                   cat("it has at least ", arity.least,
                       arity.most == graph::kAnyNumber ? "" : cat(" and at most ", arity.most)));
    }
    return static_cast<std::size_t>(number);
  }
  const graph::Attribute* const sizes = asked.attributes.find("sizes");
  const auto* list = sizes == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(sizes);
  if (arity.most != arity.least && list != nullptr) return list->size();
  return std::clamp(asked.outputs.size(), arity.least, arity.most);
}

/// Without inputs: those with which the output has the type that was asked, where only one choice
/// is natural: all are like the output.
Status derive_inputs(Asked& asked) {
  const graph::OpRule& rule = asked.op.rule();
  const auto given =
      std::ranges::find_if(asked.outputs, [](const auto& o) { return o.has_value(); });
  const bool follows = rule.inputs.least == 1 || rule.family == graph::Family::kElementwise;
  if (given != asked.outputs.end() && follows) {
    asked.inputs.assign(rule.inputs.least, Operand{(*given)->type, std::nullopt, std::nullopt});
    const std::vector<const graph::TensorType*> types = asked.input_types();
    const Result<graph::Types> made = graph::infer(asked.call(types));
    const auto o = static_cast<std::size_t>(given - asked.outputs.begin());
    if (made && o < made->size() && (*made)[o] == (*given)->type) return ok_status();
    asked.inputs.clear();
  }
  if (rule.inputs.most == 0) return ok_status();
  return usage(cat("the types of the inputs of ", rule.name, " do not follow from the output"),
               "give one --in for each input; a type such as 32x64xf32 will do, without a layout");
}

Status check_types(Asked& asked) {
  const std::vector<const graph::TensorType*> types = asked.input_types();
  TESSERA_TRY(asked.output_types, graph::infer(asked.call(types)));
  asked.outputs.resize(asked.output_types.size());
  for (std::size_t o = 0; o < asked.outputs.size(); ++o) {
    if (!asked.outputs[o]) continue;
    const graph::TensorType& found = asked.outputs[o]->type;
    const graph::TensorType& expected = asked.output_types[o];
    if (found == expected) continue;
    return Error{found.shape == expected.shape ? ErrorCode::kBadDType : ErrorCode::kShapeMismatch,
                 cat("output ", o, " of ", asked.op.name(), " is ", expected.to_string(),
                     ", but --out is ", found.to_string()),
                 std::nullopt, cat("expected ", expected.to_string())};
  }
  return ok_status();
}

Status read_rest(const Request& request, bool own_meshes, Asked& asked) {
  TESSERA_TRY(asked.attributes, attributes_of(asked.op, request.texts("attr")));
  TESSERA_TRY(const std::size_t outputs, count_outputs(request, asked));
  if (asked.outputs.size() > outputs) {
    return usage(cat("--out is given ", asked.outputs.size(), " times, but ", asked.op.name(),
                     " has ", count_of(static_cast<std::int64_t>(outputs), "output")),
                 "give one --out for each output, or _ for one without a layout");
  }
  asked.outputs.resize(outputs);
  if (asked.inputs.empty()) TESSERA_CHECK_OK(derive_inputs(asked));
  TESSERA_CHECK_OK(check_types(asked));
  std::vector<const Tensor*> tensors;
  std::vector<Operand*> owners;
  for (auto* list : {&asked.inputs, &asked.outputs}) {
    for (std::optional<Operand>& operand : *list) {
      if (!operand || !operand->tensor) continue;
      tensors.push_back(&*operand->tensor);
      owners.push_back(&*operand);
    }
  }
  if (tensors.empty()) {
    return usage("no operand has a layout",
                 "give at least one tensor with a layout: --in 'tensor<32x64xf32, "
                 "pyflame.Grid(4, 4)>'");
  }
  asked.notation = tensors.front()->notation;
  TESSERA_TRY(std::vector<Layout> layouts,
              own_meshes ? on_own_meshes(tensors) : on_one_mesh(tensors));
  for (std::size_t i = 0; i < layouts.size(); ++i) owners[i]->layout = std::move(layouts[i]);
  return ok_status();
}

}  // namespace

std::vector<const graph::TensorType*> Asked::input_types() const {
  std::vector<const graph::TensorType*> types;
  for (const std::optional<Operand>& input : inputs) {
    types.push_back(input ? &input->type : nullptr);
  }
  return types;
}

graph::Call Asked::call(const std::vector<const graph::TensorType*>& types) const {
  return {op, types, attributes, outputs.size()};
}

std::optional<Asked> read_asked(const Request& request, bool own_meshes, std::istream& in,
                                Failure& failure) {
  Result<graph::Op> op = op_of(request.text("op"));
  if (!op) {
    failure = {op.error(), ""};
    return std::nullopt;
  }
  Asked asked{*op, {}, {}, {}, {}, ""};
  if (!read_operands(request, "in", in, asked.inputs, failure) ||
      !read_operands(request, "out", in, asked.outputs, failure)) {
    return std::nullopt;
  }
  if (const Status rest = read_rest(request, own_meshes, asked); !rest) {
    failure = {rest.error(), ""};
    failure.error.span.reset();  // there is no single text that it could refer to
    return std::nullopt;
  }
  return asked;
}

}  // namespace tessera::tools
