// SPDX-License-Identifier: Apache-2.0
// The costs, link loads and kinds of random pairs equal those from walking every element along
// every link; see reshard_laws.h for the laws and reshard_pairs.h for the pairs.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/part.h"
#include "tessera/testing/reshard/reshard_laws.h"
#include "tessera/testing/reshard/reshard_runs.h"

namespace tessera::test {
namespace {

std::string cost_and_loads_mistake(const ReshardPair& pair, const NaiveReshard& moves) {
  std::string mistake = cost_mistake(pair, moves);
  return mistake.empty() ? loads_mistake(pair, moves) : mistake;
}

/// True when the cost comes from the product form, not from a list of messages.
bool has_product_form(const ReshardPair& pair) {
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok() || reshard->parts().size() != 1 || !pair.physical.fabric) return false;
  const Result<std::optional<reshard::FlowTables>> tables =
      reshard::flow_tables(reshard->parts().front(), *pair.physical.fabric);
  return tables.ok() && tables->has_value();
}

TEST(Laws, CostsOfRandomPairsAreThoseOfEveryElement) {
  std::int64_t products = 0;
  const ReshardFeatures features = reshard_law_holds(
      10000, ReshardSource::kForms, [&](const ReshardPair& pair, const NaiveReshard& moves) {
        products += has_product_form(pair) ? 1 : 0;
        return cost_and_loads_mistake(pair, moves);
      });
  std::printf("%sof these %lld have a product form\n", features.table().c_str(),
              static_cast<long long>(products));
  EXPECT_GE(products * 2, features.pairs());
  // A feature that hardly occurs proves little.
  for (const auto& [name, count] : features.counts()) {
    if (name == "type: block float") continue;  // only notations have them
    EXPECT_GE(count * 1000, features.pairs() * 2) << name << " in " << count << " pairs";
  }
}

TEST(Laws, CostsOfTextsAreThoseOfEveryElement) {
  const ReshardFeatures features =
      reshard_law_holds(2500, ReshardSource::kTexts, cost_and_loads_mistake);
  EXPECT_GE(features.counts().at("type: block float") * 100, features.pairs());
  EXPECT_GE(features.counts().at("pieces: source") * 100, features.pairs());
  EXPECT_GE(features.counts().at("mesh: device numbers") * 100, features.pairs());
}

TEST(Laws, MakingRefusesWhatCannotBe) {
  reshard_law_holds(2000, ReshardSource::kUnfit, [](const ReshardPair& pair, const NaiveReshard&) {
    return make_mistake(pair);
  });
}

}  // namespace
}  // namespace tessera::test
