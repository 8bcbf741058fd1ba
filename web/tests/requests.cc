// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/models/models.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/registry.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/testing/notation/random_texts.h"
#include "tools/command/run.h"
#include "tools/json/json.h"
#include "tools/plan/plan_file.h"
#include "tools/targets/read_target.h"

/// Prints random requests with the answers of the command, one per line: verb, request, answer, and
/// standard input, with tabs between them. web/tests/answers.mjs asks the module the same.
///
///     web_requests LAYOUTS PAIRS
namespace tessera::test {
namespace {

void ask(const std::string& name, const Json& request, const std::string& input = "") {
  const Result<const tools::Verb*> verb = tools::find_verb(name);
  if (!verb) std::exit(2);
  std::istringstream in(input);
  std::ostringstream answer;
  const std::string line = dump(request);
  tools::answer_request(**verb, line, in, answer);
  std::string text = answer.str();
  if (text.ends_with('\n')) text.pop_back();
  std::cout << name << '\t' << line << '\t' << text << '\t' << input << '\n';
}

Json numbers(const std::vector<std::int64_t>& list) { return Json(list); }

/// A text with one character less, more or changed; often no tensor any more.
std::string damaged(std::string text, Dice& dice) {
  const auto at = static_cast<std::size_t>(dice.below(std::ssize(text)));
  constexpr std::string_view kSigns = "0179,<>[](){}x:=*- ";
  const char sign = kSigns[static_cast<std::size_t>(dice.below(std::ssize(kSigns)))];
  switch (dice.below(3)) {
    case 0:
      text.erase(at, 1);
      break;
    case 1:
      text.insert(at, 1, sign);
      break;
    default:
      text[at] = sign;
  }
  return text;
}

void ask_about(const std::string& text, const Placement& placement, Dice& dice) {
  ask("show", {{"tensor", text}});
  const Shape& shape = placement.shape();
  if (!shape.empty()) {
    Index index;
    std::vector<std::int64_t> counts;
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      index.push_back(dice.below(shape[dim]));
      counts.push_back(shape[dim] - index.back());
    }
    ask("locate", {{"tensor", text}, {"index", numbers(index)}, {"physical", true}});
    ask("locate", {{"tensor", text}, {"from", numbers(index)}, {"counts", numbers(counts)}});
  }
  const std::int64_t slot = placement.slots() > 0 ? dice.below(placement.slots()) : 0;
  const Place place(placement.mesh().rank(), 0);
  ask("locate", {{"tensor", text},
                 {"place", numbers(place)},
                 {"slot", slot},
                 {"count", placement.slots() - slot}});
  ask("locate", {{"tensor", text}, {"classes", true}});
  for (const notation::Notation& notation : notation::notations()) {
    ask("convert", {{"tensor", text}, {"to", notation.name}});
  }
}

void ask_about_pair(const std::string& a, const std::string& b) {
  ask("diff", {{"a", a}, {"b", b}});
  ask("relayout", {{"a", a}, {"b", b}, {"dry-run", true}});
  ask("reshard", {{"a", a}, {"b", b}, {"pairs", true}, {"heat", true}});
  ask("reshard", {{"a", a}, {"b", b}, {"target", "wormhole"}});
  ask("reshard", {{"a", a}, {"b", b}, {"target", "wse2"}, {"simulate", "never"}});
}

/// Other layouts for values of a plan.
void ask_prices(std::int64_t count) {
  const Result<graph::Graph> graph = graph::make_model("mlp", {});
  const Result<Machine> machine = tools::read_target("wse2");
  if (!graph || !machine) std::exit(4);
  plan::PlanOptions options;
  options.most_work = 3;
  options.most_layouts = 3;
  const Result<plan::ModelPlan> plan = plan::plan_model(*graph, *machine, options);
  if (!plan) std::exit(5);
  std::string file = tools::plan_json(*plan, *graph, *machine);
  if (file.ends_with('\n')) file.pop_back();
  for (std::int64_t i = 0; i < count; ++i) {
    Dice dice(static_cast<std::uint64_t>(i) + 1);
    Json lines = Json::array();
    for (std::int64_t n = dice.between(1, 3); n > 0; --n) {
      const auto v = static_cast<std::size_t>(dice.below(std::ssize(graph->values)));
      lines.push_back(cat(graph->values[v].name, ": pyflame.Grid(", dice.between(1, 16), ", ",
                          dice.between(1, 16), ")"));
    }
    ask("price", {{"plan", "-"}, {"layout", lines}, {"divide", dice.chance(50)}}, file);
  }
}

void print_all(std::int64_t layouts, std::int64_t pairs) {
  std::map<std::vector<std::int64_t>, std::vector<std::string>> by_shape;
  const auto& notations = notation::notations();
  for (std::int64_t i = 0; i < layouts; ++i) {
    Dice dice(static_cast<std::uint64_t>(i) + 1);
    const auto which = static_cast<std::size_t>(i % std::ssize(notations));
    const std::string text = random_text(notations[which].name, dice);
    const Result<Tensor> tensor = parse_tensor(text);
    if (!tensor) std::exit(3);
    ask_about(text, tensor->placement, dice);
    ask("show", {{"tensor", damaged(text, dice)}});
    by_shape[tensor->placement.shape().extents()].push_back(text);
  }
  ask("targets", Json::object());
  ask_prices(std::min<std::int64_t>(layouts, 60));
  Json operands = Json::array();
  operands.push_back("tensor<8x16xf32, pyflame.Grid(2, 2)>");
  operands.push_back("16x8xf32");
  ask("propagate", {{"op", "matmul"}, {"in", operands}});
  std::int64_t left = pairs;
  for (std::size_t far = 1; left > 0 && far < 50; ++far) {
    for (const auto& [shape, texts] : by_shape) {
      if (texts.size() <= far) continue;
      for (std::size_t i = 0; i + far < texts.size() && left > 0; i += 7, --left) {
        ask_about_pair(texts[i], texts[i + far]);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  tessera::test::print_all(std::atoll(argv[1]), std::atoll(argv[2]));
  return 0;
}
