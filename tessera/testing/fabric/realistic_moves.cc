// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/fabric/realistic_moves.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera::test {
namespace {

using fabric::Message;

constexpr std::int64_t kPage = 2048;

/// 32 bytes to 64 KB, small as often as large.
std::int64_t random_bytes(Dice& dice) {
  const std::int64_t power = std::int64_t{32} << dice.below(12);
  return power + dice.below(power);
}

/// In one piece, or in runs of 64 bytes to 8 KB.
std::int64_t random_transactions(Dice& dice, std::int64_t bytes) {
  if (dice.chance(40)) return 1;
  const std::int64_t run = std::int64_t{64} << dice.below(8);
  return std::clamp<std::int64_t>(bytes / run, 1, 64);
}

/// Builds the messages of one pattern over places 0 .. rows · cols - 1.
class Pattern {
 public:
  Pattern(Dice& dice, std::int64_t rows, std::int64_t cols)
      : dice_(dice), rows_(rows), cols_(cols), places_(rows * cols) {
    bytes_ = random_bytes(dice);
    transactions_ = random_transactions(dice, bytes_);
  }

  void send(std::int64_t from, std::int64_t to) { send(from, to, bytes_, transactions_); }
  void send(std::int64_t from, std::int64_t to, std::int64_t bytes, std::int64_t transactions) {
    if (from == to) return;
    messages.push_back(
        {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), bytes, transactions});
  }

  void all_gather();
  void all_to_all();
  void transpose();
  void permutation();
  void gather();
  void scatter();
  void shift();
  void irregular();
  void redistribute();

  std::vector<Message> messages;

 private:
  /// Messages of many pairs are smaller, so that simulations stay short.
  void smaller(std::int64_t most_bytes, std::int64_t most_transactions) {
    bytes_ = std::min(bytes_, most_bytes);
    transactions_ = std::min(transactions_, most_transactions);
  }

  Dice& dice_;
  const std::int64_t rows_;
  const std::int64_t cols_;
  const std::int64_t places_;
  std::int64_t bytes_ = 0;
  std::int64_t transactions_ = 1;
};

/// Along rows, along columns or everywhere: every place sends its shard to all of its group.
void Pattern::all_gather() {
  const std::int64_t along = dice_.below(3);
  smaller(32768, 8);
  for (std::int64_t p = 0; p < places_; ++p) {
    for (std::int64_t q = 0; q < places_; ++q) {
      const bool same_row = p / cols_ == q / cols_;
      const bool same_col = p % cols_ == q % cols_;
      if (along == 2 || (along == 0 && same_row) || (along == 1 && same_col)) send(p, q);
    }
  }
}

void Pattern::all_to_all() {
  smaller(8192, 4);
  for (std::int64_t p = 0; p < places_; ++p) {
    for (std::int64_t q = 0; q < places_; ++q) send(p, q);
  }
}

void Pattern::transpose() {
  for (std::int64_t p = 0; p < places_; ++p) send(p, p % cols_ * rows_ + p / cols_);
}

void Pattern::permutation() {
  const std::vector<std::size_t> order = dice_.order(static_cast<std::size_t>(places_));
  for (std::int64_t p = 0; p < places_; ++p) {
    send(p, static_cast<std::int64_t>(order[static_cast<std::size_t>(p)]));
  }
}

void Pattern::gather() {
  const std::int64_t root = dice_.below(places_);
  for (std::int64_t p = 0; p < places_; ++p) send(p, root);
}

void Pattern::scatter() {
  const std::int64_t root = dice_.below(places_);
  for (std::int64_t p = 0; p < places_; ++p) send(root, p);
}

void Pattern::shift() {
  const std::int64_t down = dice_.below(rows_);
  const std::int64_t right = dice_.below(cols_);
  for (std::int64_t p = 0; p < places_; ++p) {
    send(p, (p / cols_ + down) % rows_ * cols_ + (p % cols_ + right) % cols_);
  }
}

void Pattern::irregular() {
  const std::int64_t count = dice_.between(1, 4 * places_);
  for (std::int64_t m = 0; m < count; ++m) {
    const std::int64_t bytes = random_bytes(dice_);
    send(dice_.below(places_), dice_.below(places_), bytes,
         std::min<std::int64_t>(random_transactions(dice_, bytes), 16));
  }
}

