// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/streams/streaming_fit.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::memory {
namespace {

/// The largest n in [0, most] with `fits(n)`, which holds up to some n and not beyond.
template <typename Fits>
std::int64_t last_that(std::int64_t most, const Fits& fits) {
  std::int64_t low = 0;
  while (low < most) {
    const std::int64_t middle = low + (most - low) / 2 + 1;
    if (fits(middle)) {
      low = middle;
    } else {
      most = middle - 1;
    }
  }
  return low;
}

}  // namespace

Result<std::int64_t> aligned_end(std::int64_t end, std::int64_t alignment) {
  return (Checked(ceil_div(end, alignment)) * alignment).value("the end of the buffers, aligned");
}

std::int64_t stream_need(std::int64_t buffers, std::int64_t bytes, const StreamOptions& options) {
  const Checked each = Checked(ceil_div(bytes, options.alignment)) * options.alignment;
  if (options.scratch_bytes > 0) return (each * buffers + options.scratch_bytes).saturated();
  return buffers == 0 ? 0 : (each * (buffers - 1) + bytes).saturated();
}

Error stream_does_not_fit(std::int64_t buffers, std::int64_t largest, std::int64_t need,
                          const StreamOptions& options) {
  const std::int64_t budget = options.budget_bytes;
  std::vector<std::string> ways;
  const std::int64_t fewer = last_that(
      buffers - 1, [&](std::int64_t n) { return stream_need(n, largest, options) <= budget; });
  if (fewer > 0) ways.push_back(cat(fewer, fewer == 1 ? " buffer" : " buffers"));
  const std::int64_t smaller = last_that(
      largest - 1, [&](std::int64_t n) { return stream_need(buffers, n, options) <= budget; });
  if (smaller > 0) ways.push_back(cat("chunks of at most ", smaller, " bytes"));
  const std::int64_t missing = need - budget;
  if (options.scratch_bytes > missing) {
    ways.push_back(cat("at most ", options.scratch_bytes - missing, " bytes of scratch"));
  }
  ways.push_back(cat("a budget of ", need, " bytes"));
  std::string help = "use ";
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (i > 0) help += i + 1 < ways.size() ? ", " : " or ";
    help += ways[i];
  }
  const std::string scratch = options.scratch_bytes == 0
                                  ? std::string()
                                  : cat(" and ", options.scratch_bytes, " bytes of scratch");
  const bool alone = buffers == 1 && scratch.empty();
  return Error{
      ErrorCode::kDoesNotFit,
      cat(buffers, buffers == 1 ? " buffer" : " buffers", " of ", buffers == 1 ? "" : "up to ",
          largest, " bytes", scratch, alone ? " needs " : " need ", need, " bytes, ", missing,
          " more than the budget of ", budget),
      std::nullopt, help};
}

}  // namespace tessera::memory
