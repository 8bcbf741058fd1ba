// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/resharder.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/exchange/fingerprint.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/exchange/exchange_runs.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/reshard/reshard_runs.h"

namespace tessera::exchange {
namespace {

using test::Dice;

/// B holds what it must, on any ranks, with small and large packets, and when read in place.
std::string exchange_mistake(const test::ReshardPair& pair, const test::NaiveReshard& moves) {
  if (!test::can_be_exchanged(pair, moves)) return "";
  Fingerprint seed;
  seed.add(test::describe(pair));
  Dice dice(seed.value());
  const auto ranks = static_cast<int>(dice.between(1, 6));
  const std::int64_t places = pair.physical.mesh.elements();
  const RankMap from = test::random_ranks(dice, places, ranks);
  const RankMap to = dice.chance(50) ? from : test::random_ranks(dice, places, ranks);
  const test::ExchangeCase data = test::exchange_case(pair, moves);
  test::RankCase question{pair, data, from, to, {}, false, 2};
  question.options.packet_bytes = dice.chance(50) ? 256 : 0;
  question.options.staging_bytes = dice.chance(50) ? 512 * dice.between(1, 8) : 1 << 20;
  if (question.options.packet_bytes == 0) question.options.staging_bytes += 1 << 16;
  question.options.checksums = dice.chance(50);
  question.options.padding =
      dice.chance(50) ? relayout::PaddingRule::kZero : relayout::PaddingRule::kPromised;
  question.shared = dice.chance(33);
  return test::on_ranks(ranks,
                        [&](Exchange& exchange) { return test::rank_mistake(exchange, question); });
}

TEST(Resharder, BringsAnythingToItsPlacesOnAnyRanks) {
  const auto features =
      test::reshard_law_holds(1500, test::ReshardSource::kForms, exchange_mistake);
  RecordProperty("features", features.table());
}

TEST(Resharder, BringsNotationsToEachOther) {
  test::reshard_law_holds(400, test::ReshardSource::kTexts, exchange_mistake);
}

TEST(Resharder, RefusesMorePacketsThanCanBeListed) {
  const std::string extents = "tensor<1000000000x1000000000xi8, ";
  const Placement a = parse_tensor(extents + "pyflame.RowPartition(2)>")->placement;
  const Placement b = parse_tensor(extents + "pyflame.ColPartition(2)>")->placement;
  const reshard::Reshard reshard =
      *reshard::Reshard::make(a, b, *reshard::PhysicalMesh::in_a_row(a, b));
  // A quarter of 10^18 bytes to the other rank, from it and inside, in packets of 2^18 - 64.
  const std::string figures = "0 2861721611724 262144 8388608";
  const auto mistake = [&](Exchange& exchange) -> std::string {
    const RankMap ranks = *RankMap::blocks(2, 2);
    const auto made = Resharder::make(exchange, reshard, ranks, ranks);
    if (made.ok()) return "no error";
    const Error& error = made.error();
    return error.code == ErrorCode::kTooLarge && test::figures(error.message) == figures
               ? ""
               : error.message;
  };
  EXPECT_EQ(test::on_ranks(2, mistake), "");
}

}  // namespace
}  // namespace tessera::exchange
