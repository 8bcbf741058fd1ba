// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_morello.h"

#include <algorithm>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

using Kind = MorelloPart::Kind;

/// Recursive descent over + - * / % and parentheses.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Numbers& index) : text_(text), index_(index) {}

  std::optional<std::int64_t> run() {
    const std::int64_t value = sum();
    skip();
    return wrong_ || at_ != text_.size() ? std::nullopt : std::optional(value);
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::int64_t number() {
    skip();
    std::int64_t value = 0;
    const std::size_t from = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + (text_[at_] - '0');
    }
    wrong_ = wrong_ || at_ == from;
    return value;
  }
  std::int64_t factor() {
    if (accept('(')) {
      const std::int64_t value = sum();
      wrong_ = wrong_ || !accept(')');
      return value;
    }
    if (!accept('d')) return number();
    const std::int64_t dim = number();
    wrong_ = wrong_ || dim >= static_cast<std::int64_t>(index_.size());
    return wrong_ ? 0 : index_[static_cast<std::size_t>(dim)];
  }
  std::int64_t term() {
    std::int64_t value = factor();
    while (!wrong_) {
      if (accept('*')) {
        value *= factor();
      } else if (accept('/')) {
        value = divided(value, factor(), true);
      } else if (accept('%')) {
        value = divided(value, factor(), false);
      } else {
        break;
      }
    }
    return value;
  }
  std::int64_t divided(std::int64_t a, std::int64_t b, bool quotient) {
    wrong_ = wrong_ || b == 0;
    if (wrong_) return 0;
    return quotient ? a / b : a % b;
  }
  std::int64_t sum() {
    std::int64_t value = term();
    while (!wrong_) {
      if (accept('+')) {
        value += term();
      } else if (accept('-')) {
        value -= term();
      } else {
        break;
      }
    }
    return value;
  }

  std::string_view text_;
  const Numbers& index_;
  std::size_t at_ = 0;
  bool wrong_ = false;
};

std::int64_t odd_even(std::int64_t position, std::int64_t size) {
  return position % 2 == 0 ? position / 2 : ceil_divide(size, 2) + position / 2;
}

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 2; d <= n; ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

/// Parts that cover one dim, slowest first.
std::vector<MorelloPart> random_cover(Dice& dice, std::int64_t dim, std::int64_t extent) {
  std::vector<MorelloPart> inner_first;
  std::int64_t remains = extent;
  bool clamped = false;
  while (extent > 0 && dice.chance(55)) {
    MorelloPart part{dim, dice.chance(25) ? Kind::kOddEven : Kind::kPacked, 0};
    std::vector<std::int64_t> sizes = divisors(remains);
    if (part.kind == Kind::kOddEven)
      std::erase_if(sizes, [](std::int64_t n) { return n % 2 != 0; });
    const bool may_clamp = !clamped && (part.kind == Kind::kPacked || remains == 1);
    if (may_clamp && dice.chance(20)) {
      part.size = remains + dice.between(1, 9);
      if (part.kind == Kind::kOddEven) part.size += part.size % 2;
      clamped = true;
      remains = 1;
    } else if (part.kind == Kind::kPacked && dice.chance(3)) {
      part.size = 1;
    } else {
      if (sizes.empty()) break;
      part.size =
          sizes[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(sizes.size())))];
      remains /= part.size;
    }
    inner_first.push_back(part);
  }
  const bool covered = remains == 1;
  if (!covered || dice.chance(extent == 1 ? 60 : 30)) {
    inner_first.push_back({dim, Kind::kDynamic, 0});
  }
  std::reverse(inner_first.begin(), inner_first.end());
  return inner_first;
}

}  // namespace

std::string MorelloRule::text() const {
  if (!builder.empty()) return cat("morello.", builder, "()");
  std::string list;
  for (const MorelloPart& part : parts) {
    const std::string size = cat("(", part.size, ")");
    list += cat(list.empty() ? "(" : ", (", part.dim, ", ",
                part.kind == Kind::kDynamic  ? std::string("Dynamic")
                : part.kind == Kind::kPacked ? "Packed" + size
                                             : "OddEven" + size,
                ")");
  }
  return cat("morello[", list, "]");
}

