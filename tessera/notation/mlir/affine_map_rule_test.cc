// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "tessera/base/text.h"
#include "tessera/notation/mlir/affine_map.h"
#include "tessera/testing/notation/rule_grid.h"

/// Affine maps against an evaluator of expression trees that knows nothing of our normal form.
namespace tessera::notation {
namespace {

using test::all_tuples;
using test::Dice;
using test::Numbers;

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

struct Expression;
using Node = std::shared_ptr<const Expression>;

struct Expression {
  enum class Kind { kDim, kConstant, kAdd, kSubtract, kTimes, kFloorDiv, kCeilDiv, kMod, kNegate };
  Kind kind = Kind::kConstant;
  std::int64_t number = 0;  // of a dim, a constant, a factor or a divisor
  Node left = nullptr;
  Node right = nullptr;

  std::int64_t at(const Numbers& x) const {
    switch (kind) {
      case Kind::kDim:
        return x[static_cast<std::size_t>(number)];
      case Kind::kConstant:
        return number;
      case Kind::kAdd:
        return left->at(x) + right->at(x);
      case Kind::kSubtract:
        return left->at(x) - right->at(x);
      case Kind::kTimes:
        return left->at(x) * number;
      case Kind::kFloorDiv:
        return floor_divide(left->at(x), number);
      case Kind::kCeilDiv:
        return -floor_divide(-left->at(x), number);
      case Kind::kMod:
        return left->at(x) - number * floor_divide(left->at(x), number);
      case Kind::kNegate:
        return -left->at(x);
    }
    return 0;
  }

  /// Sums bind least, then products and quotients, left to right.
  int strength() const {
    if (kind == Kind::kAdd || kind == Kind::kSubtract) return 0;
    if (kind == Kind::kDim || (kind == Kind::kConstant && number >= 0)) return 2;
    return 1;
  }

  std::string text(Dice& dice) const {
    const auto operand = [&](const Node& node, int least) {
      const bool parens = node->strength() < least || dice.chance(10);
      return parens ? cat("(", node->text(dice), ")") : node->text(dice);
    };
    switch (kind) {
      case Kind::kDim:
        return cat("d", number);
      case Kind::kConstant:
        return cat(number);
      case Kind::kAdd:
        return cat(operand(left, 0), " + ", operand(right, 1));
      case Kind::kSubtract:
        return cat(operand(left, 0), " - ", operand(right, 1));
      case Kind::kTimes:
        return dice.chance(30) ? cat(number, " * ", operand(left, 2))
                               : cat(operand(left, 1), " * ", number);
      case Kind::kFloorDiv:
        return cat(operand(left, 1), " floordiv ", number);
      case Kind::kCeilDiv:
        return cat(operand(left, 1), " ceildiv ", number);
      case Kind::kMod:
        return cat(operand(left, 1), " mod ", number);
      case Kind::kNegate:
        return cat("-", operand(left, 2));
    }
    return {};
  }
};

Node make(Expression::Kind kind, std::int64_t number, Node left = nullptr, Node right = nullptr) {
  return std::make_shared<const Expression>(
      Expression{kind, number, std::move(left), std::move(right)});
}

Node random_linear(Dice& dice, std::int64_t dims, bool falls) {
  using Kind = Expression::Kind;
  Node sum;
  for (std::int64_t terms = dice.between(1, 3); terms > 0; --terms) {
    Node term = dims > 0 && dice.chance(85) ? make(Kind::kDim, dice.below(dims))
                                            : make(Kind::kConstant, dice.below(6));
    if (dice.chance(60)) term = make(Kind::kTimes, dice.between(falls ? -4 : 1, 9), term);
    if (falls && dice.chance(20)) term = make(Kind::kNegate, 0, term);
    if (!sum) {
      sum = term;
    } else {
      sum = make(falls && dice.chance(30) ? Kind::kSubtract : Kind::kAdd, 0, sum, term);
    }
  }
  return sum;
}

/// Any tree; most are more than one quotient of one sum.
Node random_tree(Dice& dice, std::int64_t dims, int depth) {
  using Kind = Expression::Kind;
  if (depth == 0) return random_linear(dice, dims, true);
  const Node left = random_tree(dice, dims, depth - 1);
  switch (dice.below(6)) {
    case 0:
      return make(Kind::kAdd, 0, left, random_tree(dice, dims, depth - 1));
    case 1:
      return make(Kind::kTimes, dice.between(-3, 5), left);
    case 2:
      return make(Kind::kFloorDiv, dice.between(1, 7), left);
    case 3:
      return make(Kind::kCeilDiv, dice.between(1, 7), left);
    case 4:
      return make(Kind::kMod, dice.between(1, 12), left);
    default:
      return make(Kind::kSubtract, 0, left, random_linear(dice, dims, true));
  }
}

std::string dims_text(std::int64_t dims) {
  std::string out;
  for (std::int64_t dim = 0; dim < dims; ++dim) out += cat(dim == 0 ? "d" : ", d", dim);
  return out;
}

/// Empty when the text is read as the trees mean it. `refused` is set for a typed error.
std::string map_mistake(const std::string& text, std::int64_t dims, const std::vector<Node>& nodes,
                        bool& refused) {
  Cursor cursor(text);
  const Result<AffineMap> map = read_affine_map(cursor);
  refused = !map.ok();
  if (refused) {
    const Error& error = map.error();
    if (!error.span || error.span->from < 0 || error.span->from > error.span->to ||
        error.span->to > static_cast<std::int64_t>(text.size())) {
      return cat(text, ": a refusal without a span inside: ", error.message);
    }
    return error.message.empty() || error.help.empty() ? text + ": a refusal without words" : "";
  }
  if (!cursor.at_end()) return text + ": not read to its end";
  if (map->dims != dims || map->results.size() != nodes.size()) return text + ": another rank";
  for (const Numbers& x : all_tuples(Numbers(static_cast<std::size_t>(dims), 5))) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::int64_t expected = nodes[i]->at(x);
      const std::int64_t found = map->results[i].at(x);
      if (expected != found) {
        return cat(text, " at ", bracketed(x), ": result ", i, " is ", expected, ", found ", found);
      }
    }
  }
  const std::string written = write_affine_map(*map);
  Cursor again(written);
  const Result<AffineMap> same = read_affine_map(again);
  if (!same) return cat(text, " is written ", written, ": ", same.error().message);
  return *same == *map ? "" : cat(text, " is written ", written, ", another map");
}

