// SPDX-License-Identifier: Apache-2.0
// Every schedule, carried out on the simulated fabric with data, against the cycles of its formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/schedules/schedule.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/process.h"
#include "tessera/testing/reshard/schedule_runs.h"

namespace tessera::reshard {
namespace {

using test::Dice;

/// Two layouts of one tensor on at most 12x12 places.
struct Case {
  std::string a;
  std::string b;
};

/// Draws layouts; one draw per statement, because the compiler orders arguments.
class Cases {
 public:
  explicit Cases(Dice& dice)
      : dice_(dice), rows_(dice.between(2, 12)), cols_(dice.between(2, 12)) {}

  Case draw() {
    Case made;
    switch (dice_.below(10)) {
      case 0:
        made = {grid(), grid()};
        break;
      case 1:
        made = {dice_.chance(50) ? grid() : cyclic(), cyclic()};
        break;
      case 2:
        made = transpose();
        break;
      case 3:
        made = {cat("RowPartition(", up_to(rows_), ")"), cat("ColPartition(", up_to(cols_), ")")};
        break;
      case 4:
        made = {dice_.chance(50) ? grid() : cyclic(), "SinglePE()"};
        break;
      case 5:
        made = {"SinglePE()", dice_.chance(50) ? shifted() : copies()};
        break;
      case 6:
        made = {dice_.chance(50) ? grid() : cyclic(), copies()};
        break;
      case 7:
        made = {shifted(), shifted()};
        break;
      case 8:
        made = {copies(), grid()};
        break;
      default:
        made = {shares(), dice_.chance(50) ? grid() : copies()};
        break;
    }
    const std::int64_t most = dice_.chance(50) ? 25 : 60;
    const std::int64_t extent = dice_.between(3, most);
    const std::int64_t other = dice_.between(3, most);
    const std::string type = std::array{"f32", "bf16", "i8", "f64"}[dice_.below(4)];
    made.a = cat("tensor<", extent, "x", other, "x", type, ", pyflame.", made.a, ">");
    made.b = cat("tensor<", extent, "x", other, "x", type, ", pyflame.", made.b, ">");
    return made;
  }

  /// Partial sums along rows, columns or both, to anything.
  Case draw_reduction() {
    Case made{shares(), ""};
    switch (dice_.below(4)) {
      case 0:
        made.b = grid();
        break;
      case 1:
        made.b = copies();
        break;
      case 2:
        made.b = shifted();
        break;
      default:
        made.b = "SinglePE()";
        break;
    }
    const std::int64_t extent = dice_.between(1, 40);
    const std::int64_t other = dice_.between(1, 40);
    const std::string type = std::array{"f32", "bf16"}[dice_.below(2)];
    made.a = cat("tensor<", extent, "x", other, "x", type, ", pyflame.", made.a, ">");
    made.b = cat("tensor<", extent, "x", other, "x", type, ", pyflame.", made.b, ">");
    return made;
  }

 private:
  std::int64_t up_to(std::int64_t most) {
    return dice_.between(2, std::max<std::int64_t>(2, most));
  }
  std::string sizes() {
    const std::int64_t r = up_to(rows_);
    const std::int64_t c = up_to(cols_);
    return cat(r, ", ", c);
  }
  std::string grid() { return cat("Grid(", sizes(), ")"); }
  std::string cyclic() {
    const std::string places = sizes();
    const std::int64_t block_rows = dice_.between(1, 4);
    const std::int64_t block_cols = dice_.between(1, 4);
    return cat("BlockCyclic(", places, ", ", block_rows, ", ", block_cols, ")");
  }
  std::string shifted() {
    const std::int64_t r = dice_.between(1, rows_ / 2 + 1);
    const std::int64_t c = dice_.between(1, cols_ / 2 + 1);
    const std::int64_t first_row = dice_.below(rows_ - r + 1);
    const std::int64_t first_col = dice_.below(cols_ - c + 1);
    return cat("Grid(", r, ", ", c, ", origin=(", first_row, ", ", first_col, "))");
  }
  std::string copies() {
    const std::string size = cat("Grid(", sizes());
    switch (dice_.below(3)) {
      case 0:
        return size + ", replicate=[0], dim_to_pe=[-1, 1])";
      case 1:
        return size + ", replicate=[1], dim_to_pe=[0, -1])";
      default:
        return size + ", replicate=[0, 1], dim_to_pe=[-1, -1])";
    }
  }
  std::string shares() {
    const std::string size = cat("Grid(", sizes());
    switch (dice_.below(3)) {
      case 0:
        return size + ", partial=[0:sum], dim_to_pe=[-1, 1])";
      case 1:
        return size + ", partial=[1:sum], dim_to_pe=[0, -1])";
      default:
        return size + ", partial=[0:sum, 1:sum], dim_to_pe=[-1, -1])";
    }
  }
  Case transpose() {
    const std::int64_t r = up_to(std::min(rows_, cols_));
    const std::int64_t c = up_to(std::min(rows_, cols_));
    return {cat("Grid(", r, ", ", c, ")"), cat("Grid(", c, ", ", r, ", dim_to_pe=[1, 0])")};
  }

