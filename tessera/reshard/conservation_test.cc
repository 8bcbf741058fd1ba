// SPDX-License-Identifier: Apache-2.0
// Conservation: on random pairs each destination element is written exactly once, from the right
// place, for all layouts; see reshard_laws.h for the law and reshard_pairs.h for the pairs.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "tessera/reshard/transfers.h"
#include "tessera/testing/reshard/reshard_laws.h"
#include "tessera/testing/reshard/reshard_runs.h"

namespace tessera::test {
namespace {

TEST(Conservation, RandomPairsMoveEveryElementOnce) {
  reshard_law_holds(10000, ReshardSource::kForms, transfer_mistake);
}

TEST(Conservation, TextsOfNotationsMoveEveryElementOnce) {
  reshard_law_holds(2500, ReshardSource::kTexts, transfer_mistake);
}

TEST(Conservation, PairsAreTheMessages) {
  reshard_law_holds(3000, ReshardSource::kForms, pairs_mistake);
  reshard_law_holds(500, ReshardSource::kTexts, pairs_mistake);
}

TEST(Conservation, OnePlaceCanBeAskedFor) {
  reshard_law_holds(3000, ReshardSource::kForms, filter_mistake);
}

/// A way to corrupt one transfer of a list.
struct Slip {
  std::string_view name;
  void (*spoil)(reshard::Transfer& transfer);
  int times = 1;  ///< how often it is then visited
};

constexpr std::array kSlips = {
    Slip{"is left out", [](reshard::Transfer&) {}, 0},
    Slip{"comes twice", [](reshard::Transfer& t) { t.begins_pair = false; }, 2},
    Slip{"is written a slot further", [](reshard::Transfer& t) { ++t.destination_slot; }},
    Slip{"is read a slot further", [](reshard::Transfer& t) { ++t.source_slot; }},
    Slip{"is another share", [](reshard::Transfer& t) { ++t.share; }},
    Slip{"combines or not", [](reshard::Transfer& t) { t.combines = !t.combines; }},
    Slip{"begins its pair or not", [](reshard::Transfer& t) { t.begins_pair = !t.begins_pair; }},
    Slip{"comes from elsewhere", [](reshard::Transfer& t) { ++t.source; }},
    Slip{"goes elsewhere", [](reshard::Transfer& t) { ++t.destination; }},
    Slip{"is read from another memory", [](reshard::Transfer& t) { ++t.source_virtual; }},
    Slip{"counts one more", [](reshard::Transfer& t) { ++t.elements; }},
};

TEST(Conservation, NoticesEverySlip) {
  std::int64_t planted = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const ReshardPair pair = random_reshard(dice, {});
    const NaiveReshard moves = naive_reshard(pair.from, pair.to, pair.physical);
    const auto count = static_cast<std::int64_t>(moves.messages.size() + moves.local.size());
    if (count == 0) continue;
    const Slip& slip = kSlips[seed % kSlips.size()];
    const std::int64_t target = dice.below(count);  // there are at least as many transfers as pairs
    const TransferLister spoiled =
        [&](const reshard::Reshard& reshard, const reshard::TransferChoice& choice,
            const std::function<Status(const reshard::Transfer&)>& visit) {
          std::int64_t number = 0;
          return reshard::for_each_transfer(reshard, choice,
                                            [&](const reshard::Transfer& transfer) -> Status {
                                              if (number++ != target) return visit(transfer);
                                              reshard::Transfer changed = transfer;
                                              slip.spoil(changed);
                                              for (int i = 0; i < slip.times; ++i)
                                                TESSERA_CHECK_OK(visit(changed));
                                              return ok_status();
                                            });
        };
    ++planted;
    EXPECT_NE(list_mistake(pair, moves, spoiled), "")
        << "seed " << seed << ": a transfer that " << slip.name << "\n"
        << describe(pair);
  }
  EXPECT_GE(planted, 250);
}

}  // namespace
}  // namespace tessera::test
