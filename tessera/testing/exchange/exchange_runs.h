// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/exchange/exchange.h"
#include "tessera/exchange/resharder.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/reshard/naive_reshard.h"
#include "tessera/testing/reshard/reshard_pairs.h"

/// testing/exchange/: what the tests of exchange/ share. Pairs of placements, exchanges and faults
/// come in; what broke, as text, goes out. The expected content comes from naive loops, never from
/// the code under test.
///
/// This header: reshards between ranks, compared with the content of B according to naive_reshard.
namespace tessera::test {

/// A's memory of every (virtual) place, and what B's must be: for each place the expected bits of
/// its slots, and whether a slot holds an element.
struct ExchangeCase {
  std::vector<std::vector<std::byte>> from;  ///< one per place
  struct Expected {
    bool is_element = false;
    std::uint64_t bits = 0;
  };
  std::vector<std::vector<Expected>> to;
};
/// Whether ranks can perform the reshard and exchange_case can predict its result: elements have
/// addresses (no block floats), and where shares are combined or initialized their types have
/// arithmetic, with one neutral element.
bool can_be_exchanged(const ReshardPair& pair, const NaiveReshard& moves);
ExchangeCase exchange_case(const ReshardPair& pair, const NaiveReshard& moves);

/// A map of places to ranks: blocks, cyclic, or arbitrary.
exchange::RankMap random_ranks(Dice& dice, std::int64_t places, int ranks);

/// What one rank does in a run; its run returns what is wrong with its part of B, empty when
/// nothing is.
struct RankCase {
  const ReshardPair& pair;
  const ExchangeCase& data;
  const exchange::RankMap& from;
  const exchange::RankMap& to;
  exchange::ResharderOptions options;
  bool shared = false;  ///< A is in memory that nearby ranks can read
  int runs = 2;
};
std::string rank_mistake(exchange::Exchange& exchange, const RankCase& question);

/// Calls `work` for every rank of an exchange inside this process, each on its own thread, and
/// returns their answers, joined.
std::string on_ranks(int ranks, const std::function<std::string(exchange::Exchange&)>& work);

}  // namespace tessera::test
