// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"

/// The timeline of a simulation as a file that chrome://tracing and ui.perfetto.dev open: Chrome's
/// trace
/// event format, one JSON object with "traceEvents"
/// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
namespace tessera::tools {

/// A message arriving at one of its destinations. Cycles are [from, to).
struct TraceArrival {
  Place place;
  std::int64_t hops = 0;
  std::int64_t from = 0, to = 0;
};

/// One simulated message: to one destination, or a multicast to several.
struct TraceMessage {
  Place source;
  std::int64_t bytes = 0;  ///< to each destination
  std::int64_t wavelets = 0;
  std::int64_t from = 0, to = 0;  ///< when it left its source
  std::vector<TraceArrival> arrivals;
};

/// The most messages of a trace, where a multicast counts once per destination: about 40 MB.
inline constexpr std::int64_t kMostTraceMessages = 1 << 16;

/// kTooLarge beyond kMostTraceMessages.
Status check_trace_size(std::int64_t messages);

/// The text of a trace. A place is a process, named by its coordinates and sorted by `mesh`; every
/// message is a slice where it is sent and one where it arrives, joined by an arrow. Slices of one
/// thread never overlap: concurrent messages are on further threads of the place. A counter shows
/// how many messages are in flight. One cycle is one microsecond. Errors as check_trace_size.
Result<std::string> trace_text(const std::string& title, const Shape& mesh,
                               const std::vector<TraceMessage>& messages);

}  // namespace tessera::tools
