// SPDX-License-Identifier: Apache-2.0
// A reshard between ranks of one process. Each rank is a thread with its own memory.
#include "tessera/exchange/exchange.h"

#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "examples/rank_work.h"

int main() {
  std::vector<std::unique_ptr<tessera::exchange::Exchange>> ranks =
      tessera::exchange::in_process_exchange(4);
  std::vector<tessera::Status> outcomes(ranks.size(), tessera::ok_status());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] { outcomes[rank] = example::reshard_on(*ranks[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
  if (outcomes[0]) return 0;
  std::fprintf(stderr, "%s\n", outcomes[0].error().message.c_str());  // the same on all ranks
  return 1;
}
