// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tessera/frontend/eval.h"

namespace tessera::frontend {
namespace {

TEST(EvalThreads, TensorsMayBeEvaluatedBySeveralThreadsAtOnce) {
  for (int round = 0; round < 8; ++round) {
    const Tensor x = *randn({16, 16}, 5);
    const Tensor y = *matmul(x, x);
    const Tensor z = *(relu(y) + y);
    EvalOptions options;
    options.threads = 1;
    std::vector<std::thread> threads;
    std::vector<int> failures(4);
    for (std::size_t t = 0; t < failures.size(); ++t) {
      threads.emplace_back([&, t] {
        const Result<Tensor> mine = t % 2 == 0 ? Result<Tensor>(z) : z + x;
        if (!mine || !eval({*mine}, options) || mine->bytes().size() != 1024) failures[t] = 1;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failures, std::vector<int>(4));
    EXPECT_TRUE(z.is_evaluated());
  }
}

}  // namespace
}  // namespace tessera::frontend
