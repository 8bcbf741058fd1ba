// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/exchange/faulty_exchange.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "tessera/exchange/exchange.h"

namespace tessera::test {

struct FaultyExchange::State {
  State(int number, Faults plan, std::shared_ptr<Pace> clock)
      : rank(number), faults(std::move(plan)), pace(std::move(clock)) {}

  /// Counts a call, and triggers the faults that are planned for it.
  void call(ExchangeCall name) {
    const std::int64_t at = calls[name]++;
    for (const Faults::Delay& delay : faults.delays) {
      if (delay.call != name || delay.at != at) continue;
      if (pace) {
        pace->pass(rank, delay.time);
      } else {
        std::this_thread::sleep_for(delay.time);
      }
    }
    for (const Faults::Hang& hang : faults.hangs) {
      if (hang.call != name || hang.at != at) continue;
      hanging = true;
      if (pace) pace->leave(rank);
      while (!freed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (pace) pace->come_back(rank);
      hanging = false;
    }
  }

  const int rank;
  const Faults faults;
  const std::shared_ptr<Pace> pace;
  std::map<ExchangeCall, std::int64_t> calls;
  std::map<int, std::int64_t> notes_to;
  std::map<int, std::int64_t> packets_to;
  std::atomic<bool> freed = false;
  std::atomic<bool> hanging = false;
};

namespace {

class FaultyLane final : public exchange::Lane {
 public:
  FaultyLane(std::unique_ptr<exchange::Lane> inner, std::shared_ptr<FaultyExchange::State> state)
      : inner_(std::move(inner)), state_(std::move(state)) {}

  Result<std::span<std::byte>> room() override {
    state_->call(ExchangeCall::kRoom);
    return inner_->room();
  }

  Status send(int to, std::int64_t bytes) override {
    state_->call(ExchangeCall::kSend);
    const std::int64_t at = state_->packets_to[to]++;
    for (const Faults::FlippedBit& flip : state_->faults.flipped_bits) {
      if (flip.to != to || flip.at != at || bytes < 1) continue;
      TESSERA_TRY(const std::span<std::byte> packet, inner_->room());
      const std::int64_t byte = flip.bit / 8 % bytes;
      if (byte >= static_cast<std::int64_t>(packet.size())) continue;
      packet[static_cast<std::size_t>(byte)] ^= static_cast<std::byte>(1 << flip.bit % 8);
    }
    for (const Faults::CutPacket& cut : state_->faults.cut_packets) {
      if (cut.to == to && cut.at == at) bytes = std::max<std::int64_t>(0, bytes - cut.bytes);
    }
    return inner_->send(to, bytes);
  }

  Status expect(int from) override {
    state_->call(ExchangeCall::kExpect);
    return inner_->expect(from);
  }

  Result<std::optional<std::span<const std::byte>>> arrived(int from) override {
    state_->call(ExchangeCall::kArrived);
    return inner_->arrived(from);
  }

  Status release(int from) override {
    state_->call(ExchangeCall::kRelease);
    return inner_->release(from);
  }

  std::int64_t staged_bytes() const override { return inner_->staged_bytes(); }

 private:
  std::unique_ptr<exchange::Lane> inner_;
  std::shared_ptr<FaultyExchange::State> state_;
};

}  // namespace

FaultyExchange::FaultyExchange(std::unique_ptr<exchange::Exchange> inner, Faults faults,
                               std::shared_ptr<Pace> pace)
    : inner_(std::move(inner)),
      state_(std::make_shared<State>(inner_->rank(), std::move(faults), std::move(pace))) {}

FaultyExchange::~FaultyExchange() = default;

Result<std::unique_ptr<exchange::Lane>> FaultyExchange::open(const exchange::LaneSize& size) {
  state_->call(ExchangeCall::kOpen);
  TESSERA_TRY(std::unique_ptr<exchange::Lane> lane, inner_->open(size));
  return std::unique_ptr<exchange::Lane>(std::make_unique<FaultyLane>(std::move(lane), state_));
}

Result<std::unique_ptr<exchange::SharedArray>> FaultyExchange::share(std::int64_t bytes) {
  state_->call(ExchangeCall::kShare);
  return inner_->share(bytes);
}

Status FaultyExchange::tell(int to, std::span<const std::byte> bytes) {
  state_->call(ExchangeCall::kTell);
  const std::int64_t at = state_->notes_to[to]++;
  for (const Faults::DroppedNote& drop : state_->faults.dropped_notes) {
    if (drop.to == to && drop.at == at) return ok_status();
  }
  return inner_->tell(to, bytes);
}

Result<std::optional<exchange::RankNote>> FaultyExchange::heard() {
  state_->call(ExchangeCall::kHeard);
  return inner_->heard();
}

void FaultyExchange::idle() {
  state_->call(ExchangeCall::kIdle);
  if (state_->pace) state_->pace->step(state_->rank);
  inner_->idle();
}

std::chrono::steady_clock::time_point FaultyExchange::now() const {
  return state_->pace ? state_->pace->now() : inner_->now();
}

void FaultyExchange::let_go() { state_->freed = true; }

bool FaultyExchange::hangs() const { return state_->hanging; }

std::vector<std::unique_ptr<exchange::Exchange>> paced_exchange(const std::shared_ptr<Pace>& pace,
                                                                int ranks, int faulty,
                                                                const Faults& faults) {
  std::vector<std::unique_ptr<exchange::Exchange>> all = exchange::in_process_exchange(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    auto& slot = all[static_cast<std::size_t>(rank)];
    slot =
        std::make_unique<FaultyExchange>(std::move(slot), rank == faulty ? faults : Faults{}, pace);
  }
  return all;
}

}  // namespace tessera::test
