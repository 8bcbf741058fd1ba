// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/refused_machine.h"

#include <gtest/gtest.h>

#include "tessera/target/machine.h"
#include "tessera/testing/figures.h"

namespace tessera::test {

void expect_refused(const std::vector<RefusedMachine>& refusals) {
  constexpr std::string_view kOpen = "«";
  constexpr std::string_view kClose = "»";
  for (const RefusedMachine& refusal : refusals) {
    SCOPED_TRACE(refusal.marked);
    std::string text = refusal.marked;
    const std::size_t from = text.find(kOpen);
    ASSERT_NE(from, std::string::npos);
    text.erase(from, kOpen.size());
    const std::size_t to = text.find(kClose);
    ASSERT_NE(to, std::string::npos);
    text.erase(to, kClose.size());
    const auto machine = parse_machine(text);
    ASSERT_FALSE(machine.ok());
    const Error& error = machine.error();
    EXPECT_EQ(code_name(error.code), code_name(refusal.code)) << error.message;
    EXPECT_EQ(figures(error.message), refusal.figures) << error.message;
    EXPECT_EQ(figures(error.help), refusal.help_figures) << error.help;
    EXPECT_EQ(error.span, (Span{static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)}))
        << error.message;
  }
}

}  // namespace tessera::test
