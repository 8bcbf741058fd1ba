// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/exchange.h"

/// What a rank needs to check an exchange together with the others: bytes that all of them can
/// compute, bounded waiting, and a record of the first mistake.
namespace tessera::test {

/// A number that depends on all of its arguments, the same on all ranks.
template <typename... Numbers>
std::uint64_t mixed(std::uint64_t seed, Numbers... numbers) {
  ((seed = (seed ^ static_cast<std::uint64_t>(numbers)) * 0x9e3779b97f4a7c15U, seed ^= seed >> 29),
   ...);
  return seed;
}

/// Walks through `bytes` in words, the last of which may be shorter, and passes their expected
/// content, which depends on `key` alone.
template <typename Bytes, typename Visit>
void for_each_word(Bytes bytes, std::uint64_t key, Visit visit) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof key) {
    visit(bytes.subspan(at, std::min(sizeof key, bytes.size() - at)), key);
    key += 0x9e3779b97f4a7c15U;
  }
}

inline void write_pattern(std::span<std::byte> bytes, std::uint64_t key) {
  for_each_word(bytes, key, [](std::span<std::byte> here, std::uint64_t word) {
    std::memcpy(here.data(), &word, here.size());
  });
}

inline bool has_pattern(std::span<const std::byte> bytes, std::uint64_t key) {
  bool has = true;
  for_each_word(bytes, key, [&](std::span<const std::byte> here, std::uint64_t word) {
    has = has && std::memcmp(here.data(), &word, here.size()) == 0;
  });
  return has;
}

/// An error as text for a mistake.
inline std::string said(std::string_view what, const Error& error) {
  return cat(what, ": ", code_name(error.code), ": ", error.message);
}

/// One rank's view of a test: what it has received, by sender, and the first mistake.
class Witness {
 public:
  Witness(exchange::Exchange& exchange, std::uint64_t seed) : exchange_(exchange), seed_(seed) {}

  exchange::Exchange& exchange() { return exchange_; }
  int rank() const { return exchange_.rank(); }
  int ranks() const { return exchange_.ranks(); }
  std::uint64_t seed() const { return seed_; }
  const std::string& mistake() const { return mistake_; }
  bool fine() const { return mistake_.empty(); }

  void wrong(std::string_view what) {
    if (fine()) mistake_ = cat("rank ", rank(), " of ", ranks(), ": ", what);
  }
  void expect(bool holds, std::string_view what) {
    if (!holds) wrong(what);
  }
  void expect_fine(const Status& status, std::string_view what) {
    if (!status) wrong(said(what, status.error()));
  }
  template <typename T>
  void expect_refused(const Result<T>& result, std::string_view what) {
    if (result.ok()) return wrong(cat(what, " is not refused"));
    if (result.error().code != ErrorCode::kOutOfRange) wrong(said(what, result.error()));
  }

  /// Waits until `done` returns true; returns false when a mistake was found by then.
  template <typename Done>
  bool wait(std::string_view what, Done done) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
    while (fine()) {
      if (done()) return fine();
      if (Clock::now() > end) wrong(cat("waited in vain for ", what));
      exchange_.idle();
    }
    return false;
  }

  /// The next note of `from`; nothing when it does not come.
  std::optional<std::vector<std::byte>> note_of(int from) {
    std::deque<std::vector<std::byte>>& kept = notes_[from];
    const bool came = wait(cat("a note of rank ", from), [&] {
      if (!kept.empty()) return true;
      Result<std::optional<exchange::RankNote>> note = exchange_.heard();
      if (!note) {
        wrong(said("heard", note.error()));
      } else if (*note) {
        notes_[(*note)->from].push_back(std::move((*note)->bytes));
      }
      return !kept.empty();
    });
    if (!came) return std::nullopt;
    std::vector<std::byte> first = std::move(kept.front());
    kept.pop_front();
    return first;
  }

  /// Waits until all ranks have arrived here.
  void meet() {
    for (int to = 0; to < ranks(); ++to) expect_fine(exchange_.tell(to, {}), "tell");
    for (int from = 0; from < ranks() && fine(); ++from) {
      const auto note = note_of(from);
      expect(note && note->empty(), "a note of an earlier law came late");
    }
  }

  std::unique_ptr<exchange::Lane> open(const exchange::LaneSize& size) {
    Result<std::unique_ptr<exchange::Lane>> lane = exchange_.open(size);
    if (lane) return std::move(*lane);
    wrong(said("open", lane.error()));
    return nullptr;
  }

 private:
  exchange::Exchange& exchange_;
  std::uint64_t seed_;
  std::string mistake_;
  std::map<int, std::deque<std::vector<std::byte>>> notes_;
};

}  // namespace tessera::test
