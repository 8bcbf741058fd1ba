// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::fabric {

/// The unit that moves: a word and its message.
struct Wavelet {
  std::uint32_t word;
  std::uint32_t message;
};

/// A queue, and the output by which its wavelets leave.
struct QueueAt {
  std::uint32_t queue = 0;
  std::uint32_t output = 0;
};

/// At most this many queues share an output: one bit each.
inline constexpr std::size_t kMaxQueuesAtOutput = 32;

/// One output of a router.
struct RouterOutput {
  std::uint32_t waiting = 0;      ///< bit k: queue k of the output is not empty
  std::uint32_t passed = 0;       ///< wavelets passed so far
  std::uint32_t first_queue = 0;  ///< queue k of the output is first_queue + k · 2^queue_shift
  std::uint8_t turn = 0;          ///< the queue that has the next turn
  bool listed = false;            ///< in the network's list of active outputs
  bool to_ramp = false;           ///< wavelets that leave here are delivered
};

/// Simulates queues connected by outputs, cycle by cycle, with any steering of wavelets.
///
/// A cycle has two halves. First every output with a waiting wavelet passes one, according to the
/// room in the queues at the start of the cycle. Then the passed wavelets arrive and the freed room
/// becomes available. So the order in which outputs are processed does not matter.
///
/// The work is proportional to the wavelets that move. An output that cannot pass anything is not
/// processed again until one of its full target queues has room, or another wavelet arrives; the
/// same holds for sources. A queue is fed by one output or one source, so it knows which one to
/// wake. There is no allocation per wavelet.
class QueueNetwork {
 public:
  explicit QueueNetwork(std::int32_t queue_depth)
      : depth_(static_cast<std::uint8_t>(queue_depth)) {}

  /// Restarts with these outputs, which have `queues` queues in total.
  void reset(std::vector<RouterOutput> outputs, std::size_t queues, unsigned queue_shift = 0) {
    queue_shift_ = queue_shift;
    outputs_ = std::move(outputs);
    queues_.assign(queues, Queue{0, 0, depth_, 0, 0, 0});
    feeder_.resize(queues);
    active_.clear();
    woken_sources_.clear();
    in_flight_ = 0;
    lines_.clear();
  }

  bool has_room(std::uint32_t queue) const { return queues_[queue].room != 0; }

  /// Requests that the source that feeds a full queue is woken when the queue has room.
  void wake_source(std::uint32_t queue, std::uint32_t source) {
    queues_[queue].wakes = 1;
    feeder_[queue] = kSourceBit | source;
  }
  /// The sources that were woken by the last step.
  const std::vector<std::uint32_t>& woken_sources() const { return woken_sources_; }

  /// Examines an output again whose wavelets waited for something else than room.
  void wake_output(std::uint32_t output) { list(output); }

  /// A source's wavelet enters a queue that has room.
  void enter(QueueAt to, Wavelet wavelet) {
    push(to, wavelet);
    ++in_flight_;
  }
  /// Simulates one cycle. Returns whether a wavelet moved.
  ///   steering.next(from, wavelet, targets)  writes up to 4 queues that follow a queue; negative
  ///   if
  ///                                          the wavelet must wait until the output is woken
  ///   deliver(from, wavelet)                 receives wavelets that leave by a ramp
  template <typename Steering, typename Deliver>
  bool step(Steering& steering, const Deliver& deliver);

  /// Whether no wavelet is in flight.
  bool is_idle() const { return in_flight_ == 0; }
  /// The bytes of the wavelet storage of all queues, full or not.
  std::int64_t queue_bytes() const {
    return static_cast<std::int64_t>(lines_.size() * sizeof(Line));
  }
  const std::vector<RouterOutput>& outputs() const { return outputs_; }

 private:
  /// The storage unit of wavelets: one cache line is enough for most queues.
  struct alignas(64) Line {
    Wavelet wavelets[8];
  };
  /// A ring of `slots` wavelets from line `first_line` on. It has no ring before its first wavelet,
  /// and gets one of twice the size if the ring is full although the queue has room.
  struct Queue {
    std::uint8_t head;
    std::uint8_t count;
    std::uint8_t room;   ///< depth - count at the start of the cycle
    std::uint8_t slots;  ///< 0, or a power of two from 8 on
    std::uint32_t first_line : 31;
    std::uint32_t wakes : 1;  ///< its feeder found it full
  };
  template <typename Lines>
  static auto& slot(Lines* lines, const Queue& queue, unsigned number) {
    const unsigned place = number & (queue.slots - 1U);
    return lines[queue.first_line + place / 8].wavelets[place % 8];
  }
  static constexpr std::uint32_t kSourceBit = std::uint32_t{1} << 31;
  struct Arrival {
    QueueAt to;
    Wavelet wavelet;
  };

