// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/prices.h"

#include <cstddef>

#include "tessera/base/sort_stably.h"
#include "tessera/ops/transforms.h"

namespace tessera::ops {
namespace {

struct Price {
  std::optional<double> seconds;
  std::optional<double> cycles;
};

Price price_of(const moves::MoveModel& model, const Layout& from, const Layout& to) {
  const bool tiles = family_of(model.machine()) == MachineFamily::kTtnn;
  const auto stored = [&](const Layout& layout) {
    const bool pages = tiles && layout.places() == 1;
    return moves::Stored{layout, layout.spec().space,
                         pages ? target::Spread::kInterleaved : target::Spread::kWhole};
  };
  const Result<moves::Move> move = model.price(stored(from), stored(to));
  if (!move) return {};
  Price price{move->seconds, 0};
  for (const moves::Step& step : move->steps) {
    price.cycles =
        price.cycles && step.cycles ? std::optional(*price.cycles + *step.cycles) : std::nullopt;
  }
  return price;
}

void add(std::optional<double>& sum, const std::optional<double>& more) {
  sum = sum && more ? std::optional(*sum + *more) : std::nullopt;
}

bool is_cheaper(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() && (!b.has_value() || *a < *b);
}

}  // namespace

void price_alternatives(const moves::MoveModel& model,
                        const std::vector<std::optional<Layout>>& asked,
                        std::vector<Alternative>& alternatives) {
  bool in_seconds = false;
  for (Alternative& other : alternatives) {
    other.seconds = other.cycles = 0;
    for (std::size_t i = 0; i < other.inputs.size(); ++i) {
      if (!other.changed[i]) continue;
      const Price price = price_of(model, *asked[i], *other.inputs[i]);
      add(other.seconds, price.seconds);
      add(other.cycles, price.cycles);
    }
    in_seconds = in_seconds || other.seconds.has_value();
  }
  sort_stably(alternatives, [&](const Alternative& a, const Alternative& b) {
    return in_seconds ? is_cheaper(a.seconds, b.seconds) : is_cheaper(a.cycles, b.cycles);
  });
}

}  // namespace tessera::ops
