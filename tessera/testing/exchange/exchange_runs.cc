// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/exchange/exchange_runs.h"

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "tessera/base/text.h"
#include "tessera/exchange/exchange.h"
#include "tessera/relayout/jobs/combine.h"

namespace tessera::test {
namespace {

std::int64_t bits_of(const Placement& placement) {
  return dtype_bits(placement.atom().storage).value_or(8);
}

std::uint64_t mask_of(std::int64_t bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// Bit `i` is counted from the lowest bit of the first byte.
std::uint64_t read_bits(const std::byte* memory, std::int64_t slot, std::int64_t bits) {
  std::uint64_t value = 0;
  for (std::int64_t i = 0; i < bits; ++i) {
    const std::int64_t at = slot * bits + i;
    const auto bit = std::to_integer<std::uint64_t>(memory[at / 8]) >> (at % 8) & 1;
    value |= bit << i;
  }
  return value;
}

void write_bits(std::byte* memory, std::int64_t slot, std::int64_t bits, std::uint64_t value) {
  for (std::int64_t i = 0; i < bits; ++i) {
    const std::int64_t at = slot * bits + i;
    const auto mask = static_cast<std::byte>(1 << (at % 8));
    memory[at / 8] = (value >> i & 1) != 0 ? memory[at / 8] | mask : memory[at / 8] & ~mask;
  }
}

/// Floats that combine exactly in any order: small integers for sums, powers of two for products.
std::uint64_t element_bits(const Placement& placement, std::int64_t number, bool multiplied) {
  const auto power = static_cast<int>(number * 5 % 13) - 6;
  number = 1 + number * 3;
  switch (placement.atom().storage) {
    case DType::kF64: {
      const double value = multiplied ? std::ldexp(1.0, power) : static_cast<double>(number % 1024);
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof value);
      return bits;
    }
    case DType::kF32: {
      const float value = multiplied ? std::ldexp(1.0F, power) : static_cast<float>(number % 1024);
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof value);
      return bits;
    }
    default:
      return static_cast<std::uint64_t>(number * 2654435761) & mask_of(bits_of(placement));
  }
}

/// The value of each share of each element. Elements that share a slot, as in a view, have the same
/// value.
std::vector<std::vector<std::uint64_t>> values_of(const Placement& placement,
                                                  const std::vector<NaiveHome>& homes) {
  std::vector<std::int64_t> parent;
  std::vector<std::int64_t> first;  // the number of each element's first share
  const auto root = [&](std::int64_t i) {
    while (parent[static_cast<std::size_t>(i)] != i) i = parent[static_cast<std::size_t>(i)];
    return i;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> holder;
  for (const NaiveHome& home : homes) {
    first.push_back(static_cast<std::int64_t>(parent.size()));
    for (const std::vector<NaivePlace>& share : home.shares) {
      const auto id = static_cast<std::int64_t>(parent.size());
      parent.push_back(id);
      for (const NaivePlace& place : share) {
        const auto [entry, is_new] = holder.try_emplace({place.place, home.slot}, id);
        if (!is_new) parent[static_cast<std::size_t>(root(id))] = root(entry->second);
      }
    }
  }
  bool multiplied = false;
  for (const NaiveHome& home : homes) {
    for (const auto& partial : home.partials) {
      multiplied = multiplied || partial.second == Reduction::kProduct;
    }
  }
  std::vector<std::vector<std::uint64_t>> values(homes.size());
  for (std::size_t e = 0; e < homes.size(); ++e) {
    for (std::size_t share = 0; share < homes[e].shares.size(); ++share) {
      const std::int64_t id = root(first[e] + static_cast<std::int64_t>(share));
      values[e].push_back(element_bits(placement, id, multiplied));
    }
  }
  return values;
}

}  // namespace

bool can_be_exchanged(const ReshardPair& pair, const NaiveReshard& moves) {
  if (!dtype_bits(pair.from.atom().storage)) return false;
  std::set<std::uint64_t> neutral;
  for (std::size_t i = 0; i < moves.from.size(); ++i) {
    if (naive_alike(moves.from[i], moves.to[i])) continue;
    for (const NaiveHome* home : {&moves.from[i], &moves.to[i]}) {
      for (const auto& [count, reduction] : home->partials) {
        const Result<relayout::Combiner> combiner =
            relayout::combiner_of(reduction, pair.from.atom().storage);
        if (!combiner.ok()) return false;
        neutral.insert(combiner->neutral);
      }
    }
  }
  return neutral.size() <= 1;
}

ExchangeCase exchange_case(const ReshardPair& pair, const NaiveReshard& moves) {
  ExchangeCase made;
  const std::int64_t bits = bits_of(pair.from);
  const auto bytes = static_cast<std::size_t>((pair.from.slots() * bits + 7) / 8);
  made.from.assign(static_cast<std::size_t>(pair.from.mesh().elements()),
                   std::vector<std::byte>(bytes, std::byte{0xa5}));
  const std::vector<std::vector<std::uint64_t>> values = values_of(pair.from, moves.from);
  for (std::size_t e = 0; e < moves.from.size(); ++e) {
    const NaiveHome& home = moves.from[e];
    for (std::size_t share = 0; share < home.shares.size(); ++share) {
      for (const NaivePlace& place : home.shares[share]) {
        write_bits(made.from[static_cast<std::size_t>(place.place)].data(), home.slot, bits,
                   values[e][share]);
      }
    }
  }
  made.to.assign(static_cast<std::size_t>(pair.to.mesh().elements()),
                 std::vector<ExchangeCase::Expected>(static_cast<std::size_t>(pair.to.slots())));
  for (const auto& [position, content] : naive_contents(moves.to)) {
    const NaiveHome& from = moves.from[static_cast<std::size_t>(content.element)];
    const NaiveHome& to = moves.to[static_cast<std::size_t>(content.element)];
    ExchangeCase::Expected& slot = made.to[static_cast<std::size_t>(position.first)]
                                          [static_cast<std::size_t>(position.second)];
    slot.is_element = true;
    const auto value = [&](std::int64_t share) {
      return values[static_cast<std::size_t>(content.element)][static_cast<std::size_t>(share)];
    };
    if (naive_alike(from, to)) {
      slot.bits = value(content.share);
    } else if (content.share > 0) {
      slot.bits =
          relayout::combiner_of(to.partials.front().second, pair.to.atom().storage)->neutral;
    } else {
      slot.bits = value(0);
      for (std::size_t share = 1; share < from.shares.size(); ++share) {
        const relayout::Combiner combiner =
            *relayout::combiner_of(from.partials.front().second, pair.from.atom().storage);
        slot.bits = combiner.combine(slot.bits, value(static_cast<std::int64_t>(share)));
      }
    }
  }
  return made;
}

exchange::RankMap random_ranks(Dice& dice, std::int64_t places, int ranks) {
  const std::int64_t kind = dice.between(0, 2);
  if (kind == 0) return *exchange::RankMap::blocks(places, ranks);
  if (kind == 1) return *exchange::RankMap::cyclic(places, ranks);
  std::vector<std::int32_t> table;
  for (std::int64_t p = 0; p < places; ++p) {
    table.push_back(static_cast<std::int32_t>(dice.between(0, ranks - 1)));
  }
  return *exchange::RankMap::table(std::move(table), ranks);
}

std::string rank_mistake(exchange::Exchange& exchange, const RankCase& question) {
  const auto failed = [&](const Error& error) {
    return cat("rank ", exchange.rank(), ": ", code_name(error.code), ": ", error.message, "\n");
  };
  const auto reshard =
      reshard::Reshard::make(question.pair.from, question.pair.to, question.pair.physical);
  if (!reshard.ok()) return failed(reshard.error());
  auto resharder =
      exchange::Resharder::make(exchange, *reshard, question.from, question.to, question.options);
  if (!resharder.ok()) return failed(resharder.error());

  const std::int64_t bits = bits_of(question.pair.from);
  const exchange::RankSide& from = resharder->from();
  const exchange::RankSide& to = resharder->to();
  std::unique_ptr<exchange::SharedArray> array;
  std::vector<std::byte> own(static_cast<std::size_t>(from.bytes()));
  std::span<std::byte> source = own;
  if (question.shared) {
    auto made = resharder->share_source();
    if (!made.ok()) return failed(made.error());
    array = std::move(made.value());
    source = array->mine();
  }
  for (std::size_t i = 0; i < from.places.size(); ++i) {
    const std::byte* place = question.data.from[static_cast<std::size_t>(from.places[i])].data();
    for (std::int64_t slot = 0; slot < from.memory.slots; ++slot) {
      write_bits(source.data(), static_cast<std::int64_t>(i) * from.memory.slots + slot, bits,
                 read_bits(place, slot, bits));
    }
  }
  std::string mistakes;
  for (int run = 0; run < question.runs; ++run) {
    std::vector<std::byte> target(static_cast<std::size_t>(to.bytes()), std::byte{0x5a});
    const Status done = resharder->run(source, target);
    if (!done.ok()) return failed(done.error());
    int told = 0;
    for (std::size_t i = 0; i < to.places.size(); ++i) {
      const auto& expected = question.data.to[static_cast<std::size_t>(to.places[i])];
      for (std::int64_t slot = 0; slot < to.memory.slots && told < 3; ++slot) {
        const ExchangeCase::Expected& want = expected[static_cast<std::size_t>(slot)];
        const std::uint64_t found =
            read_bits(target.data(), static_cast<std::int64_t>(i) * to.memory.slots + slot, bits);
        const bool zero = question.options.padding == relayout::PaddingRule::kZero;
        const bool same = want.is_element ? found == want.bits : !zero || found == 0;
        if (same) continue;
        ++told;
        mistakes += cat("rank ", exchange.rank(), " run ", run, ": place ", to.places[i], " slot ",
                        slot, " has ", found, ", expected ", want.is_element ? want.bits : 0, "\n");
      }
    }
  }
  return mistakes;
}

std::string on_ranks(int ranks, const std::function<std::string(exchange::Exchange&)>& work) {
  std::vector<std::unique_ptr<exchange::Exchange>> exchanges = exchange::in_process_exchange(ranks);
  std::vector<std::string> answers(exchanges.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < exchanges.size(); ++r) {
    threads.emplace_back([&, r] { answers[r] = work(*exchanges[r]); });
  }
  for (std::thread& thread : threads) thread.join();
  std::string all;
  for (const std::string& answer : answers) all += answer;
  return all;
}

}  // namespace tessera::test