TEST(AffineMapRule, RandomTreesMeanWhatTheySay) {
  Dice dice(20250101);
  int read = 0;
  constexpr int kMaps = 20000;
  for (int i = 0; i < kMaps; ++i) {
    const std::int64_t dims = dice.between(0, 4);
    std::vector<Node> nodes;
    std::string results;
    for (std::int64_t n = dice.between(1, 2); n > 0; --n) {
      nodes.push_back(random_tree(dice, dims, static_cast<int>(dice.below(4))));
      results += cat(results.empty() ? "" : ", ", nodes.back()->text(dice));
    }
    std::string text = cat("(", dims_text(dims), ") -> (", results, ")");
    if (dice.chance(20)) text = cat("affine_map<", text, ">");
    bool refused = false;
    ASSERT_EQ(map_mistake(text, dims, nodes, refused), "");
    read += refused ? 0 : 1;
  }
  EXPECT_GT(read, kMaps / 4);
}

TEST(AffineMapRule, OneQuotientOfOneSumIsAlwaysRead) {
  using Kind = Expression::Kind;
  Dice dice(7);
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t dims = dice.between(1, 4);
    Node node = random_linear(dice, dims, dice.chance(50));
    const std::int64_t a = dice.between(1, 9);
    const std::int64_t b = dice.between(1, 9);
    switch (dice.below(8)) {
      case 0:
        break;
      case 1:
        node = make(Kind::kFloorDiv, a, node);
        break;
      case 2:
        node = make(Kind::kMod, a, node);
        break;
      case 3:
        node = make(Kind::kCeilDiv, a, node);
        break;
      case 4:
        node = make(Kind::kFloorDiv, b, make(Kind::kFloorDiv, a, node));
        break;
      case 5:
        node = make(Kind::kMod, b, make(Kind::kFloorDiv, a, node));
        break;
      case 6:
        node = make(Kind::kFloorDiv, b, make(Kind::kMod, a, node));
        break;
      default:
        node = make(Kind::kMod, a, make(Kind::kMod, a * b, node));
    }
    const std::string text = cat("(", dims_text(dims), ") -> (", node->text(dice), ")");
    bool refused = false;
    ASSERT_EQ(map_mistake(text, dims, {node}, refused), "");
    ASSERT_FALSE(refused) << text;
  }
}

/// The digits of `value` by the chain, one division after another; only placed ones.
Numbers placed_digits(std::int64_t value, const std::vector<Cut>& cuts) {
  Numbers digits;
  for (const Cut& cut : cuts) {
    if (!cut.target.is_nothing()) digits.push_back(value / cut.width);
    value %= cut.width;
  }
  return digits;
}

/// The largest sum before the remainder is taken.
std::int64_t last_sum(const AffineResult& result, const Numbers& extents) {
  std::int64_t sum = result.constant;
  for (const Term& term : result.terms) {
    sum += term.coef * (extents[static_cast<std::size_t>(term.dim)] - 1);
  }
  return sum;
}

