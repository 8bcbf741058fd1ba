// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/loops.h"

#include <algorithm>
#include <map>

#include "tessera/base/text.h"
#include "tessera/ops/rules/rules.h"

namespace tessera::ops {

std::string_view kind_name(FactorKind kind) {
  switch (kind) {
    case FactorKind::kPass:
      return "pass";
    case FactorKind::kReduce:
      return "reduce";
    case FactorKind::kWhole:
      return "whole";
  }
  return "";
}

DimAccess at(int factor, std::int64_t coef) { return {{Term{factor, coef}}, 0}; }

DimAccess operator+(DimAccess a, const DimAccess& b) {
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  a.start += b.start;
  return a;
}

DimAccess operator+(DimAccess a, std::int64_t start) {
  a.start += start;
  return a;
}

bool Access::has(int factor) const {
  return std::ranges::any_of(dims, [&](const DimAccess& dim) {
    return std::ranges::any_of(dim.terms, [&](const Term& term) { return term.dim == factor; });
  });
}

Index Access::index(const Index& iteration) const {
  Index index;
  for (const DimAccess& dim : dims) {
    std::int64_t x = dim.start;
    for (const Term& term : dim.terms) {
      x += term.coef * iteration[static_cast<std::size_t>(term.dim)];
    }
    index.push_back(x);
  }
  return index;
}

Result<Shape> Loops::iterations() const {
  std::vector<std::int64_t> extents;
  for (const Factor& factor : factors) extents.push_back(factor.extent);
  return Shape::make(std::move(extents));
}

namespace {

std::string text_of(const std::vector<Factor>& factors, const Access& access) {
  std::string text = "[";
  for (const DimAccess& dim : access.dims) {
    if (text.size() > 1) text += ", ";
    std::string sum;
    for (const Term& term : dim.terms) {
      if (!sum.empty()) sum += term.coef < 0 ? " - " : " + ";
      const std::int64_t size = sum.empty() || term.coef > 0 ? term.coef : -term.coef;
      if (size == -1) {
        sum += "-";
      } else if (size != 1) {
        sum += cat(size, "·");
      }
      sum += factors[static_cast<std::size_t>(term.dim)].name;
    }
    if (sum.empty()) {
      sum = cat(dim.start);
    } else if (dim.start != 0) {
      sum += dim.start < 0 ? cat(" - ", -dim.start) : cat(" + ", dim.start);
    }
    text += sum;
  }
  return text + "]";
}

}  // namespace

std::string Loops::to_string() const {
  std::string text;
  for (const std::optional<Access>& input : inputs) {
    text += text.empty() ? "(" : ", ";
    text += input ? text_of(factors, *input) : "absent";
  }
  text += text.empty() ? "()" : ")";
  const char* before = " -> ";
  for (const Access& output : outputs) {
    text += before + text_of(factors, output);
    before = ", ";
  }
  for (const Factor& factor : factors) {
    text += cat(", ", factor.name, "=", factor.extent);
    if (factor.kind == FactorKind::kWhole) text += " whole";
    if (factor.kind == FactorKind::kReduce) {
      text += cat(factor.masked ? " masked" : "", " reduce ", reduction_name(factor.reduction));
    }
  }
  return text;
}

namespace {

const std::map<std::string_view, rules::Rule>& all_rules() {
  static const std::map<std::string_view, rules::Rule> table = [] {
    std::map<std::string_view, rules::Rule> made;
    for (const auto& family :
         {rules::contraction_rules(), rules::reduction_rules(), rules::normalization_rules(),
          rules::window_rules(), rules::movement_rules(), rules::creation_rules()}) {
      for (const rules::Entry& entry : family) made.emplace(entry.op, entry.rule);
    }
    return made;
  }();
  return table;
}

}  // namespace

Result<Loops> loops_of(const graph::Call& call, const graph::Types& outputs) {
  const auto found = all_rules().find(call.op().name());
  const bool elementwise = call.op().rule().family == graph::Family::kElementwise;
  if (found == all_rules().end() && !elementwise) {
    return Error{ErrorCode::kNotSupported,
                 cat("op ", call.op().name(), " has no loops: what it reads is unknown"),
                 std::nullopt, "replace it by ops of the table (tessera graph --ops)"};
  }
  rules::Nest nest(call, outputs);
  (found != all_rules().end() ? found->second : rules::elementwise)(nest);
  return std::move(nest).take();
}

}  // namespace tessera::ops
