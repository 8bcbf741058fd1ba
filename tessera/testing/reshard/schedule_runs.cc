// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/schedule_runs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tessera/base/mixing.h"
#include "tessera/base/text.h"
#include "tessera/fabric/simulate.h"

namespace tessera::test {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 22;

/// Appends bits one behind the other to 32-bit words.
class BitWriter {
 public:
  void append(std::uint32_t word, std::int64_t bits) {
    const std::uint64_t kept = bits == 32 ? word : word & ((std::uint32_t{1} << bits) - 1);
    pending_ |= kept << used_;
    used_ += bits;
    if (used_ < 32) return;
    words_.push_back(static_cast<std::uint32_t>(pending_));
    pending_ >>= 32;
    used_ -= 32;
  }
  std::vector<std::uint32_t> take() {
    if (used_ > 0) words_.push_back(static_cast<std::uint32_t>(pending_));
    return std::move(words_);
  }

 private:
  std::uint64_t pending_ = 0;
  std::int64_t used_ = 0;
  std::vector<std::uint32_t> words_;
};

std::uint32_t random_word(std::uint64_t seed) { return static_cast<std::uint32_t>(mixed(seed)); }

class Runner {
 public:
  Runner(const reshard::Reshard& reshard, const reshard::ScheduleProgram& program)
      : reshard_(reshard), program_(program), mesh_(*reshard.physical().fabric) {}

  ScheduleRun run() {
    add_up();
    move();
    return std::move(run_);
  }

 private:
  /// Simulates one round and collects the words that arrive, by message and destination.
  using Arrived = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::uint32_t>>;
  Arrived simulate(const fabric::Traffic& traffic) {
    fabric::SimulateOptions options;
    options.mode = fabric::FabricMode::kStatic;
    Arrived arrived;
    const auto simulation =
        fabric::simulate(mesh_, traffic, options, [&](const fabric::Delivery& delivery) {
          arrived[{delivery.message, delivery.destination}].push_back(delivery.word);
        });
    if (!simulation.ok()) {
      fail(simulation.error().message);
      return arrived;
    }
    if (simulation->phases != 1) fail(cat(simulation->phases, " phases in one round"));
    if (simulation->colours > mesh_.colours) fail(cat(simulation->colours, " colours"));
    run_.cycles += simulation->cycles;
    ++run_.rounds;
    return arrived;
  }
  void fail(std::string what) {
    if (run_.mistake.empty()) run_.mistake = std::move(what);
  }

  /// Every place begins with random words; in the end the places that only receive have the sums
  /// of all places of their lines.
  void add_up() {
    std::map<std::int32_t, std::vector<std::uint32_t>> values;
    std::map<std::int32_t, std::set<std::int32_t>> added;  // the places whose words a place has
    std::map<std::int32_t, std::vector<std::uint32_t>> first;
    for (const reshard::ReductionRound& round : program_.reduction) {
      for (const reshard::ReductionMessage& message : round) {
        for (const std::int32_t place : {message.from, message.to}) {
          if (!values[place].empty()) continue;
          for (std::int64_t i = 0; i < message.words; ++i) {
            values[place].push_back(random_word(static_cast<std::uint64_t>(place) * 1000003 +
                                                static_cast<std::uint64_t>(i)));
          }
          first[place] = values[place];
          added[place] = {place};
        }
      }
    }
    for (const reshard::ReductionRound& round : program_.reduction) {
      reshard::ReductionTraffic made = reshard::traffic_of(round);
      std::vector<bool> passed_on(round.size());
      std::vector<std::set<std::int32_t>> carried(round.size());
      for (std::size_t m = 0; m < round.size(); ++m) {
        const auto& own = values[round[m].from];
        std::copy(own.begin(), own.end(), made.traffic.payload.begin() + made.first_words[m]);
        carried[m] = added[round[m].from];
        if (round[m].after < 0) continue;
        const auto before = static_cast<std::size_t>(round[m].after);
        passed_on[before] = true;
        for (const std::int32_t place : carried[before]) {
          if (!carried[m].insert(place).second) fail(cat("place ", place, " is added twice"));
        }
      }
      const Arrived arrived = simulate(made.traffic);
      for (std::size_t m = 0; m < round.size(); ++m) {
        if (passed_on[m]) continue;
        const auto found = arrived.find({static_cast<std::int64_t>(m), 0});
        if (found == arrived.end()) {
          fail("a sum did not arrive");
          continue;
        }
        auto& sum = values[round[m].to];
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += found->second[i];
        for (const std::int32_t place : carried[m]) {
          if (!added[round[m].to].insert(place).second) fail(cat("place ", place, " added twice"));
        }
      }
    }
    check_sums(values, added, first);
  }

