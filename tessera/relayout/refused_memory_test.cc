// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "bench/global_new.h"
#include "tessera/notation/tensor.h"
#include "tessera/relayout/plan.h"
#include "tessera/testing/process.h"

namespace {

std::atomic<bool> armed{false};
std::atomic<std::int64_t> asked{0};
std::atomic<std::int64_t> refused{0};  // the number of the first allocation that is refused

}  // namespace

bool tessera::bench::may_allocate() {
  if (!armed.load(std::memory_order_relaxed)) return true;
  return asked.fetch_add(1, std::memory_order_relaxed) < refused.load(std::memory_order_relaxed);
}
void tessera::bench::allocated(void*) {}
void tessera::bench::releases(void*) {}

/// Plans whose workers are refused memory, at every allocation in turn: an error, and the pool can
/// be used again. An exception that left a worker would end this program.
namespace tessera::relayout {
namespace {

struct Trial {
  std::int64_t asked = 0;
  bool is_error = false;
};

Trial run_with(const Plan& plan, const std::vector<std::byte>& from, std::vector<std::byte>& to,
               ThreadPool& pool, std::int64_t first_refused) {
  Trial trial;
  ErrorCode code = ErrorCode::kOutOfMemory;
  asked = 0;
  refused = first_refused;
  armed = true;
  try {
    const Status status = plan.run(from, to, pool);
    armed = false;
    trial.is_error = !status.ok();
    if (!status) code = status.error().code;
  } catch (const std::bad_alloc&) {  // in the calling thread, outside of the pool
    armed = false;
    trial.is_error = true;
  }
  trial.asked = asked;
  EXPECT_EQ(code_name(code), code_name(ErrorCode::kOutOfMemory));
  return trial;
}

TEST(RefusedMemory, OfWorkersIsAnError) {
  if (test::kSanitized) GTEST_SKIP() << "the library is built without cleanup after exceptions";
  std::int64_t most = 0;
  const std::string rows = "tensor<480x800xf32, strided<[800, 1]>>";
  for (const std::string to :
       {"tensor<480x800xf32, strided<[1, 480]>>", "tensor<480x800xbf16, strided<[1, 480]>>",
        "tensor<480x800xf32, pyflame.BlockCyclic(2, 3, 5, 7)>",
        "tensor<480x800xi4, strided<[1, 480]>>"}) {
    SCOPED_TRACE(to);
    const Result<Tensor> a = parse_tensor(rows);
    const Result<Tensor> b = parse_tensor(to);
    ASSERT_TRUE(a.ok() && b.ok());
    const Result<Program> program = make_program(a->placement, b->placement, PaddingRule::kZero);
    ASSERT_TRUE(program.ok());
    const Result<Plan> plan = Plan::make(*program, {});
    ASSERT_TRUE(plan.ok());
    const std::vector<std::byte> from(static_cast<std::size_t>(program->from.bytes));
    std::vector<std::byte> moved(static_cast<std::size_t>(program->to.bytes));
    for (const int threads : {1, 2, 4}) {
      ThreadPool pool(threads);
      ASSERT_TRUE(plan->run(from, moved, pool).ok());
      const Trial whole = run_with(*plan, from, moved, pool, INT64_MAX);
      EXPECT_FALSE(whole.is_error);
      most = std::max(most, whole.asked);
      for (std::int64_t k = 0; k < whole.asked; ++k) {
        const Trial trial = run_with(*plan, from, moved, pool, k);
        EXPECT_TRUE(trial.is_error) << "allocation " << k << " of " << whole.asked;
        if (HasFailure()) return;
      }
      EXPECT_TRUE(plan->run(from, moved, pool).ok());
    }
  }
  EXPECT_GT(most, 10) << "workers ask for no memory: the test shows nothing";
}

}  // namespace
}  // namespace tessera::relayout