  /// Appends to a queue that is known to have room; returns the changed queue.
  Queue appended(Queue queue, Wavelet wavelet) {
    if (queue.count == queue.slots) [[unlikely]] {
      queue = grown(queue);
    }
    slot(lines_.data(), queue, queue.head + 0U + queue.count) = wavelet;
    ++queue.count;
    --queue.room;
    return queue;
  }
  Queue grown(Queue queue) {
    Queue larger = queue;
    larger.head = 0;
    larger.slots = static_cast<std::uint8_t>(queue.slots == 0 ? 8 : 2 * queue.slots);
    larger.first_line = static_cast<std::uint32_t>(lines_.size()) & ~kSourceBit;
    lines_.resize(lines_.size() + larger.slots / 8U);
    for (unsigned i = 0; i < queue.count; ++i) {
      slot(lines_.data(), larger, i) = slot(lines_.data(), queue, queue.head + i);
    }
    return larger;
  }
  void push(QueueAt to, Wavelet wavelet) {
    queues_[to.queue] = appended(queues_[to.queue], wavelet);
    RouterOutput& output = outputs_[to.output];
    output.waiting |= std::uint32_t{1} << ((to.queue - output.first_queue) >> queue_shift_);
    list(to.output);
  }
  void list(std::uint32_t number) {
    if (outputs_[number].listed) return;
    outputs_[number].listed = true;
    active_.push_back(number);
  }
  void free(std::uint32_t number) {
    Queue& queue = queues_[number];
    ++queue.room;
    if (queue.wakes == 0) return;
    queue.wakes = 0;
    const std::uint32_t feeder = feeder_[number];
    if ((feeder & kSourceBit) != 0) {
      woken_sources_.push_back(feeder & ~kSourceBit);
    } else {
      list(feeder);
    }
  }

  std::uint8_t depth_;
  unsigned queue_shift_ = 0;
  std::vector<RouterOutput> outputs_;
  std::vector<Queue> queues_;
  std::vector<Line> lines_;
  std::vector<std::uint32_t> feeder_;  ///< of queues that wake it: an output, or a source
  std::vector<std::uint32_t> active_;  ///< outputs to process
  std::vector<std::uint32_t> woken_sources_;
  std::int64_t in_flight_ = 0;
  std::vector<Arrival> arrivals_;
  std::vector<std::uint32_t> freed_;
};

template <typename Steering, typename Deliver>
bool QueueNetwork::step(Steering& steering, const Deliver& deliver) {
  const std::size_t looked = active_.size();
  if (freed_.size() < looked) {
    freed_.resize(looked);
    arrivals_.resize(looked * 4);
  }
  // Plain pointers: otherwise the compiler must assume that byte writes may change the vectors.
  Queue* const queues = queues_.data();
  RouterOutput* const outputs = outputs_.data();
  std::uint32_t* const active = active_.data();
  const Line* const lines = lines_.data();
  Arrival* arrival = arrivals_.data();
  std::uint32_t* freed = freed_.data();
  const unsigned queue_shift = queue_shift_;

  std::size_t kept = 0;
  for (std::size_t i = 0; i < looked; ++i) {
    const std::uint32_t number = active[i];
    RouterOutput& output = outputs[number];
    std::uint32_t untried = output.waiting;
    unsigned turn = output.turn;
    bool passed = false;
    while (untried != 0) {
      const std::uint32_t from_turn = untried >> turn << turn;
      const auto k = static_cast<unsigned>(std::countr_zero(from_turn != 0 ? from_turn : untried));
      turn = (k + 1) % kMaxQueuesAtOutput;
      const QueueAt from{output.first_queue + (k << queue_shift), number};
      Queue& queue = queues[from.queue];
      const Wavelet wavelet = slot(lines, queue, queue.head);
      if (output.to_ramp) {
        deliver(from, wavelet);
        passed = true;
      } else {
        QueueAt targets[4];
        const int count = steering.next(from, wavelet, targets);
        int t = 0;
        while (t < count && queues[targets[t].queue].room != 0) ++t;
        passed = t == count;
        if (passed) {
          for (t = 0; t < count; ++t) *arrival++ = {targets[t], wavelet};
          if constexpr (requires { Steering::kTakesTurns; }) steering.passed(from, wavelet);
        } else if (count > 0) {
          queues[targets[t].queue].wakes = 1;
          feeder_[targets[t].queue] = number;
        }
      }
      if (passed) {
        ++queue.head;
        --queue.count;
        output.waiting &= ~(std::uint32_t{queue.count == 0} << k);
        output.turn = static_cast<std::uint8_t>(turn);
        ++output.passed;
        *freed++ = from.queue;
        break;
      }
      untried &= ~(std::uint32_t{1} << k);
    }
    output.listed = passed;
    active[kept] = number;
    kept += passed ? 1 : 0;
  }
  active_.resize(kept);

  woken_sources_.clear();
  for (const std::uint32_t* f = freed_.data(); f != freed; ++f) free(*f);
  for (const Arrival* a = arrivals_.data(); a != arrival; ++a) {
    queues[a->to.queue] = appended(queues[a->to.queue], a->wavelet);
    RouterOutput& output = outputs[a->to.output];
    output.waiting |= std::uint32_t{1} << ((a->to.queue - output.first_queue) >> queue_shift);
    if (!output.listed) list(a->to.output);
  }
  if constexpr (requires { Steering::kTakesTurns; }) {
    steering.settle([&](std::uint32_t output) { list(output); },
                    [&](std::uint32_t source) { woken_sources_.push_back(source); });
  }
  in_flight_ += (arrival - arrivals_.data()) - (freed - freed_.data());
  return freed != freed_.data();
}

}  // namespace tessera::fabric
