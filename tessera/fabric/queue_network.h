// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera {

/// What moves: a word and the message it belongs to.
struct Wavelet {
  std::uint32_t word;
  std::uint32_t message;
};

/// A queue, and the output that its wavelets leave by.
struct QueueAt {
  std::uint32_t queue = 0;
  std::uint32_t output = 0;
};

/// At most this many queues share an output: one bit each.
inline constexpr std::size_t kMaxQueuesAtOutput = 64;

/// One way out of a router.
struct RouterOutput {
  std::uint64_t waiting = 0;      ///< bit k: queue first_queue + k is not empty
  std::int64_t passed = 0;        ///< wavelets so far
  std::uint32_t first_queue = 0;  ///< its queues are numbered in a row
  std::uint8_t turn = 0;          ///< the queue that is looked at first
  bool listed = false;            ///< in the network's list of outputs to look at
  bool to_ramp = false;           ///< what leaves here is delivered
};

/// Queues joined by outputs, cycle by cycle, whatever steers the wavelets.
///
/// A cycle has two halves. First every output that has something waiting passes one wavelet, judged
/// by the room that queues had at the start; then what was passed arrives and the room that became
/// free counts. So the order in which outputs are looked at does not matter.
///
/// Work is proportional to wavelets that move. An output that cannot pass anything is not looked at
/// again before one of the queues that it found full has room, or another wavelet comes to wait;
/// the same holds for sources. A queue is fed by one output or one source, so it knows whom to
/// wake. Nothing is allocated for a wavelet.
class QueueNetwork {
 public:
  explicit QueueNetwork(std::int32_t queue_depth)
      : depth_(static_cast<std::uint8_t>(queue_depth)),
        ring_(std::bit_ceil(static_cast<std::size_t>(queue_depth))) {}

  /// Starts anew with these outputs, which have `queues` queues together.
  void reset(std::vector<RouterOutput> outputs, std::size_t queues) {
    outputs_ = std::move(outputs);
    queues_.assign(queues, Queue{0, 0, depth_, false});
    feeder_.resize(queues);
    active_.clear();
    woken_sources_.clear();
    in_flight_ = 0;
    if (queues * ring_ <= capacity_) return;
    capacity_ = queues * ring_;
    wavelets_ = std::make_unique_for_overwrite<Wavelet[]>(capacity_);  // pages are touched by use
  }

  bool has_room(std::uint32_t queue) const { return queues_[queue].room != 0; }

  /// Has the source that feeds a full queue woken when it has room.
  void wake_source(std::uint32_t queue, std::uint32_t source) {
    queues_[queue].wakes = true;
    feeder_[queue] = kSourceBit | source;
  }
  /// The sources that were woken by the last step.
  const std::vector<std::uint32_t>& woken_sources() const { return woken_sources_; }

  /// A source's wavelet enters a queue that has room.
  void enter(QueueAt to, Wavelet wavelet) {
    push(to, wavelet);
    ++in_flight_;
  }
  /// One cycle. Answers whether a wavelet moved.
  ///   steering.next(from, wavelet, targets)  fills in up to 4 that follow a queue
  ///   deliver(from, wavelet)                 takes what leaves by a ramp
  template <typename Steering, typename Deliver>
  bool step(const Steering& steering, const Deliver& deliver);

  /// No wavelet is under way.
  bool is_idle() const { return in_flight_ == 0; }
  const std::vector<RouterOutput>& outputs() const { return outputs_; }

 private:
  struct Queue {
    std::uint8_t head;
    std::uint8_t count;
    std::uint8_t room;  ///< depth - count, as it was at the start of the cycle
    bool wakes;         ///< its feeder found it full
  };
  static constexpr std::uint32_t kSourceBit = std::uint32_t{1} << 31;
  struct Arrival {
    QueueAt to;
    Wavelet wavelet;
  };

