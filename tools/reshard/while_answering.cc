// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/while_answering.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "tools/command/gave_up.h"

namespace tessera::tools {
namespace {

constexpr std::chrono::milliseconds kBetween{1};

Status guarded(const std::function<Status()>& work) {
  return caught(work, "use more ranks, or machines with more memory");
}

}  // namespace

Status while_answering(exchange::Agreement& agreement, const std::function<Status()>& work) {
  if (agreement.ranks() == 1) return guarded(work);
  Status outcome = ok_status();
  std::atomic<bool> is_done{false};
  std::optional<std::thread> worker;
  try {
    worker.emplace([&] {
      outcome = guarded(work);
      is_done.store(true);
    });
  } catch (const std::exception&) {
    return guarded(work);  // no thread is available: other ranks have to wait
  }
  Status waited = ok_status();
  while (!is_done.load()) {
    if (waited) waited = agreement.wait(agreement.rank(), agreement.exchange().now());
    std::this_thread::sleep_for(kBetween);
  }
  worker->join();
  return waited ? outcome : waited;
}

}  // namespace tessera::tools
