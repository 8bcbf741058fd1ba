// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstdlib>
#include <memory>

#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {
namespace {

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

}  // namespace

std::byte* Scratch::mine() {
  thread_local std::unique_ptr<std::byte, Free> memory;
  if (memory == nullptr) {
    constexpr std::size_t kHugePage = std::size_t{1} << 21;
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(kHugePage, Scratch::kBytes)));
    // Only a hint: without huge pages everything works, a little slower.
    if (memory != nullptr) ::madvise(memory.get(), Scratch::kBytes, MADV_HUGEPAGE);
  }
  return memory.get();
}

}  // namespace tessera::relayout