  void push(QueueAt to, Wavelet wavelet) {
    Queue& queue = queues_[to.queue];
    wavelets_[to.queue * ring_ + ((queue.head + queue.count) & (ring_ - 1))] = wavelet;
    ++queue.count;
    --queue.room;
    RouterOutput& output = outputs_[to.output];
    output.waiting |= std::uint64_t{1} << (to.queue - output.first_queue);
    list(to.output);
  }
  void list(std::uint32_t number) {
    if (outputs_[number].listed) return;
    outputs_[number].listed = true;
    active_.push_back(number);
  }
  void free(std::uint32_t number);

  /// Passes the head of queue k of an output if it can move.
  template <typename Steering, typename Deliver>
  bool pass(std::uint32_t number, unsigned k, const Steering& steering, const Deliver& deliver);

  std::uint8_t depth_;
  std::size_t ring_;
  std::vector<RouterOutput> outputs_;
  std::vector<Queue> queues_;
  std::unique_ptr<Wavelet[]> wavelets_;
  std::size_t capacity_ = 0;
  std::vector<std::uint32_t>
      feeder_;  ///< of queues that wake it: an output, or kSourceBit | source
  std::vector<std::uint32_t> active_;  ///< outputs to look at
  std::vector<std::uint32_t> woken_sources_;
  std::int64_t in_flight_ = 0;
  std::vector<Arrival> arrivals_;
  std::vector<std::uint32_t> freed_;
};

inline void QueueNetwork::free(std::uint32_t number) {
  Queue& queue = queues_[number];
  ++queue.room;
  if (!queue.wakes) return;
  queue.wakes = false;
  const std::uint32_t feeder = feeder_[number];
  if ((feeder & kSourceBit) != 0) {
    woken_sources_.push_back(feeder & ~kSourceBit);
  } else {
    list(feeder);
  }
}

template <typename Steering, typename Deliver>
bool QueueNetwork::pass(std::uint32_t number, unsigned k, const Steering& steering,
                        const Deliver& deliver) {
  RouterOutput& output = outputs_[number];
  const QueueAt from{output.first_queue + k, number};
  Queue& queue = queues_[from.queue];
  const Wavelet wavelet = wavelets_[from.queue * ring_ + (queue.head & (ring_ - 1))];
  if (output.to_ramp) {
    deliver(from, wavelet);
  } else {
    QueueAt targets[4];
    const int count = steering.next(from, wavelet, targets);
    for (int t = 0; t < count; ++t) {
      if (has_room(targets[t].queue)) continue;
      queues_[targets[t].queue].wakes = true;
      feeder_[targets[t].queue] = number;
      return false;
    }
    for (int t = 0; t < count; ++t) arrivals_.push_back({targets[t], wavelet});
  }
  ++queue.head;
  if (--queue.count == 0) output.waiting &= ~(std::uint64_t{1} << k);
  ++output.passed;
  output.turn = static_cast<std::uint8_t>((k + 1) % kMaxQueuesAtOutput);
  freed_.push_back(from.queue);
  return true;
}

template <typename Steering, typename Deliver>
bool QueueNetwork::step(const Steering& steering, const Deliver& deliver) {
  arrivals_.clear();
  freed_.clear();
  std::size_t kept = 0;
  for (const std::uint32_t number : active_) {
    RouterOutput& output = outputs_[number];
    if (output.waiting == 0) {
      output.listed = false;
      continue;
    }
    const std::uint64_t from_turn = output.waiting >> output.turn << output.turn;
    bool passed = false;
    for (std::uint64_t part : {from_turn, output.waiting ^ from_turn}) {
      for (; part != 0 && !passed; part &= part - 1) {
        passed = pass(number, static_cast<unsigned>(std::countr_zero(part)), steering, deliver);
      }
    }
    output.listed = passed;
    if (passed) active_[kept++] = number;
  }
  active_.resize(kept);
  woken_sources_.clear();
  for (const std::uint32_t queue : freed_) free(queue);
  for (const Arrival& arrival : arrivals_) push(arrival.to, arrival.wavelet);
  in_flight_ +=
      static_cast<std::int64_t>(arrivals_.size()) - static_cast<std::int64_t>(freed_.size());
  return !freed_.empty();
}

}  // namespace tessera