TEST(AffineMapRule, FoldsHaveTheDigitsOfTheValue) {
  Dice dice(99);
  for (int i = 0; i < 20000; ++i) {
    const Numbers extents = test::random_shape(dice, 3, 60);
    const Shape shape = *Shape::make(extents);
    AffineResult result;
    for (std::size_t dim = 0; dim < extents.size(); ++dim) {
      if (dice.chance(70)) result.terms.push_back({static_cast<int>(dim), dice.between(1, 6)});
    }
    result.constant = dice.chance(50) ? 0 : dice.below(5);
    if (dice.chance(40)) result.modulus = dice.between(1, 12);
    if (dice.chance(40)) result.divisor = dice.between(2, 5);
    Numbers own(extents.size(), 1);
    for (const Term& term : result.terms) {
      own[static_cast<std::size_t>(term.dim)] = extents[static_cast<std::size_t>(term.dim)];
    }
    std::int64_t most = -1;
    for (const Numbers& x : all_tuples(own)) most = std::max(most, result.at(x));
    const Result<std::int64_t> length = line_length(result, shape);
    ASSERT_TRUE(length.ok()) << length.error().message;
    const std::string what = cat(write_affine_map({static_cast<int>(extents.size()), {result}}),
                                 " on ", shape.to_string());
    // A sum that wraps may get room for every remainder, also for one that no index has.
    if (most >= 0 && *length != most + 1 && result.modulus > 0) {
      ASSERT_GE(last_sum(result, extents), result.modulus) << what;
      most = (result.modulus - 1) / result.divisor;
    }
    ASSERT_EQ(*length, most + 1) << what;

    std::vector<Cut> cuts;
    for (std::int64_t n = dice.between(0, 2); n > 0; --n) {
      Cut cut;
      cut.width = dice.between(1, 8);
      cut.target = dice.chance(50) ? Target::mesh(static_cast<int>(cuts.size()))
                                   : (dice.chance(20) ? Target::nothing() : Target::memory());
      cuts.push_back(cut);
    }
    cuts.push_back(Cut{});
    for (Cut& cut : cuts) cut.count = most + 1;  // never too few
    const Result<Fold> fold = fold_of(result, shape, cuts);
    ASSERT_TRUE(fold.ok()) << what << ": " << fold.error().message;
    const Status status = fold->check(shape, 4);
    ASSERT_TRUE(status.ok()) << what << ": " << status.error().message;
    for (const Numbers& x : all_tuples(extents)) {
      std::int64_t p = fold->start;
      for (const Term& term : fold->terms) p += term.coef * x[static_cast<std::size_t>(term.dim)];
      ASSERT_EQ(placed_digits(p, fold->cuts), placed_digits(result.at(x), cuts))
          << what << " at " << bracketed(x);
    }
  }
}

TEST(AffineMapRule, SlipsAreErrorsInsideTheText) {
  Dice dice(3);
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t dims = dice.between(0, 3);
    const std::string text =
        cat("(", dims_text(dims), ") -> (",
            random_tree(dice, dims, static_cast<int>(dice.below(3)))->text(dice), ")");
    const std::string slip = test::mutated(dice, text);
    Cursor cursor(slip);
    const Result<AffineMap> map = read_affine_map(cursor);
    if (map.ok()) continue;
    const Error& error = map.error();
    ASSERT_TRUE(error.span.has_value()) << slip;
    ASSERT_LE(0, error.span->from) << slip;
    ASSERT_LE(error.span->from, error.span->to) << slip;
    ASSERT_LE(error.span->to, static_cast<std::int64_t>(slip.size())) << slip;
    ASSERT_FALSE(error.message.empty()) << slip;
  }
}

/// Every map of the tt-mlir layout specification, at the indices that it computes.
TEST(AffineMapRule, MapsOfTheSpecification) {
  const std::string text = "(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3)";
  Cursor cursor(text);
  const Result<AffineMap> map = read_affine_map(cursor);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->results[0].at({1, 1, 6, 100}), 262);  // 1 * 192 + 1 * 64 + 6
  EXPECT_EQ(map->results[1].at({1, 1, 6, 100}), 100);
  EXPECT_EQ(map->results[0].at({1, 2, 63, 127}), 383);
  EXPECT_EQ(map->results[1].at({1, 2, 63, 127}), 127);
  const Shape shape = *Shape::make({2, 3, 64, 128});
  EXPECT_EQ(*line_length(map->results[0], shape), 384);
  EXPECT_EQ(*line_length(map->results[1], shape), 128);
  EXPECT_EQ(write_affine_map(*map), text);
}

}  // namespace
}  // namespace tessera::notation