  void check_sums(const std::map<std::int32_t, std::vector<std::uint32_t>>& values,
                  const std::map<std::int32_t, std::set<std::int32_t>>& added,
                  const std::map<std::int32_t, std::vector<std::uint32_t>>& first) {
    if (program_.reduction.empty()) return;
    std::set<std::int32_t> senders;
    for (const reshard::ReductionRound& round : program_.reduction) {
      for (const reshard::ReductionMessage& message : round) senders.insert(message.from);
    }
    std::size_t counted = 0;
    for (const auto& [place, sum] : values) {
      if (senders.count(place) > 0) continue;
      std::vector<std::uint32_t> expected(sum.size());
      for (const std::int32_t from : added.at(place)) {
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += first.at(from)[i];
      }
      if (expected != sum) fail(cat("place ", place, " has a wrong sum"));
      const std::int64_t shares = reshard_.from().layout() != nullptr
                                      ? shares_of(reshard_.from().layout()->form())
                                      : shares_of(reshard_.from().view()->form());
      if (static_cast<std::int64_t>(added.at(place).size()) != shares) {
        fail(cat("place ", place, " has ", added.at(place).size(), " shares of ", shares));
      }
      counted += added.at(place).size();
    }
    if (counted != values.size()) fail("not every share was added up");
  }
  static std::int64_t shares_of(const Form& form) {
    std::int64_t shares = 1;
    for (const Fill& fill : form.fills) {
      if (fill.kind == Fill::Kind::kPartial) shares *= fill.count;
    }
    return shares;
  }

  std::int64_t bits_of(std::uint32_t item) const {
    return program_.items.list[item].elements * element_bits();
  }
  std::int64_t element_bits() const {
    const auto rate = reshard_.wavelet_rate();
    return 32 * rate.numerator / rate.denominator;
  }
  void move() {
    for (std::uint32_t item = 0; item < program_.items.list.size(); ++item) {
      has_[{static_cast<std::int32_t>(program_.items.list[item].source), item}] = 0;
    }
    for (const reshard::Round& round : program_.moves.rounds) carry_out(round);
    for (std::uint32_t item = 0; item < program_.items.list.size(); ++item) {
      for (const std::int64_t place : program_.items.sets[program_.items.list[item].set]) {
        const auto found = has_.find({static_cast<std::int32_t>(place), item});
        if (found == has_.end() || found->second != 1) {
          fail(cat("item ", item, " arrives at place ", place, " ",
                   found == has_.end() ? 0 : found->second, " times"));
        }
      }
    }
  }

  void carry_out(const reshard::Round& round) {
    reshard::RoundTraffic made = reshard::traffic_of(round);
    std::vector<std::vector<std::uint32_t>> packed;
    for (std::size_t s = 0; s < round.sends.size(); ++s) {
      packed.push_back(packed_items(round.sends[s]));
      std::copy(packed[s].begin(), packed[s].end(),
                made.traffic.payload.begin() + made.first_words[s]);
    }
    const Arrived arrived = simulate(made.traffic);
    // The words of each send that each place received.
    std::map<std::pair<std::size_t, std::int32_t>, std::vector<bool>> words;
    for (const auto& [end, list] : arrived) {
      const auto& message = made.traffic.messages[static_cast<std::size_t>(end.first)];
      const std::size_t send = made.sends[static_cast<std::size_t>(end.first)];
      const std::int32_t place =
          made.traffic.destinations_of(message)[static_cast<std::size_t>(end.second)];
      std::vector<bool>& got = words[{send, place}];
      got.resize(packed[send].size());
      for (std::size_t i = 0; i < list.size(); ++i) {
        const auto word = static_cast<std::size_t>(message.first_word - made.first_words[send]) + i;
        if (list[i] != packed[send][word]) fail(cat("a word arrives changed at place ", place));
        got[word] = true;
      }
    }
    for (const auto& [key, got] : words) take_items(round.sends[key.first], key.second, got);
  }

  std::vector<std::uint32_t> packed_items(const reshard::Send& send) {
    BitWriter bits;
    for (const std::uint32_t item : send.items) {
      if (has_.count({send.source, item}) == 0) {
        fail(cat("place ", send.source, " sends item ", item, ", which it does not have"));
      }
      for (std::int64_t left = bits_of(item); left > 0; left -= 32) {
        const auto seed = std::uint64_t{item} * 7919 + static_cast<std::uint64_t>(left);
        bits.append(random_word(seed), std::min<std::int64_t>(32, left));
      }
    }
    return bits.take();
  }

  /// Takes the items of which all words arrived.
  void take_items(const reshard::Send& send, std::int32_t place, const std::vector<bool>& got) {
    std::int64_t at = 0;
    for (const std::uint32_t item : send.items) {
      const std::int64_t end = at + bits_of(item);
      bool whole = true;
      for (std::int64_t word = at / 32; word <= (end - 1) / 32; ++word) {
        whole = whole && got[static_cast<std::size_t>(word)];
      }
      if (whole) ++has_[{place, item}];
      at = end;
    }
  }

  const reshard::Reshard& reshard_;
  const reshard::ScheduleProgram& program_;
  const fabric::FabricMesh& mesh_;
  ScheduleRun run_;
  /// (place, item) to how often it arrived.
  std::map<std::pair<std::int32_t, std::uint32_t>, std::int64_t> has_;
};

}  // namespace

ScheduleRun run_schedule(const reshard::Reshard& reshard, const reshard::ScheduleCost& schedule) {
  const auto program = reshard::program_of(reshard, schedule, kMost);
  if (!program.ok()) return {0, 0, program.error().message};
  return Runner(reshard, *program).run();
}

}  // namespace tessera::test
