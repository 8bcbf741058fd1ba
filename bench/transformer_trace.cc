// SPDX-License-Identifier: Apache-2.0
#include "bench/transformer_trace.h"

#include <algorithm>
#include <bit>

#include "tessera/base/mixing.h"

namespace tessera::bench {
namespace {

using memory::Buffer;
using memory::Problem;

constexpr std::int64_t kBytes = 2;  // of an element: bf16
constexpr std::int64_t kEnd = INT64_MAX;

/// Buffers in the order of an execution. Time is the number of the op.
class Trace {
 public:
  Trace(const TraceOptions& options, std::int64_t buffers, std::uint64_t salt)
      : options_(options), left_(buffers), state_(mixed(options.seed) ^ mixed(salt)) {}

  void train();
  void infer();
  void scatter(std::int64_t span);

  /// All buffers; those without a death live to the end.
  std::vector<Buffer> finish();
  std::int64_t now() const { return now_; }

 private:
  std::int64_t below(std::int64_t limit) {
    return limit <= 1
               ? 0
               : static_cast<std::int64_t>(mixed(state_++) % static_cast<std::uint64_t>(limit));
  }
  bool full() const { return left_ == 0; }
  void add(std::int64_t lower, std::int64_t upper, std::int64_t elements);
  /// The output of an op, read by `uses` further ops.
  void output(std::int64_t elements, std::int64_t uses) { add(now_, now_ + 1 + uses, elements); }
  std::int64_t forward_ops() const { return 4 + 2 * options_.heads + 2 * options_.experts; }
  std::int64_t backward_ops() const { return 1 + options_.heads + 2 * options_.experts; }
  void forward(std::int64_t last);
  void backward();

  const TraceOptions& options_;
  std::int64_t left_;
  std::uint64_t state_;
  std::int64_t now_ = 0;
  std::vector<Buffer> buffers_;
};

void Trace::add(std::int64_t lower, std::int64_t upper, std::int64_t elements) {
  if (full()) return;
  --left_;
  std::int64_t size = std::max<std::int64_t>(1, elements) * kBytes;
  size += below(size * options_.size_percent / 100 + 1);
  if (options_.powers_of_two) {
    size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
  }
  Buffer buffer;
  buffer.lower = std::max<std::int64_t>(0, lower - below(options_.jitter + 1));
  buffer.upper = upper == kEnd ? kEnd : upper + below(options_.jitter + 1);
  buffer.size = size;
  buffers_.push_back(buffer);
}

/// One layer. What the backward pass needs dies in reverse order, that of the first op at `last`.
void Trace::forward(std::int64_t last) {
  const std::int64_t whole = options_.tokens * options_.hidden;
  const std::int64_t started = now_;
  const auto keep = [&](std::int64_t elements) {  // until the mirror of this op
    add(now_, last - (now_ - started) * backward_ops() / forward_ops(), elements);
    ++now_;
  };
  keep(whole);            // the norm of the input, which is the residual stream
  output(whole / 64, 0);  // its statistics
  for (std::int64_t head = 0; head < options_.heads; ++head) {
    keep(3 * whole / options_.heads);                  // queries, keys, values
    output(options_.tokens * options_.tokens / 4, 1);  // scores
    keep(whole / options_.heads);                      // the output of the head
  }
  output(whole, 2);  // projection
  ++now_;
  keep(whole);  // second norm
  std::int64_t tokens_left = options_.tokens;
  for (std::int64_t expert = 0; expert < options_.experts; ++expert) {
    const bool is_last = expert + 1 == options_.experts;
    const std::int64_t share = is_last ? tokens_left : below(tokens_left / 2 + 1);
    tokens_left -= share;
    keep(4 * share * options_.hidden);       // up
    output(4 * share * options_.hidden, 1);  // the activation function
    ++now_;
    output(share * options_.hidden, 1);  // down
  }
  ++now_;
}

/// One layer, in reverse: gradients are live from an op to the one or two before it in the network.
void Trace::backward() {
  const std::int64_t whole = options_.tokens * options_.hidden;
  for (std::int64_t expert = 0; expert < options_.experts; ++expert) {
    output(4 * whole / options_.experts, 1);
    ++now_;
    output(whole / options_.experts, 2);
    if (below(2) == 0) output(below(whole) + 1, 0);  // workspace
    ++now_;
  }
  for (std::int64_t head = 0; head < options_.heads; ++head) {
    output(options_.tokens * options_.tokens / 4, 1);
    output(3 * whole / options_.heads, 1 + below(3));
    ++now_;
  }
  output(whole, 3);
  ++now_;
}

void Trace::train() {
  const std::int64_t square = options_.hidden * options_.hidden;
  for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
    for (const std::int64_t size : {4 * square, 8 * square}) {
      add(0, kEnd, size / 64);      // this place's share of the weights,
      add(0, kEnd, size / 64 * 4);  // of the optimizer's two moments in f32,
      add(0, kEnd, size / 64 * 2);  // and of the gradients
    }
  }
  while (!full()) {
    const std::int64_t turn = now_ + options_.layers * forward_ops();
    for (std::int64_t layer = 0; layer < options_.layers && !full(); ++layer) {
      forward(turn + (options_.layers - layer) * backward_ops());
    }
    now_ = std::max(now_, turn);
    for (std::int64_t layer = 0; layer < options_.layers && !full(); ++layer) backward();
  }
}

void Trace::infer() {
  constexpr std::int64_t kRequests = 24;
  constexpr std::int64_t kPage = 16;  // tokens
  const std::int64_t per_layer = options_.heads + options_.experts + 4;
  const std::int64_t per_step = per_layer * options_.layers;
  std::vector<std::int64_t> ends(kRequests, 0);  // the step before which each request ends
  for (std::int64_t step = 0; !full(); ++step) {
    for (std::int64_t& end : ends) {
      if (step >= end) end = step + 1 + below(20 * kPage);
    }
    for (std::int64_t layer = 0; layer < options_.layers && !full(); ++layer) {
      const std::int64_t batch = kRequests * options_.hidden;
      output(batch, per_layer - 1);  // the residual stream, read at the end of the layer
      ++now_;
      for (std::size_t request = 0; request < ends.size(); ++request) {
        if ((step + static_cast<std::int64_t>(request)) % kPage != 0) continue;
        add(now_, now_ + (ends[request] - step) * per_step, 2 * kPage * options_.hidden / 8);
      }
      for (std::int64_t head = 0; head < options_.heads; ++head) {
        output(3 * batch / options_.heads, 1 + below(2));
        output(below(batch) + 1, 0);  // workspace
        ++now_;
      }
      output(batch, 2);
      ++now_;
      for (std::int64_t expert = 0; expert < options_.experts; ++expert) {
        output(4 * (below(batch) + 1) / options_.experts, 1);
        ++now_;
      }
      output(batch, 1);
      now_ += 2;
    }
  }
}

void Trace::scatter(std::int64_t span) {
  const auto octave = [this](int most) {  // every order of magnitude is equally likely
    const std::int64_t low = std::int64_t{1} << below(most);
    return low + below(low);
  };
  const auto longest =
      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(span, 2))));
  while (!full()) {
    const std::int64_t life = std::min(octave(longest - 1), span);
    const std::int64_t lower = below(span - life + 1);
    add(lower, lower + life, octave(18));
  }
  now_ = span;
}

