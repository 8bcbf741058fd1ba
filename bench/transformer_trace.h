// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/memory/problem.h"

namespace tessera::bench {

enum class TraceKind : std::uint8_t {
  /// Micro-batches of a forward and a backward pass. Weights, optimizer state and gradients of
  /// weights are live throughout. What the backward pass needs is live until the backward pass uses
  /// it. Everything else is live from one op to a few later, workspaces for one op.
  kTraining,
  /// Decoding steps for requests that come and go: the pages of a request's keys and values are
  /// live until it ends, activations from one op to a few later.
  kInference,
  /// A third of each of the above at the same time, and a third of buffers without any pattern:
  /// lifetimes from one moment to all of them, sizes over five orders of magnitude.
  kMixture,
};

/// The parameters of a trace. The defaults have lifetimes like those of a graph in program order.
struct TraceOptions {
  TraceKind kind = TraceKind::kTraining;
  std::int64_t buffers = 100000;  ///< exactly this many, up to 2^24
  std::uint64_t seed = 1;
  std::int64_t layers = 32;    ///< 1 to 4096
  std::int64_t heads = 8;      ///< of attention, each with its own buffers; 1 to 256
  std::int64_t experts = 1;    ///< of a layer's second half, 1 to 256; tokens are spread unevenly
  std::int64_t hidden = 4096;  ///< 1 to 2^15, as tokens
  std::int64_t tokens = 512;   ///< of a micro-batch
  std::int64_t size_percent = 20;  ///< each size is randomly increased by up to this much
  std::int64_t jitter = 0;         ///< births are up to this many moments earlier, deaths later
  bool powers_of_two = false;      ///< round sizes up to one
};

/// The buffers of a transformer. The same options give the same trace everywhere; numbers out of
/// range are clamped.
///
/// Example: transformer_trace({.buffers = 100000, .jitter = 3}) has about 3000 buffers live at
/// once.
memory::Problem transformer_trace(const TraceOptions& options);

}  // namespace tessera::bench