std::optional<Numbers> morello_sizes(const MorelloRule& rule, const Numbers& shape) {
  Numbers remains = shape;
  std::vector<bool> dynamic(shape.size(), false);
  std::vector<bool> clamped(shape.size(), false);
  Numbers sizes(rule.parts.size());
  for (std::size_t i = rule.parts.size(); i-- > 0;) {
    const MorelloPart& part = rule.parts[i];
    const auto dim = static_cast<std::size_t>(part.dim);
    if (dynamic[dim]) return std::nullopt;
    if (part.kind == Kind::kDynamic) {
      sizes[i] = remains[dim];
      remains[dim] = 1;
      dynamic[dim] = true;
    } else if (part.size > remains[dim] && (part.kind == Kind::kPacked || remains[dim] == 1)) {
      if (clamped[dim]) return std::nullopt;
      clamped[dim] = true;
      sizes[i] = remains[dim];
      remains[dim] = 1;
    } else {
      if (remains[dim] % part.size != 0) return std::nullopt;
      sizes[i] = part.size;
      remains[dim] /= part.size;
    }
  }
  for (const std::int64_t left : remains) {
    if (left != 1) return std::nullopt;
  }
  return sizes;
}

std::int64_t morello_slot(const MorelloRule& rule, const Numbers& shape, const Numbers& index) {
  const Numbers sizes = *morello_sizes(rule, shape);
  std::int64_t slot = 0;
  std::int64_t alpha = 1;
  Numbers covered(shape.size(), 1);
  for (std::size_t i = rule.parts.size(); i-- > 0;) {
    const auto dim = static_cast<std::size_t>(rule.parts[i].dim);
    std::int64_t position = (index[dim] / covered[dim]) % sizes[i];
    if (rule.parts[i].kind == Kind::kOddEven) position = odd_even(position, sizes[i]);
    slot += alpha * position;
    alpha *= sizes[i];
    covered[dim] *= sizes[i];
  }
  return slot;
}

Ruled ruled(const MorelloRule& rule, const Numbers& shape, const std::string& dtype) {
  Ruled out;
  out.text = tensor_text(shape, dtype, rule.text());
  out.shape = shape;
  out.slots = product(shape);
  for (const Numbers& index : all_tuples(shape)) {
    out.positions.push_back({{{}}, morello_slot(rule, shape, index)});
  }
  return out;
}

MorelloRule random_morello(Dice& dice, const Numbers& shape) {
  MorelloRule rule;
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (dice.chance(10)) {
    const bool columns = dice.chance(50);
    rule.builder = columns ? "col_major" : "row_major";
    for (std::int64_t i = 0; i < rank; ++i) {
      rule.parts.push_back({columns ? rank - 1 - i : i, Kind::kDynamic, 0});
    }
    if (rank == 4 && dice.chance(60)) {
      rule.builder = "nhwc";
      rule.parts.clear();
      for (const std::int64_t dim : {0, 2, 3, 1}) rule.parts.push_back({dim, Kind::kDynamic, 0});
    }
    return rule;
  }
  // Parts of one dim keep their order; the dims are interleaved at random.
  std::vector<std::vector<MorelloPart>> covers;
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    covers.push_back(random_cover(dice, dim, shape[static_cast<std::size_t>(dim)]));
  }
  while (true) {
    std::erase_if(covers, [](const auto& cover) { return cover.empty(); });
    if (covers.empty()) return rule;
    auto& cover =
        covers[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(covers.size())))];
    rule.parts.push_back(cover.front());
    cover.erase(cover.begin());
  }
}

std::optional<std::int64_t> evaluate_expression(std::string_view expression, const Numbers& index) {
  return Evaluator(expression, index).run();
}

}  // namespace tessera::test
