// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/queue_network.h"
#include "tessera/fabric/simulate.h"
#include "tessera/fabric/traffic.h"

namespace tessera::fabric {

/// The processors at the ends of the ramps: they send messages word by word, receive and combine.
///
/// Cycles here are those of the routers: a word that enters its router in cycle c has left its
/// processor in cycle c - T_R, and one that leaves the last router in cycle c arrives in c + T_R. A
/// word enters its router as soon as there is room, which is when a ramp with a queue would let it
/// enter, so ramps need no queues.
class Processors {
 public:
  /// For a traffic that `check` accepts. kTooLarge if messages wait for more than 2^28 words.
  static Result<Processors> make(const FabricMesh& mesh, const Traffic& traffic,
                                 const SimulateOptions& options, const Sink& sink);

  /// Starts these messages: each source sends its own messages in increasing order. Where messages
  /// name their colours, it does so for each colour independently.
  void begin(std::vector<std::uint32_t> messages);

  /// Makes the words available whose wait ends by this cycle.
  void release(std::int64_t cycle);
  /// The cycle at which the next wait ends, if any.
  std::optional<std::int64_t> next_release() const {
    std::optional<std::int64_t> next;
    if (!releases_.empty()) next = releases_.front().cycle;
    if (!starts_.empty()) next = std::min(next.value_or(INT64_MAX), starts_.top().first);
    return next;
  }

  /// Each processor that can send sends one word; if several of its colours can, in round-robin
  /// order. Returns whether any did.
  ///   steering.first(message, targets)  writes up to 4: the queues of the source
  template <typename Steering>
  bool depart(QueueNetwork& network, Steering& steering, std::int64_t cycle);

  void deliver(std::uint32_t message, std::uint32_t destination, std::uint32_t word,
               std::int64_t cycle);

  const std::vector<MessageTimes>& times() const { return times_; }
  std::vector<MessageTimes>& times() { return times_; }
  std::int64_t last_delivery() const { return last_delivery_; }
  std::int64_t undelivered() const { return undelivered_; }
  const std::vector<std::int64_t>& ramp_out() const { return ramp_out_; }

 private:
  /// A processor's list of messages: all of them, or those of one colour.
  struct Source {
    std::int32_t node = 0;
    std::int32_t thread = 0;  ///< the colour, where messages name it
    std::uint32_t message = 0;
    std::size_t place = 0;  ///< position of the message in order_
    std::int64_t index = 0;
    std::int64_t words = 0;
    int targets = -1;  ///< how many; -1 before the first word
    bool awake = false;
    QueueAt target[4];
  };
  /// Word `index` of the message may be used at this destination from `cycle` on.
  struct Release {
    std::int64_t cycle = 0;
    std::uint32_t message = 0;
    std::uint32_t destination = 0;
  };

  Processors(const FabricMesh& mesh, const Traffic& traffic, const SimulateOptions& options,
             const Sink& sink);
  Status prepare_waits();
  void wake(std::uint32_t number);
  /// The first of the next word's queues that has no room, or their number if all have room.
  static int first_full(const QueueNetwork& network, const Source& source) {
    int t = 0;
    while (t < source.targets && network.has_room(source.target[t].queue)) ++t;
    return t;
  }
  void take_up(Source& source, std::size_t place);
  std::int32_t thread_of(std::uint32_t message) const {
    return by_colour_ ? traffic_.messages[message].colour : 0;
  }
  /// Whether the next word can leave now. Otherwise the source is woken when it may be able to.
  template <typename Steering>
  bool is_ready(QueueNetwork& network, Steering& steering, std::uint32_t number,
                std::int64_t cycle);
  /// Sends one word; false if it was the last of the source.
  template <typename Steering>
  bool send(QueueNetwork& network, Steering& steering, Source& source, std::int64_t cycle);
  template <typename Steering>
  bool depart_by_colour(QueueNetwork& network, Steering& steering, std::int64_t cycle);
  /// The cycle before which the next word must not enter its router.
  std::int64_t start_of(const Source& source) const {
    if (source.index > 0) return 0;
    return traffic_.messages[source.message].not_before + ramp_cycles_;
  }
  /// Whether everything that the next word waits for has arrived.
  bool is_released(const Source& source) const;
  std::uint32_t next_word(const Source& source) const;
  /// Called after the last word of a message; false if it was the last message of the source.
  bool finish(Source& source);

  const Traffic& traffic_;
  Combine combine_;
  const Sink& sink_;
  std::int64_t ramp_cycles_;
  std::vector<MessageTimes> times_;
  std::vector<std::uint32_t> first_end_;  ///< of each message in arrived_
  std::vector<std::uint32_t> arrived_;    ///< words received at each destination of each message
  std::vector<std::int64_t> ramp_out_;
  std::int64_t undelivered_ = 0;
  std::int64_t last_delivery_ = -1;

