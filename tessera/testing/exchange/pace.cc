// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/exchange/pace.h"

#include <algorithm>
#include <thread>

namespace tessera::test {
namespace {

constexpr std::int64_t kAway = INT64_MAX;

}  // namespace

Pace::Pace(int ranks) : steps_(static_cast<std::size_t>(ranks), 0) {}

Pace::Moment Pace::now() const {
  const std::lock_guard lock(mutex_);
  // Some time after the epoch, which means "never" to code that stores time points.
  return Moment(std::chrono::hours(1) + time_ * kStep);
}

void Pace::step(int rank) {
  const std::lock_guard lock(mutex_);
  std::int64_t& mine = steps_[static_cast<std::size_t>(rank)];
  if (mine > time_) return;  // the others have to catch up first
  ++mine;
  move_on();
}

void Pace::pass(int rank, std::chrono::milliseconds time) {
  const Moment end = now() + time;
  while (now() < end) {
    step(rank);
    std::this_thread::yield();
  }
}

void Pace::leave(int rank) {
  const std::lock_guard lock(mutex_);
  steps_[static_cast<std::size_t>(rank)] = kAway;
  move_on();
}

void Pace::come_back(int rank) {
  const std::lock_guard lock(mutex_);
  steps_[static_cast<std::size_t>(rank)] = time_;
}

void Pace::move_on() {
  const std::int64_t least = *std::min_element(steps_.begin(), steps_.end());
  if (least != kAway) time_ = std::max(time_, least);
}

}  // namespace tessera::test
