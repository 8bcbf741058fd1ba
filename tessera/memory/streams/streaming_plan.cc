// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/streams/streaming_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/memory/streams/streaming_fit.h"

namespace tessera::memory {
namespace {

/// Up to this number, chunk counts are tried one by one; above it, there are few chunk sizes.
constexpr std::int64_t kMostCounts = std::int64_t{1} << 20;

Status check(const StreamData& data, const StreamCosts& costs) {
  const auto bad = [](std::string message, std::string help) {
    return Error{ErrorCode::kOutOfRange, std::move(message), std::nullopt, std::move(help)};
  };
  if (data.total_bytes < 0) return bad(cat(data.total_bytes, " bytes to stream"), "use at least 0");
  if (data.granule_bytes < 1) {
    return bad(cat("a granule of ", data.granule_bytes, " bytes"), "use at least 1");
  }
  const auto rate = [&](double value, std::string_view name) -> Status {
    if (value > 0) return ok_status();
    return bad(cat("a ", name, " rate of ", std::to_string(value)), "use a rate above 0");
  };
  const auto latency = [&](double value, std::string_view name) -> Status {
    if (value >= 0 && std::isfinite(value)) return ok_status();
    return bad(cat("a ", name, " latency of ", std::to_string(value)),
               "use a finite latency of at least 0");
  };
  TESSERA_CHECK_OK(rate(costs.load_rate, "load"));
  TESSERA_CHECK_OK(rate(costs.compute_rate, "compute"));
  TESSERA_CHECK_OK(latency(costs.load_latency, "load"));
  TESSERA_CHECK_OK(latency(costs.compute_latency, "compute"));
  const std::int64_t granules = ceil_div(data.total_bytes, data.granule_bytes);
  if (granules > kMostGranules) {
    return Error{
        ErrorCode::kTooLarge,
        cat(granules, " granules of ", data.granule_bytes, " bytes are more than ", kMostGranules),
        std::nullopt,
        cat("use granules of at least ", ceil_div(data.total_bytes, kMostGranules), " bytes")};
  }
  return ok_status();
}

/// Searches for the best size. Chunks of `size` granules give ceil(granules / size) chunks.
class Search {
 public:
  Search(const StreamData& data, const StreamOptions& options, const StreamCosts& costs)
      : data_(data),
        options_(options),
        costs_(costs),
        granules_(ceil_div(data.total_bytes, data.granule_bytes)) {}

  /// The best number of granules per chunk; 0 when nothing fits.
  std::int64_t run() {
    const std::int64_t fewer = std::min(options_.buffers - 1, granules_);
    for (std::int64_t chunks = 1; chunks <= fewer; ++chunks) {  // each has a separate buffer
      try_count(chunks, largest(chunks));
    }
    const std::int64_t most = largest(options_.buffers);
    if (most == 0) return best_size_;
    const std::int64_t first = std::max(options_.buffers, ceil_div(granules_, most));
    const std::int64_t last = std::min(granules_, kMostCounts);
    for (std::int64_t chunks = first; chunks <= last; ++chunks) {
      if (is_best(chunks)) return best_size_;
      try_count(chunks, most);
    }
    const std::int64_t next = std::max(first, last + 1);
    if (next > granules_ || is_best(next)) return best_size_;
    for (std::int64_t size = std::min(most, ceil_div(granules_, next)); size > 0; --size) {
      try_size(size);
    }
    return best_size_;
  }

  std::int64_t chunk_bytes(std::int64_t size) const {
    return size == granules_ ? data_.total_bytes : size * data_.granule_bytes;
  }

  /// Law: equal to the times of schedule_stream for these chunks. With equal chunks, two buffers do
  /// as well as any number, because the slower of load and compute never waits. So this is the
  /// bound, whose longest chain goes through the first, the last but one or the last chunk.
  StreamTimes times(std::int64_t size) const {
    const std::int64_t chunks = ceil_div(granules_, size);
    const std::int64_t bytes = chunk_bytes(size);
    const std::int64_t last_bytes = data_.total_bytes - (chunks - 1) * bytes;
    const double others = static_cast<double>(chunks - 1);
    const double load = costs_.load(bytes);
    const double compute = costs_.compute(bytes);
    const double last_load = costs_.load(last_bytes);
    const double last_compute = costs_.compute(last_bytes);
    StreamTimes times;
    times.loads = others * load + last_load;
    times.computes = others * compute + last_compute;
    times.bound = times.loads + last_compute;
    if (chunks > 1) {
      times.bound =
          std::max({times.bound, load + times.computes, others * load + compute + last_compute});
    }
    const bool alone = options_.buffers == 1 || chunks == 1;
    times.total = alone ? times.without_overlap() : times.bound;
    return times;
  }

