// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/diff_plans.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/tensor.h"
#include "tools/files/text_file.h"
#include "tools/json/json.h"
#include "tools/plan/plan_file.h"
#include "tools/terminal/text.h"
#include "tools/terminal/times.h"

namespace tessera::tools {
namespace {

Result<Json> read_named(const std::string& name) {
  TESSERA_TRY(const std::string text, read_text_file(name, kMaxPlanBytes));
  Result<Json> json = parse_plan(text);
  if (json) return json;
  Error error = json.error();
  error.message = cat(quote(name), ": ", error.message);
  return error;
}

/// A text of the file; "" for anything else.
std::string text_at(const Json& json, std::string_view key) {
  const Json& value = json[key];
  return value.is_string() ? value.get<std::string>() : "";
}

std::optional<double> number_at(const Json& json, std::string_view key) {
  const Json& value = json[key];
  return value.kind_name() == "number" ? std::optional(value.get<double>()) : std::nullopt;
}

/// Whether two native texts are the same function in the same memory. Texts that cannot be read
/// are the same if they are equal.
bool is_same_layout(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const Result<Tensor> first = parse_tensor(a);
  const Result<Tensor> second = parse_tensor(b);
  if (!first || !second) return false;
  const Layout* const one = first->placement.layout();
  const Layout* const other = second->placement.layout();
  if (one == nullptr || other == nullptr || one->spec().space != other->spec().space) return false;
  const Result<Comparison> comparison = same_on_device(first->placement, second->placement);
  return comparison && comparison->equal;
}

/// What differs between two entries of a plan.
struct Difference {
  std::string name;
  std::string of_a;
  std::string of_b;
  std::optional<double> cycles_a = {};
  std::optional<double> cycles_b = {};
};

std::vector<Difference> values_apart(const Json& a, const Json& b) {
  std::map<std::string, std::string> layouts;
  for (const Json& value : b["values"]) layouts[text_at(value, "name")] = text_at(value, "layout");
  std::vector<Difference> list;
  for (const Json& value : a["values"]) {
    const std::string name = text_at(value, "name");
    const std::string layout = text_at(value, "layout");
    const auto other = layouts.find(name);
    if (other == layouts.end()) {
      list.push_back({name, layout, ""});
      continue;
    }
    if (!is_same_layout(layout, other->second)) list.push_back({name, layout, other->second});
    layouts.erase(other);
  }
  for (const auto& [name, layout] : layouts) list.push_back({name, "", layout});
  return list;
}

std::optional<double> cycles_of_op(const Json& op) {
  double sum = 0;
  for (const std::string_view phase : {"bring_cycles", "compute_cycles", "settle_cycles"}) {
    const std::optional<double> cycles = number_at(op, phase);
    if (!cycles) return std::nullopt;
    sum += *cycles;
  }
  return sum;
}

/// "i/32 on axis 0; x -> x where it is read by read".
std::string text_of_op(const Json& op) {
  std::string text = text_at(op, "divided");
  for (const Json& move : op["moves"]) {
    text += cat("; ", text_at(move, "from"), " -> ", text_at(move, "to"), " by ",
                text_at(move, "algorithm"));
  }
  return text;
}

std::vector<Difference> ops_apart(const Json& a, const Json& b) {
  std::vector<Difference> list;
  const Json& ops_a = a["ops"];
  const Json& ops_b = b["ops"];
  for (std::size_t k = 0; k < std::max(ops_a.size(), ops_b.size()); ++k) {
    const Json& one = ops_a[k];
    const Json& other = ops_b[k];
    const bool same = text_of_op(one) == text_of_op(other) && one["node"] == other["node"] &&
                      is_same_layout(text_at(one, "work"), text_at(other, "work"));
    if (same) continue;
    const std::string name = text_at(one.is_null() ? other : one, "name");
    list.push_back(
        {name, text_of_op(one), text_of_op(other), cycles_of_op(one), cycles_of_op(other)});
  }
  return list;
}

Json json_of(const std::vector<Difference>& list, bool with_cycles) {
  Json json = Json::array();
  for (const Difference& each : list) {
    Json item;
    item["name"] = each.name;
    item["a"] = each.of_a;
    item["b"] = each.of_b;
    if (with_cycles) {
      item["cycles_a"] = each.cycles_a;
      item["cycles_b"] = each.cycles_b;
    }
    json.push_back(std::move(item));
  }
  return json;
}

std::string text_of(const std::string& text) { return text.empty() ? "nothing" : printable(text); }

}  // namespace

Result<Verdict> diff_plans(const Request& request, Console& console) {
  TESSERA_TRY(const Json a, read_named(request.text("a")));
  TESSERA_TRY(const Json b, read_named(request.text("b")));
  const std::vector<Difference> values = values_apart(a, b);
  const std::vector<Difference> ops = ops_apart(a, b);
  const bool same_model = text_at(a["model"], "hash") == text_at(b["model"], "hash");
  const bool same_target = text_at(a["target"], "hash") == text_at(b["target"], "hash");
  const bool same_memory = a["buffers"] == b["buffers"];
  const bool equal = same_model && same_target && same_memory && values.empty() && ops.empty();
  const std::optional<double> cycles_a = number_at(a, "cycles");
  const std::optional<double> cycles_b = number_at(b, "cycles");
  if (console.json) {
    Json json;
    json["equal"] = equal;
    json["same_model"] = same_model;
    json["same_target"] = same_target;
    json["same_memory"] = same_memory;
    json["cycles_a"] = cycles_a;
    json["cycles_b"] = cycles_b;
    json["values"] = json_of(values, false);
    json["ops"] = json_of(ops, true);
    console.out << dump(json) << '\n';
    return equal ? Verdict::kYes : Verdict::kNo;
  }
  if (!same_model) console.out << "plans of different models\n";
  if (!same_target) {
    console.out << "plans for " << text_of(text_at(a["target"], "name")) << " and "
                << text_of(text_at(b["target"], "name")) << "\n";
  }
  console.out << "cycles: " << cycles_text(cycles_a) << " and " << cycles_text(cycles_b) << "\n";
  for (const Difference& each : values) {
    console.out << "value " << printable(each.name) << "\n  A: " << text_of(each.of_a)
                << "\n  B: " << text_of(each.of_b) << "\n";
  }
  for (const Difference& each : ops) {
    console.out << "op " << printable(each.name) << "\n  A: " << text_of(each.of_a) << ": "
                << cycles_text(each.cycles_a) << "\n  B: " << text_of(each.of_b) << ": "
                << cycles_text(each.cycles_b) << "\n";
  }
  if (equal) {
    console.out << "equal: the same layouts, work, moves and memory\n";
  } else if (!same_memory) {
    console.out << "buffers have other lifetimes, sizes or offsets\n";
  }
  return equal ? Verdict::kYes : Verdict::kNo;
}

}  // namespace tessera::tools
