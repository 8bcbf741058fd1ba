// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"
#include "tools/command/command.h"
#include "tools/reshard/run_ranks.h"

/// Ranks that fail in the middle of a verb.
namespace tessera::tools {
namespace {

Verb failing_verb() {
  Verb verb;
  verb.name = "fail";
  verb.run = [](const Request&, Console& console) -> Result<Verdict> {
    if (console.agreement->rank() == 1) throw std::bad_alloc();
    TESSERA_CHECK_OK(console.agreement->settle(ok_status()));
    return Verdict::kYes;
  };
  return verb;
}

TEST(RankFaults, RefusedMemoryOnOneRankIsItsErrorAndEndsAll) {
  const auto exchanges = exchange::in_process_exchange(2);
  const Verb verb = failing_verb();
  std::vector<RankedStatus> statuses(2);
  std::vector<std::ostringstream> errors(2);
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < 2; ++r) {
    ranks.emplace_back([&, r] {
      std::ostringstream out;
      statuses[r] = run_on_ranks(verb, {}, *exchanges[r], out, errors[r], {});
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(statuses[1].exit, 2);
  EXPECT_TRUE(statuses[1].is_abandoned);
  EXPECT_TRUE(errors[1].str().starts_with("error[out_of_memory]")) << errors[1].str();
  EXPECT_EQ(statuses[0].exit, 2) << "it waited for a rank that had failed";
}

}  // namespace
}  // namespace tessera::tools