  bool by_colour_ = false;
  std::vector<std::uint32_t> order_;  ///< the started messages, by source
  std::vector<Source> sources_;
  std::vector<std::uint32_t> awake_;
  std::vector<std::uint32_t> chosen_;  ///< by router: the source that sends in this cycle
  std::vector<std::int32_t> turn_;     ///< by router: the colour that sends next

  /// Sources that sleep until a cycle, earliest first.
  using Start = std::pair<std::int64_t, std::uint32_t>;
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;

  bool waits_ = false;                      ///< some message waits; else the fields below are empty
  std::vector<std::uint32_t> first_wait_;   ///< of each message in awaited_end_
  std::vector<std::uint32_t> awaited_end_;  ///< the entry of released_ that a wait reads
  std::vector<std::uint32_t> released_;     ///< available words of each end
  std::vector<std::int64_t> kept_at_;       ///< of each message in kept_; -1 if nothing waits
  std::vector<std::uint32_t> kept_;         ///< words that others wait for
  std::vector<std::int32_t> source_at_;     ///< the first entry of sources_ at a router, or -1
  std::deque<Release> releases_;            ///< ordered by cycle, because the delay is fixed
};

template <typename Steering>
bool Processors::is_ready(QueueNetwork& network, Steering& steering, std::uint32_t number,
                          std::int64_t cycle) {
  Source& source = sources_[number];
  if (source.targets < 0) source.targets = steering.first(source.message, source.target);
  if (const std::int64_t start = start_of(source); start > cycle) {
    starts_.emplace(start, number);
    return false;
  }
  if (waits_ && !is_released(source)) return false;
  if constexpr (requires { Steering::kTakesTurns; }) {
    if (!steering.may_send(source.message, number)) return false;
  }
  const int full = first_full(network, source);
  if (full == source.targets) return true;
  network.wake_source(source.target[full].queue, number);
  return false;
}

template <typename Steering>
bool Processors::send(QueueNetwork& network, Steering& steering, Source& source,
                      std::int64_t cycle) {
  const Wavelet wavelet{next_word(source), source.message};
  for (int t = 0; t < source.targets; ++t) network.enter(source.target[t], wavelet);
  if constexpr (requires { Steering::kTakesTurns; }) {
    steering.sent(source.message, [&](std::uint32_t output) { network.wake_output(output); });
  }
  MessageTimes& times = times_[source.message];
  times.last_departure = cycle - ramp_cycles_;
  if (source.index == 0) times.first_departure = times.last_departure;
  return ++source.index < source.words || finish(source);
}

template <typename Steering>
bool Processors::depart(QueueNetwork& network, Steering& steering, std::int64_t cycle) {
  for (const std::uint32_t number : network.woken_sources()) wake(number);
  if constexpr (requires { Steering::kTakesTurns; }) {
    return depart_by_colour(network, steering, cycle);
  }
  bool departed = false;
  std::size_t kept = 0;
  for (const std::uint32_t number : awake_) {
    Source& source = sources_[number];
    if (!is_ready(network, steering, number, cycle)) {
      source.awake = false;
      continue;
    }
    departed = true;
    if (send(network, steering, source, cycle)) awake_[kept++] = number;
  }
  awake_.resize(kept);
  return departed;
}

template <typename Steering>
bool Processors::depart_by_colour(QueueNetwork& network, Steering& steering, std::int64_t cycle) {
  constexpr std::uint32_t kNobody = UINT32_MAX;
  const auto colours = static_cast<std::int32_t>(kMaxQueuesAtOutput);
  const auto wait = [&](std::uint32_t number) {  // until its colour has the turn
    const Source& source = sources_[number];
    return (source.thread - turn_[static_cast<std::size_t>(source.node)] + colours) % colours;
  };
  for (const std::uint32_t number : awake_) {
    Source& source = sources_[number];
    source.awake = is_ready(network, steering, number, cycle);
    if (!source.awake) continue;
    std::uint32_t& chosen = chosen_[static_cast<std::size_t>(source.node)];
    if (chosen == kNobody || wait(number) < wait(chosen)) chosen = number;
  }
  std::erase_if(awake_, [&](std::uint32_t number) { return !sources_[number].awake; });
  bool departed = false;
  for (const std::uint32_t number : awake_) {
    Source& source = sources_[number];
    const auto node = static_cast<std::size_t>(source.node);
    if (chosen_[node] != number) continue;
    chosen_[node] = kNobody;
    turn_[node] = (source.thread + 1) % colours;
    departed = true;
    send(network, steering, source, cycle);
  }
  std::erase_if(awake_, [&](std::uint32_t number) { return !sources_[number].awake; });
  return departed;
}

}  // namespace tessera::fabric
