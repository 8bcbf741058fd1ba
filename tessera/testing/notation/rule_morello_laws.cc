// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_morello_laws.h"

#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/morello/morello.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"

namespace tessera::test {
namespace {

/// Physical sizes and the indexing expression agree with the rule.
std::string words_mistake(const MorelloRule& rule, const Numbers& extents,
                          const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return text + "\n  refused";
  const auto* words = std::get_if<notation::MorelloLayout>(&notation::terms_of(*tensor));
  if (words == nullptr) return text + "\n  has other words";
  const Result<std::vector<std::int64_t>> sizes =
      notation::physical_sizes(*words, tensor->layout().shape());
  if (!sizes) return cat(text, "\n  physical sizes: ", sizes.error().message);
  if (*sizes != morello_sizes(rule, extents)) {
    return cat(text, "\n  physical sizes ", bracketed(*sizes), ", expected ",
               bracketed(*morello_sizes(rule, extents)));
  }
  const Result<std::string> expression =
      notation::index_expression(*words, tensor->layout().shape());
  if (!expression) return cat(text, "\n  expression: ", expression.error().message);
  for (const Numbers& index : all_tuples(extents)) {
    const auto value = evaluate_expression(*expression, index);
    if (!value) return cat(text, "\n  not an expression: ", *expression);
    const std::int64_t slot = morello_slot(rule, extents, index);
    if (*value != slot) {
      return cat(text, "\n  ", *expression, " at ", bracketed(index), " is ", *value, ", expected ",
                 slot);
    }
  }
  return {};
}

}  // namespace

std::string morello_mistake(const MorelloRule& rule, const Numbers& extents) {
  const Ruled expected = ruled(rule, extents, "f32");
  const std::string failure = mistake(expected);
  return failure.empty() ? words_mistake(rule, extents, expected.text) : failure;
}

}  // namespace tessera::test
