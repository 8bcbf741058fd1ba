// SPDX-License-Identifier: Apache-2.0
//
// docs/costs.md: everyday moves on every machine that has the memories for them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/everyday_moves.h"
#include "tessera/base/text.h"
#include "tessera/moves/price.h"
#include "tessera/notation/same_places.h"
#include "tessera/notation/tensor.h"
#include "tessera/notation/tensor_fit.h"
#include "tessera/testing/pages/generated_page.h"
#include "tessera/testing/pages/line_chart.h"

namespace tessera::moves {
namespace {

Result<Move> priced(const MoveModel& model, const bench::EverydayMove& move) {
  TESSERA_TRY(const Tensor a, parse_tensor(move.a));
  TESSERA_TRY(const Tensor b, parse_tensor(move.b));
  TESSERA_TRY(const SamePlaces places, same_places(a, b, true));
  return model.price({places.a, move.space_a, notation::spread_of(a)},
                     {places.b, move.space_b, notation::spread_of(b)});
}

/// "12.3 us: read, memory".
std::string cell(const MoveModel& model, const bench::EverydayMove& everyday) {
  const Result<Move> move = priced(model, everyday);
  if (!move) {
    ADD_FAILURE() << everyday.name << " on " << model.machine().name << ": "
                  << move.error().message;
    return "";
  }
  if (!move->seconds) return cat("not known: ", move->missing.empty() ? "" : move->missing.front());
  std::string how;
  const Step* longest = nullptr;
  for (const Step& step : move->steps) {
    if (!step.algorithm.empty()) how += cat(how.empty() ? "" : ", ", step.algorithm);
    if (longest == nullptr || *step.seconds > *longest->seconds) longest = &step;
  }
  const std::string term = longest == nullptr ? "nothing moves" : longest->dominated_by;
  return cat(test::short_seconds(*move->seconds), " (", how.empty() ? "" : cat(how, "; "), term,
             ")");
}

std::string table(const bench::MachineFamily& family) {
  std::string text = "| move | ";
  std::string rule = "|---|";
  std::vector<MoveModel> models;
  for (const std::string_view name : family.machines) {
    const Result<const Machine*> machine = find_machine(name);
    EXPECT_TRUE(machine.ok()) << name;
    if (!machine) return "";
    const Result<MoveModel> model = MoveModel::make(**machine);
    EXPECT_TRUE(model.ok()) << name;
    if (!model) return "";
    models.push_back(*model);
    text += cat(name, " | ");
    rule += "---|";
  }
  text += cat("\n", rule, "\n");
  std::vector<std::vector<bench::EverydayMove>> moves;
  for (const MoveModel& model : models) {
    moves.push_back(bench::everyday_moves(model.machine().name));
    EXPECT_EQ(moves.back().size(), 20U) << model.machine().name;
    EXPECT_EQ(moves.back().size(), moves.front().size());
  }
  for (std::size_t row = 0; row < moves.front().size(); ++row) {
    text += cat("| ", moves.front()[row].name, " | ");
    for (std::size_t i = 0; i < models.size(); ++i) {
      EXPECT_EQ(moves[i][row].name, moves.front()[row].name);
      text += cat(cell(models[i], moves[i][row]), " | ");
    }
    text += "\n";
  }
  return text;
}

TEST(CostsPage, HasTheMovesOfEveryMachine) {
  std::vector<test::PagePart> parts;
  std::size_t machines = 0;
  for (const bench::MachineFamily& family : bench::machine_families()) {
    parts.push_back({std::string(family.name), table(family)});
    machines += family.machines.size();
  }
  EXPECT_EQ(machines, target::machines().size());
  EXPECT_EQ(test::page_mistake("docs/costs.md", parts), "");
}

}  // namespace
}  // namespace tessera::moves
