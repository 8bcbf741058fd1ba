// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/plan/choose/solve.h"
#include "tessera/plan/choose/validate.h"
#include "tessera/testing/plan/naive_choose.h"

/// The solver against CBC, an integer programming solver (Debian package coinor-cbc), on problems
/// that are too large to try all choices.
namespace tessera::choose {
namespace {

constexpr int kProblems = 200;
constexpr std::size_t kLeastNodes = 20;

bool has_cbc() {
  return std::system("cbc -quit > /dev/null 2>&1") == 0;  // NOLINT(cert-env33-c)
}

std::string variable(char kind, std::size_t index, std::size_t k) {
  return cat(kind, index, "_", k);
}

/// A problem as an integer program: x<node>_<strategy> is 1 for the chosen strategy, and
/// y<edge>_<pair> for the chosen pair of strategies.
std::string program_of(const Problem& problem) {
  std::string cost;
  std::string rows;
  std::string bounds;
  std::string binaries;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const Node& node = problem.nodes[i];
    for (std::size_t k = 0; k < node.costs.size(); ++k) {
      const std::string x = variable('x', i, k);
      rows += cat(" + ", x, "\n");
      binaries += cat(" ", x, "\n");
      if (node.costs[k] >= kForbidden) {
        bounds += cat(" ", x, " = 0\n");
      } else {
        cost += cat(" + ", node.costs[k], " ", x, "\n");
      }
    }
    rows += " = 1\n";
  }
  for (std::size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge& edge = problem.edges[e];
    const std::size_t width = problem.nodes[edge.b].costs.size();
    const std::size_t height = problem.nodes[edge.a].costs.size();
    for (std::size_t k = 0; k < height; ++k) {
      for (std::size_t l = 0; l < width; ++l) rows += cat(" + ", variable('y', e, k * width + l));
      rows += cat(" - ", variable('x', edge.a, k), " = 0\n");
    }
    for (std::size_t l = 0; l < width; ++l) {
      for (std::size_t k = 0; k < height; ++k) rows += cat(" + ", variable('y', e, k * width + l));
      rows += cat(" - ", variable('x', edge.b, l), " = 0\n");
    }
    for (std::size_t k = 0; k < edge.costs.size(); ++k) {
      if (edge.costs[k] >= kForbidden) {
        bounds += cat(" ", variable('y', e, k), " = 0\n");
      } else {
        cost += cat(" + ", edge.costs[k], " ", variable('y', e, k), "\n");
      }
    }
  }
  for (const Node& at : problem.nodes) {  // usage is largest where some life begins
    if (!problem.usage_limit || at.life.from >= at.life.to) continue;
    std::string row;
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      const Node& node = problem.nodes[i];
      if (at.life.from < node.life.from || at.life.from >= node.life.to) continue;
      for (std::size_t k = 0; k < node.usages.size(); ++k) {
        row += cat(" + ", node.usages[k], " ", variable('x', i, k), "\n");
      }
    }
    rows += cat(row, " <= ", *problem.usage_limit, "\n");
  }
  return cat("Minimize\n", cost, "Subject To\n", rows, "Bounds\n", bounds, "Binaries\n", binaries,
             "End\n");
}

/// CBC in a temporary folder.
class Cbc {
 public:
  Cbc() {
    std::string name = (std::filesystem::temp_directory_path() / "tessera.XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~Cbc() {
    std::error_code left;
    std::filesystem::remove_all(folder_, left);
  }
  Cbc(const Cbc&) = delete;
  Cbc& operator=(const Cbc&) = delete;

  struct Answer {
    bool is_infeasible = false;
    std::int64_t cost = 0;
  };
  /// Nothing where CBC gives another answer than an optimum or "infeasible".
  std::optional<Answer> solve(const Problem& problem) const {
    const std::string folder = folder_.string();
    std::ofstream(folder + "/p.lp") << program_of(problem);
    const std::string command = cat("cbc '", folder, "/p.lp' -ratio 0 -solve -solution '", folder,
                                    "/p.txt' > /dev/null 2>&1");
    if (std::system(command.c_str()) != 0) return std::nullopt;  // NOLINT(cert-env33-c)
    std::string line;
    std::ifstream solution(folder + "/p.txt");
    std::getline(solution, line);
    if (line.find("nfeasible") != std::string::npos) return Answer{true, 0};
    const std::string_view words = "objective value";
    const std::size_t at = line.find(words);
    if (!line.starts_with("Optimal") || at == std::string::npos) return std::nullopt;
    return Answer{false, std::llround(std::stod(line.substr(at + words.size())))};
  }

 private:
  std::filesystem::path folder_;
};

TEST(SolveCbc, AgreesOnTwoHundredProblemsOfMiddleSize) {
  if (!has_cbc()) GTEST_SKIP() << "coinor-cbc is not installed";
  const Cbc cbc;
  std::mt19937_64 random(24);
  int infeasible = 0;
  std::size_t nodes = 0;
  for (int k = 0; k < kProblems;) {
    test::ChoiceFamily family;
    family.most_nodes = 45;
    family.most_strategies = 5;
    family.most_cost = 100;
    family.forbidden = k % 4 == 0 ? 0.05 : 0;
    family.matchings = k % 4 == 0 ? 0.02 : 0;
    family.most_time = 20;
    const Problem problem = test::random_choice_problem(random, family);
    if (problem.nodes.size() < kLeastNodes) continue;
    ++k;
    nodes = std::max(nodes, problem.nodes.size());
    const std::optional<Cbc::Answer> expected = cbc.solve(problem);
    ASSERT_TRUE(expected) << "problem " << k;
    SolveOptions options;
    options.seconds = 1e6;
    options.rounds = 2000;
    options.threads = 1;
    const Solution solution = *choose::solve(problem, options);
    if (expected->is_infeasible) {
      ++infeasible;
      ASSERT_EQ(solution.outcome, Outcome::kInfeasible) << "problem " << k;
      continue;
    }
    ASSERT_EQ(solution.outcome, Outcome::kChosen) << "problem " << k;
    ASSERT_EQ(solution.cost, expected->cost) << "problem " << k;
    ASSERT_TRUE(solution.optimal) << "problem " << k;
    ASSERT_TRUE(validate(problem, solution.choices, {solution.cost, solution.lower_bound}).empty());
  }
  EXPECT_GT(infeasible, 5);
  EXPECT_LT(infeasible, 100);
  EXPECT_GT(nodes, 40U);
}

}  // namespace
}  // namespace tessera::choose
