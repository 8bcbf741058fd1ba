// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/processors.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/fabric/message_order.h"

namespace tessera::fabric {
namespace {

constexpr std::int64_t kMaxKept = std::int64_t{1} << 28;

}  // namespace

Processors::Processors(const FabricMesh& mesh, const Traffic& traffic,
                       const SimulateOptions& options, const Sink& sink)
    : traffic_(traffic),
      combine_(options.combine),
      sink_(sink),
      ramp_cycles_(mesh.ramp_cycles),
      times_(traffic.messages.size()),
      ramp_out_(static_cast<std::size_t>(mesh.nodes())) {
  std::uint32_t ends = 0;
  first_end_.reserve(traffic.messages.size());
  for (const FabricMessage& message : traffic.messages) {
    first_end_.push_back(ends);
    ends += static_cast<std::uint32_t>(message.destinations.count);
    undelivered_ += message.destinations.count * message.words;
    waits_ = waits_ || message.after.count > 0;
    by_colour_ = by_colour_ || message.colour != kAnyColour;
  }
  by_colour_ = by_colour_ && options.mode == FabricMode::kStatic;
  if (by_colour_) {
    chosen_.assign(static_cast<std::size_t>(mesh.nodes()), UINT32_MAX);
    turn_.assign(static_cast<std::size_t>(mesh.nodes()), 0);
  }
  arrived_.resize(ends);
  for (MessageTimes& times : times_) times.first_delivery = -1;
}

Result<Processors> Processors::make(const FabricMesh& mesh, const Traffic& traffic,
                                    const SimulateOptions& options, const Sink& sink) {
  Processors processors(mesh, traffic, options, sink);
  if (processors.waits_) {
    TESSERA_CHECK_OK(processors.prepare_waits());
    processors.source_at_.assign(static_cast<std::size_t>(mesh.nodes()), -1);
  }
  return processors;
}

Status Processors::prepare_waits() {
  TESSERA_TRY(const std::vector<std::int64_t> destination, awaited_destinations(traffic_));
  kept_at_.assign(traffic_.messages.size(), -1);
  std::int64_t kept = 0;
  for (const FabricMessage& message : traffic_.messages) {
    first_wait_.push_back(static_cast<std::uint32_t>(awaited_end_.size()));
    for (const std::int64_t awaited : traffic_.after_of(message)) {
      const auto at = static_cast<std::size_t>(awaited);
      awaited_end_.push_back(first_end_[at] +
                             static_cast<std::uint32_t>(destination[awaited_end_.size()]));
      if (kept_at_[at] >= 0) continue;
      kept_at_[at] = kept;
      kept += traffic_.messages[at].words;
      if (kept <= kMaxKept) continue;
      return Error{ErrorCode::kTooLarge,
                   cat("messages wait for more than ", kMaxKept, " words of other messages"),
                   std::nullopt, "simulate fewer words at a time"};
    }
  }
  kept_.resize(static_cast<std::size_t>(kept));
  released_.resize(arrived_.size());
  return ok_status();
}

void Processors::begin(std::vector<std::uint32_t> messages) {
  const auto node = [&](std::uint32_t message) { return traffic_.messages[message].source; };
  if (waits_) {
    for (const std::uint32_t m : order_) source_at_[static_cast<std::size_t>(node(m))] = -1;
  }
  order_ = std::move(messages);
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(node(a), thread_of(a), a) < std::tuple(node(b), thread_of(b), b);
  });
  sources_.clear();
  awake_.clear();
  for (std::size_t place = 0; place < order_.size(); ++place) {
    Source source;
    source.node = node(order_[place]);
    source.thread = thread_of(order_[place]);
    const bool same_node = !sources_.empty() && sources_.back().node == source.node;
    if (same_node && sources_.back().thread == source.thread) continue;
    const auto number = static_cast<std::uint32_t>(sources_.size());
    if (waits_ && !same_node) {
      source_at_[static_cast<std::size_t>(source.node)] = static_cast<std::int32_t>(number);
    }
    source.awake = true;
    take_up(source, place);
    sources_.push_back(source);
    awake_.push_back(number);
  }
}

void Processors::wake(std::uint32_t number) {
  Source& source = sources_[number];
  if (source.awake || source.words == 0) return;
  source.awake = true;
  awake_.push_back(number);
}

void Processors::take_up(Source& source, std::size_t place) {
  source.place = place;
  source.message = order_[place];
  source.index = 0;
  source.words = traffic_.messages[source.message].words;
  source.targets = -1;
}

bool Processors::finish(Source& source) {
  ramp_out_[static_cast<std::size_t>(source.node)] += source.words;
  const std::size_t next = source.place + 1;
  if (next < order_.size() && traffic_.messages[order_[next]].source == source.node &&
      thread_of(order_[next]) == source.thread) {
    take_up(source, next);
    return true;
  }
  source.awake = false;
  source.index = 0;
  source.words = 0;  // nothing is left to send, so a release does not wake it
  return false;
}

bool Processors::is_released(const Source& source) const {
  const auto first = first_wait_[source.message];
  const auto count = traffic_.messages[source.message].after.count;
  for (std::uint32_t w = first; w < first + count; ++w) {
    if (released_[awaited_end_[w]] <= source.index) return false;
  }
  return true;
}

std::uint32_t Processors::next_word(const Source& source) const {
  const FabricMessage& message = traffic_.messages[source.message];
  std::uint32_t word =
      traffic_.payload[static_cast<std::size_t>(message.first_word + source.index)];
  if (!waits_) return word;
  for (const std::int64_t awaited : traffic_.after_of(message)) {
    const std::int64_t begin = kept_at_[static_cast<std::size_t>(awaited)];
    word = combine_(word, kept_[static_cast<std::size_t>(begin + source.index)]);
  }
  return word;
}

void Processors::release(std::int64_t cycle) {
  for (; !starts_.empty() && starts_.top().first <= cycle; starts_.pop())
    wake(starts_.top().second);
  while (!releases_.empty() && releases_.front().cycle <= cycle) {
    const Release release = releases_.front();
    releases_.pop_front();
    ++released_[first_end_[release.message] + release.destination];
    const FabricMessage& message = traffic_.messages[release.message];
    const std::int32_t node = traffic_.destinations_of(message)[release.destination];
    const std::int32_t number = source_at_[static_cast<std::size_t>(node)];
    if (number < 0) continue;
    for (auto at = static_cast<std::size_t>(number);
         at < sources_.size() && sources_[at].node == node; ++at) {
      wake(static_cast<std::uint32_t>(at));
    }
  }
}

void Processors::deliver(std::uint32_t message, std::uint32_t destination, std::uint32_t word,
                         std::int64_t cycle) {
  const std::int64_t arrival = cycle + ramp_cycles_;
  const std::uint32_t index = arrived_[first_end_[message] + destination]++;
  MessageTimes& times = times_[message];
  if (times.first_delivery < 0) times.first_delivery = arrival;
  times.last_delivery = arrival;
  last_delivery_ = arrival;
  --undelivered_;
  if (waits_ && kept_at_[message] >= 0) {
    // Every destination gets the same word, so one copy is stored.
    kept_[static_cast<std::size_t>(kept_at_[message] + index)] = word;
    // The result is available one cycle after the arrival (the add), and in the router one ramp
    // later.
    releases_.push_back({arrival + 1 + ramp_cycles_, message, destination});
  }
  if (sink_) sink_({message, destination, index, word, arrival});
}

}  // namespace tessera::fabric
