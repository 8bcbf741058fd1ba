// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/notation/notation.h"

/// What the tests of every notation share.
namespace tessera::notation {

/// A text that is refused. `carets` is aligned under the text and marks the span of the error; a
/// span at the end of the text is one caret past it.
struct Refusal {
  std::string_view text;
  std::string_view carets;
  ErrorCode code;
  std::string_view message;
};

inline void expect_refused(const Refusal& refusal) {
  SCOPED_TRACE(refusal.text);
  const Result<Tensor> tensor = parse_tensor(refusal.text);
  ASSERT_FALSE(tensor.ok()) << "this text should be refused";
  const Error& error = tensor.error();
  EXPECT_EQ(code_name(error.code), code_name(refusal.code)) << render(error, refusal.text);
  EXPECT_EQ(error.message, refusal.message);
  ASSERT_TRUE(error.span.has_value()) << error.message;
  const auto from = static_cast<std::int64_t>(refusal.carets.find('^'));
  const auto to = static_cast<std::int64_t>(refusal.carets.size());
  EXPECT_EQ(error.span->from, from) << render(error, refusal.text);
  EXPECT_EQ(std::max(error.span->to, from + 1), to) << render(error, refusal.text);
}

}  // namespace tessera::notation