 private:
  /// The most granules per chunk for which `buffers` of them fit.
  std::int64_t largest(std::int64_t buffers) const {
    std::int64_t low = 0;
    std::int64_t high = granules_;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (stream_need(buffers, chunk_bytes(middle), options_) <= options_.budget_bytes) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  /// No stream of that many chunks ends earlier. Increases with `chunks`.
  double least(std::int64_t chunks) const {
    const double count = static_cast<double>(chunks);
    const double total = static_cast<double>(data_.total_bytes);
    const double loads = count * costs_.load_latency + total / costs_.load_rate;
    const double computes = count * costs_.compute_latency + total / costs_.compute_rate;
    // A rounding error must not end the search too early.
    constexpr double kShade = 1 - 1e-12;
    return kShade * (options_.buffers == 1 ? loads + computes
                                           : std::max(loads + costs_.compute_latency,
                                                      costs_.load_latency + computes));
  }

  /// True when there is a size, and none with this many chunks or more is better: with one buffer,
  /// more chunks gain nothing.
  bool is_best(std::int64_t chunks) const {
    return best_size_ > 0 && (options_.buffers == 1 || least(chunks) >= best_);
  }

  void try_size(std::int64_t size) {
    const double total = times(size).total;
    if (best_size_ != 0 && !(total < best_)) return;
    best_ = total;
    best_size_ = size;
  }

  /// All sizes up to `most` that make `chunks` chunks. The time is the maximum of three linear
  /// functions of the size, so its minimum is at an end or beside a crossing of two of them.
  void try_count(std::int64_t chunks, std::int64_t most) {
    const std::int64_t low = ceil_div(granules_, chunks);
    const std::int64_t high =
        std::min(most, chunks == 1 ? granules_ : (granules_ - 1) / (chunks - 1));
    if (low > high) return;
    try_size(low);
    if (low == high) return;
    const double count = static_cast<double>(chunks);
    const double granule = static_cast<double>(data_.granule_bytes);
    const double load = granule / costs_.load_rate;
    const double compute = granule / costs_.compute_rate;
    const double granules = static_cast<double>(data_.total_bytes) / granule;
    const double load_latency = costs_.load_latency;
    const double compute_latency = costs_.compute_latency;
    struct Line {
      double start;
      double slope;
    };
    const std::array<Line, 3> lines = {
        Line{load_latency + count * compute_latency + compute * granules, load},
        Line{(count - 1) * load_latency + 2 * compute_latency + compute * granules,
             (count - 1) * load - (count - 2) * compute},
        Line{count * load_latency + load * granules + compute_latency + compute * granules,
             -(count - 1) * compute}};
    std::array<std::int64_t, 12> sizes{};
    std::size_t found = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = i + 1; j < 3; ++j) {
        const double at = (lines[j].start - lines[i].start) / (lines[i].slope - lines[j].slope);
        const bool between = at > static_cast<double>(low) && at < static_cast<double>(high);
        if (!between) continue;  // nor where lines are parallel
        // One step to either side, in case rounding has moved the crossing over an integer.
        const auto below = static_cast<std::int64_t>(at);
        for (std::int64_t size = below - 1; size <= below + 2; ++size) {
          if (size > low && size < high) sizes[found++] = size;
        }
      }
    }
    std::sort(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(found));
    for (std::size_t i = 0; i < found; ++i) try_size(sizes[i]);
    try_size(high);
  }

  const StreamData& data_;
  const StreamOptions& options_;
  const StreamCosts& costs_;
  std::int64_t granules_;
  std::int64_t best_size_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

double StreamCosts::load(std::int64_t bytes) const {
  return load_latency + static_cast<double>(bytes) / load_rate;
}
double StreamCosts::compute(std::int64_t bytes) const {
  return compute_latency + static_cast<double>(bytes) / compute_rate;
}

Result<StreamPlan> plan_stream(const StreamData& data, const StreamOptions& options,
                               const StreamCosts& costs) {
  TESSERA_CHECK_OK(check(options));
  TESSERA_CHECK_OK(check(data, costs));
  StreamPlan plan;
  plan.costs = costs;
  if (data.total_bytes > 0) {
    Search search(data, options, costs);
    const std::int64_t size = search.run();
    if (size == 0) {
      const std::int64_t smallest = std::min(data.granule_bytes, data.total_bytes);
      const std::int64_t buffers =
          std::min(options.buffers, ceil_div(data.total_bytes, data.granule_bytes));
      return stream_does_not_fit(buffers, smallest, stream_need(buffers, smallest, options),
                                 options);
    }
    plan.chunk_bytes = search.chunk_bytes(size);
    plan.chunks = ceil_div(data.total_bytes, plan.chunk_bytes);
    plan.last_bytes = data.total_bytes - (plan.chunks - 1) * plan.chunk_bytes;
    plan.times = search.times(size);
    if (!std::isfinite(plan.times.without_overlap())) {
      return Error{ErrorCode::kOverflow, "the times of the chunks have no finite sum", std::nullopt,
                   "use a larger unit of time"};
    }
  }
  Array<std::int64_t> sizes;
  const auto buffers = static_cast<std::size_t>(std::min(plan.chunks, options.buffers));
  if (!sizes.assign(buffers, plan.chunk_bytes)) return out_of_memory();
  TESSERA_TRY(plan.memory, place_stream(sizes, options));
  return plan;
}

Result<StreamSchedule> schedule_of(const StreamPlan& plan, const StreamOptions& options) {
  if (plan.chunks > kMostStreamSteps) {
    return Error{
        ErrorCode::kTooLarge,
        cat("a schedule of ", plan.chunks, " chunks has more steps than ", kMostStreamSteps),
        std::nullopt, "all chunks but the last are equal: use the plan's times"};
  }
  Array<Chunk> chunks;
  if (!chunks.reserve(static_cast<std::size_t>(plan.chunks))) return out_of_memory();
  for (std::int64_t k = 0; k < plan.chunks; ++k) {
    const std::int64_t bytes = plan.bytes_of(k);
    if (!chunks.push({bytes, plan.costs.load(bytes), plan.costs.compute(bytes)}))
      return out_of_memory();
  }
  return schedule_stream(chunks, options);
}

}  // namespace tessera::memory