std::vector<Buffer> Trace::finish() {
  std::int64_t end = now_ + 1;
  for (const Buffer& buffer : buffers_) {
    if (buffer.upper != kEnd) end = std::max(end, buffer.upper);
  }
  for (Buffer& buffer : buffers_) buffer.upper = std::min(buffer.upper, end);
  return std::move(buffers_);
}

TraceOptions within_range(TraceOptions options) {
  const auto clamp = [](std::int64_t& number, std::int64_t low, std::int64_t high) {
    number = std::clamp(number, low, high);
  };
  clamp(options.buffers, 0, 1 << 24);
  clamp(options.layers, 1, 4096);
  clamp(options.heads, 1, 256);
  clamp(options.experts, 1, 256);
  clamp(options.hidden, 1, 1 << 15);
  clamp(options.tokens, 1, 1 << 15);
  clamp(options.size_percent, 0, 100);
  clamp(options.jitter, 0, 1 << 20);
  return options;
}

}  // namespace

Problem transformer_trace(const TraceOptions& options) {
  const TraceOptions used = within_range(options);
  Problem problem;
  const auto append = [&problem](Trace& trace) {
    const std::vector<Buffer> buffers = trace.finish();
    problem.buffers.insert(problem.buffers.end(), buffers.begin(), buffers.end());
  };
  const bool is_mixture = used.kind == TraceKind::kMixture;
  const std::int64_t share = is_mixture ? used.buffers / 3 : used.buffers;
  std::int64_t span = 1;
  if (used.kind != TraceKind::kInference) {
    Trace trace(used, share, 1);
    trace.train();
    span = std::max(span, trace.now());
    append(trace);
  }
  if (used.kind != TraceKind::kTraining) {
    Trace trace(used, share, 2);
    trace.infer();
    span = std::max(span, trace.now());
    append(trace);
  }
  if (is_mixture) {
    Trace trace(used, used.buffers - 2 * share, 3);
    trace.scatter(span);
    append(trace);
  }
  return problem;
}

}  // namespace tessera::bench