/// A matrix of pages from blocks on the grid to whole rows, or back; one transaction per page, or
/// per run of pages of a row that stay together.
void Pattern::redistribute() {
  const std::int64_t height = dice_.between(1, 2 * places_);
  const std::int64_t width = dice_.between(1, 4 * cols_);
  const bool runs = dice_.chance(50);
  const bool back = dice_.chance(50);
  const std::int64_t page = kPage >> dice_.below(5);
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>> moved;
  const auto part = [](std::int64_t i, std::int64_t extent, std::int64_t parts) {
    return i / ((extent + parts - 1) / parts);
  };
  for (std::int64_t r = 0; r < height; ++r) {
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t block = part(r, height, rows_) * cols_ + part(c, width, cols_);
      const std::int64_t row = part(r, height, places_);
      auto& [bytes, transactions] =
          back ? moved[std::pair(row, block)] : moved[std::pair(block, row)];
      const bool continues = c > 0 && part(c, width, cols_) == part(c - 1, width, cols_);
      bytes += page;
      if (!runs || !continues) ++transactions;
    }
  }
  for (const auto& [ends, amount] : moved) {
    send(ends.first, ends.second, amount.first, amount.second);
  }
}

/// Pages that are dealt out to banks in turn, read or written by the places in turn or in blocks.
std::vector<Message> pages_of_banks(Dice& dice, std::int64_t places, std::int64_t first_bank,
                                    std::int64_t banks, bool reads) {
  const std::int64_t pages = std::int64_t{1} << dice.between(0, 12);
  const std::int64_t page = kPage >> dice.below(4);
  const std::int64_t users = dice.chance(50) ? places : dice.between(1, places);
  const std::int64_t first = dice.below(banks);
  const bool blocks = dice.chance(50);
  const std::int64_t each = (pages + users - 1) / users;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> moved;
  for (std::int64_t p = 0; p < pages; ++p) {
    const std::int64_t place = blocks ? p / each : p % users;
    ++moved[std::pair(place, first_bank + (first + p) % banks)];
  }
  std::vector<Message> messages;
  for (const auto& [ends, count] : moved) {
    const auto place = static_cast<std::int32_t>(ends.first);
    const auto bank = static_cast<std::int32_t>(ends.second);
    messages.push_back({reads ? bank : place, reads ? place : bank, count * page, count});
  }
  return messages;
}

/// Whole shards, one per place, each in one bank.
std::vector<Message> shards_of_banks(Dice& dice, std::int64_t places, std::int64_t first_bank,
                                     std::int64_t banks, bool reads) {
  const std::int64_t bytes = random_bytes(dice);
  const std::int64_t transactions = random_transactions(dice, bytes);
  std::vector<Message> messages;
  for (std::int64_t p = 0; p < places; ++p) {
    const auto place = static_cast<std::int32_t>(p);
    const auto bank = static_cast<std::int32_t>(first_bank + p % banks);
    messages.push_back({reads ? bank : place, reads ? place : bank, bytes, transactions});
  }
  return messages;
}

}  // namespace

RealisticMove random_move(Dice& dice, const fabric::Topology& topology, MoveMachine kind) {
  RealisticMove move;
  const bool reads = dice.chance(50);
  move.travel.mechanism = reads ? 0 : 1;
  move.travel.network = reads || topology.networks() == 1 ? 0 : 1;
  if (kind == MoveMachine::kBanks) {
    constexpr std::int64_t kPlaces = 64;
    const std::int64_t banks = topology.endpoints() - kPlaces;
    const bool shards = dice.chance(30);
    move.pattern = shards ? "shards" : "pages";
    move.messages = shards ? shards_of_banks(dice, kPlaces, kPlaces, banks, reads)
                           : pages_of_banks(dice, kPlaces, kPlaces, banks, reads);
    return move;
  }
  const bool ring = kind == MoveMachine::kRing;
  Pattern pattern(dice, ring ? 4 : 8, 8);
  using Make = void (Pattern::*)();
  static constexpr std::pair<std::string_view, Make> kPatterns[] = {
      {"redistribute", &Pattern::redistribute},
      {"all gather", &Pattern::all_gather},
      {"transpose", &Pattern::transpose},
      {"permutation", &Pattern::permutation},
      {"gather", &Pattern::gather},
      {"scatter", &Pattern::scatter},
      {"all to all", &Pattern::all_to_all},
      {"shift", &Pattern::shift},
      {"irregular", &Pattern::irregular},
  };
  const auto& [name, make] = kPatterns[dice.below(std::size(kPatterns))];
  move.pattern = name;
  (pattern.*make)();
  move.messages = std::move(pattern.messages);
  return move;
}

}  // namespace tessera::test
