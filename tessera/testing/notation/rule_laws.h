// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "tessera/base/text.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/rule_check.h"

/// The laws of every notation whose owner's rule is evaluated by plain loops, on random layouts. A
/// notation gives its rule and its generator:
///
///   INSTANTIATE_TEST_SUITE_P(Xla, NotationRule, Values(RuleLaws{"xla", random_case}));
///
/// and notation/rule_laws_test.cc checks that
///   every element and every slot is where the rule says; the text prints and raises;
///   the same layout in other folds is raised; any layout is raised exactly or refused;
///   another notation says the same;
///   texts with mistakes are errors inside the text, or tensors that follow the rule.
namespace tessera::test {

/// A random layout.
struct RuleCase {
  std::string text;
  std::function<std::string()> mistake;  ///< `mistake` of rule_check.h and the notation's own laws
};

struct RuleLaws {
  std::string_view notation;
  RuleCase (*random)(Dice& dice);
  /// Larger ones, such as 32x32 tiles: one for every 200 of the others.
  RuleCase (*large)(Dice& dice) = nullptr;
  /// A text with mistakes that is accepted all the same follows the rule.
  std::string (*accepted)(const std::string& text, const Tensor& tensor) = nullptr;
  /// A notation that can express at least a tenth of the layouts.
  std::string_view elsewhere = "native";
  /// What a text says of a layout without a memory space, where it must say one.
  std::string_view space = "";
  /// Of the same layouts in other folds, how many raising may refuse.
  int refused_percent = 0;
  /// Of the texts with mistakes, how many are known to be accepted without being raised again: a
  /// defect of the notation's `raise`.
  int unraised_slips = 0;
  bool may_be_empty = true;  ///< some tensors have no elements

  friend void PrintTo(const RuleLaws& laws, std::ostream* out) { *out << laws.notation; }
};

class NotationRule : public ::testing::TestWithParam<RuleLaws> {};

/// For a rule that has the notation's own terms: the text is read as these words.
template <typename Words>
RuleCase words_case(const Words& words, const Ruled& ruled) {
  return {ruled.text, [=] {
            std::string found = mistake(ruled);
            if (!found.empty()) return found;
            const Result<Tensor> tensor = parse_tensor(ruled.text);
            const bool same = std::get<Words>(notation::terms_of(*tensor)) == words;
            return same ? found : ruled.text + "\n  read as other words";
          }};
}

/// A text in which one number is not what the others require.
struct WrongNumber {
  std::string text;
  std::string wrong;  ///< as in the text, with its neighbours: "18x33"
  std::string right;
};

/// For notations that state numbers that follow from others: the error names the right ones.
class NotationNumbers : public ::testing::TestWithParam<WrongNumber (*)(Dice& dice)> {};

/// `rule.text` with one of the numbers that follow from the others off by one.
template <typename Rule>
WrongNumber wrong_number(Dice& dice, const Rule& rule, const Numbers& right) {
  Numbers wrong = right;
  auto& number =
      wrong[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(wrong.size())))];
  number += number == 0 || dice.chance(50) ? 1 : -1;
  return {rule.text(wrong), join(wrong, "x"), join(right, "x")};
}

}  // namespace tessera::test
