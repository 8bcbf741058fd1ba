// SPDX-License-Identifier: Apache-2.0
// Conservation: on random pairs each destination element is written exactly once, from the right
// place, whatever the layouts; see reshard_laws.h for the law and reshard_pairs.h for the pairs.
#include <gtest/gtest.h>

#include "tessera/testing/reshard_laws.h"
#include "tessera/testing/reshard_runs.h"

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

}  // namespace
}  // namespace tessera::test
