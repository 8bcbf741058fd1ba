// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/notation/reasons.h"

/// What the tests of every notation share.
namespace tessera::notation {

/// A text that is refused. `carets` is aligned under the text and marks the span of the error; a
/// span at the end of the text is one caret past it.
struct Refusal {
  std::string_view text;
  std::string_view carets;
  ErrorCode code;
  std::string_view message;  ///< its numbers and names are compared, its wording is free
};

inline void expect_refused(const Refusal& refusal) {
  SCOPED_TRACE(refusal.text);
  const Result<Tensor> tensor = parse_tensor(refusal.text);
  ASSERT_FALSE(tensor.ok()) << "this text should be refused";
  const Error& error = tensor.error();
  EXPECT_EQ(code_name(error.code), code_name(refusal.code)) << render(error, refusal.text);
  EXPECT_EQ(test::figures(error.message), test::figures(refusal.message)) << error.message;
  ASSERT_TRUE(error.span.has_value()) << error.message;
  const auto from = static_cast<std::int64_t>(refusal.carets.find('^'));
  const auto to = static_cast<std::int64_t>(refusal.carets.size());
  EXPECT_EQ(error.span->from, from) << render(error, refusal.text);
  EXPECT_EQ(std::max(error.span->to, from + 1), to) << render(error, refusal.text);
}

/// The layout of `text` in another notation, such as "onednn.ab". If that notation refuses it, the
/// code and the reasons, such as "not_supported: first_slot slot=5".
inline std::string raised_as(std::string_view text, std::string_view notation) {
  const auto reason = [](const Error& error) {
    return cat(code_name(error.code), ": ", test::reasons_text(error));
  };
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return reason(tensor.error());
  const Result<std::string> raised = print_tensor(tensor->layout(), **find_notation(notation));
  if (!raised) return reason(raised.error());
  const std::size_t layout = raised->find(", ") + 2;
  return raised->substr(layout, raised->size() - layout - 1);
}

}  // namespace tessera::notation
