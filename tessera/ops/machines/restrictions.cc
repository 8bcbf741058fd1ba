// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/machines/restrictions.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/ops/machines/rules.h"

namespace tessera::ops {
namespace {

constexpr std::array<std::pair<MachineFamily, std::string_view>, 3> kFamilies = {
    {{MachineFamily::kTtnn, "ttnn"},
     {MachineFamily::kSpyre, "spyre"},
     {MachineFamily::kWafer, "wafer"}}};

Status check_side(std::string_view side, const std::vector<std::optional<Layout>>& layouts,
                  const std::vector<const graph::TensorType*>& types) {
  if (layouts.size() != types.size()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat(layouts.size(), " layouts for ", types.size(), " ", side, "s"), std::nullopt,
                 "one per operand, empty where none is known"};
  }
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (!layouts[i]) continue;
    const bool same = types[i] != nullptr && layouts[i]->shape() == types[i]->shape;
    if (same) continue;
    return Error{
        ErrorCode::kShapeMismatch,
        cat(side, " ", i, " has a layout of shape ", bracketed(layouts[i]->shape().extents()),
            ", expected ", types[i] == nullptr ? "none" : bracketed(types[i]->shape.extents())),
        std::nullopt, "give the layout of the operand"};
  }
  return ok_status();
}

}  // namespace

std::string_view family_name(MachineFamily family) {
  return std::ranges::find(kFamilies, family, [](const auto& row) { return row.first; })->second;
}

std::optional<MachineFamily> find_family(std::string_view name) {
  const auto found = std::ranges::find(kFamilies, name, [](const auto& row) { return row.second; });
  return found == kFamilies.end() ? std::nullopt : std::optional(found->first);
}

Result<Allowed> allowed_on(MachineFamily family, const graph::Call& call,
                           const graph::Types& outputs, const Operands& operands) {
  std::vector<const graph::TensorType*> inputs;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    inputs.push_back(call.has(i) ? &call.type(i) : nullptr);
  }
  TESSERA_CHECK_OK(check_side("input", operands.inputs, inputs));
  if (!operands.outputs.empty()) {
    std::vector<const graph::TensorType*> types;
    for (const graph::TensorType& type : outputs) types.push_back(&type);
    TESSERA_CHECK_OK(check_side("output", operands.outputs, types));
  }
  const machines::Asked asked{call, outputs, operands};
  switch (family) {
    case MachineFamily::kTtnn:
      return machines::on_ttnn(asked);
    case MachineFamily::kSpyre:
      return machines::on_spyre(asked);
    case MachineFamily::kWafer:
      return machines::on_wafer(asked);
  }
  return Allowed{};
}

namespace machines {

bool Asked::is_any(std::initializer_list<std::string_view> names) const {
  return std::ranges::find(names, call.op().name()) != names.end();
}

const Layout* Asked::in(std::size_t i) const {
  return i < operands.inputs.size() && operands.inputs[i] ? &*operands.inputs[i] : nullptr;
}

const Layout* Asked::out(std::size_t o) const {
  return o < operands.outputs.size() && operands.outputs[o] ? &*operands.outputs[o] : nullptr;
}

std::vector<Asked::Named> Asked::all() const {
  std::vector<Named> list;
  for (std::size_t i = 0; i < operands.inputs.size(); ++i) {
    if (in(i) != nullptr) list.push_back({cat("input ", i), in(i)});
  }
  for (std::size_t o = 0; o < operands.outputs.size(); ++o) {
    if (out(o) != nullptr) list.push_back({cat("output ", o), out(o)});
  }
  return list;
}

Allowed by(std::string_view rule) { return {true, std::string(rule), ""}; }

Allowed refused(std::string_view rule, std::string reason) {
  return {false, std::string(rule), std::move(reason)};
}

Allowed by_table(const Asked& asked, const std::vector<OpsRule>& table,
                 Allowed (*elementwise)(const Asked& asked),
                 Allowed (*reduction)(const Asked& asked)) {
  for (const OpsRule& row : table) {
    const bool applies = std::ranges::find(row.ops, asked.call.op().name()) != row.ops.end();
    if (applies) return row.rule(asked);
  }
  switch (asked.call.op().rule().family) {
    case graph::Family::kElementwise:
      return elementwise(asked);
    case graph::Family::kReduction:
      return reduction(asked);
    default:
      return by("any");
  }
}

std::vector<int> axes_of(const Layout& layout, std::size_t dim) {
  std::vector<int> axes;
  for (const Fold& fold : layout.form().folds) {
    const auto is_dim = [&](const Term& term) { return term.dim == static_cast<int>(dim); };
    if (std::ranges::none_of(fold.terms, is_dim)) continue;
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh() && cut.count > 1) axes.push_back(cut.target.axis());
    }
  }
  std::ranges::sort(axes);
  const auto rest = std::ranges::unique(axes);
  axes.erase(rest.begin(), rest.end());
  return axes;
}

bool is_divided(const Layout& layout, std::size_t dim) { return !axes_of(layout, dim).empty(); }

bool is_partial(const Layout& layout) {
  return std::ranges::any_of(layout.form().fills, [](const Fill& fill) {
    return fill.kind == Fill::Kind::kPartial && fill.count > 1;
  });
}

}  // namespace machines
}  // namespace tessera::ops