  Dice& dice_;
  std::int64_t rows_;
  std::int64_t cols_;
};

/// (simulated - formula) / simulated, for many reshards.
struct Errors {
  std::vector<double> list;
  std::string worst;
  double at(double share) const {
    std::vector<double> sizes;
    for (const double error : list) sizes.push_back(std::abs(error));
    std::sort(sizes.begin(), sizes.end());
    return sizes[static_cast<std::size_t>(share * static_cast<double>(sizes.size() - 1))];
  }
  double most_above() const { return *std::max_element(list.begin(), list.end()); }
  double most_below() const { return *std::min_element(list.begin(), list.end()); }
  /// The line of the table in docs/reshard.md.
  std::string line(const std::string& name) const {
    char text[96];
    std::snprintf(text, sizeof text, " | %zu | %.1f | %.1f | %.1f | %.1f |", list.size(),
                  100 * at(0.5), 100 * at(0.9), 100 * most_below(), 100 * most_above());
    return cat("| `", name, "`", text);
  }
};

class Comparison {
 public:
  void add(const Case& made, std::int64_t colours) {
    const Result<Tensor> a = parse_tensor(made.a);
    const Result<Tensor> b = parse_tensor(made.b);
    ASSERT_TRUE(a.ok() && b.ok()) << made.a << " " << made.b;
    Result<PhysicalMesh> physical = PhysicalMesh::around(a->placement, b->placement);
    ASSERT_TRUE(physical.ok());
    physical->fabric->colours = colours;
    const Result<Reshard> reshard = Reshard::make(a->placement, b->placement, *physical);
    ASSERT_TRUE(reshard.ok());
    const Result<Schedules> schedules = schedules_of(*reshard);
    ASSERT_TRUE(schedules.ok()) << schedules.error().message;
    for (const ScheduleCost& cost : schedules->costs) {
      const std::string name =
          cost.reduction ? std::string(reduction_schedule_name(*cost.reduction)) : cost.move;
      const test::ScheduleRun run = test::run_schedule(*reshard, cost);
      ASSERT_EQ(run.mistake, "") << cost.name() << ": " << made.a << " -> " << made.b;
      ASSERT_EQ(run.rounds, cost.rounds()) << cost.name() << ": " << made.a << " -> " << made.b;
      Errors& errors = found[name];
      const double error =
          static_cast<double>(run.cycles - cost.cycles) / static_cast<double>(run.cycles);
      const bool is_worst = errors.list.empty() ||
                            std::abs(error) > std::max(errors.most_above(), -errors.most_below());
      errors.list.push_back(error);
      if (is_worst) {
        errors.worst = cat(made.a, " -> ", made.b, " with ", colours, " colours: ", run.cycles,
                           " cycles, the formula has ", cost.cycles);
      }
    }
  }

  std::map<std::string, Errors> found;
};

bool page_has(const std::string& line) {
  std::ifstream page("docs/reshard.md");
  std::string read;
  while (std::getline(page, read)) {
    if (read == line) return true;
  }
  return false;
}

TEST(Schedules, TakeTheCyclesOfTheirFormulas) {
  Comparison comparison;
  const std::uint64_t cases = test::kSanitized ? 40 : 960;
  for (std::uint64_t seed = 1; seed <= cases && !::testing::Test::HasFatalFailure(); ++seed) {
    Dice dice(seed);
    Cases draw(dice);
    const Case made = seed % 2 == 0 ? draw.draw() : draw.draw_reduction();
    comparison.add(made, seed % 3 == 0 ? 7 : 21);
  }
  for (const auto& [name, errors] : comparison.found) {
    std::printf("%s\n    %s\n", errors.line(name).c_str(), errors.worst.c_str());
    if (test::kSanitized) continue;
    EXPECT_GE(errors.list.size(), 300u) << name;
    EXPECT_LT(errors.at(0.5), 0.05) << name;
    EXPECT_LT(errors.at(0.9), 0.15) << name;
    EXPECT_TRUE(page_has(errors.line(name))) << errors.line(name);
  }
  EXPECT_EQ(comparison.found.size(), 8u);
}

}  // namespace
}  // namespace tessera::reshard
