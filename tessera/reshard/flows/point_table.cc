// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flows/point_table.h"

#include <algorithm>

#include "tessera/base/text.h"

namespace tessera::reshard {
namespace {

/// Same as operator==, which would call memcmp.
bool equal(const Point& x, const Point& y) {
  return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3];
}

}  // namespace

Error too_many_flows(std::size_t flows) {
  return Error{ErrorCode::kTooLarge,
               cat("dims that share one mesh axis move between ", flows,
                   " pairs of places, which are too many to list"),
               std::nullopt, "use fewer places, or dims with separate axes"};
}

Result<PointTable> product(const PointTable& x, const PointTable& y, const Point& base) {
  if (x.size() > kMaxFlowTable / y.size()) return too_many_flows(x.size() * y.size());
  PointTable table;
  table.reserve(x.size() * y.size());
  for (const PointFlow& f : x) {
    for (const PointFlow& g : y) {
      PointFlow& flow = table.emplace_back();
      for (std::size_t k = 0; k < kCoordinates; ++k) flow.at[k] = f.at[k] + g.at[k] - base[k];
      flow.elements = f.elements * g.elements;
    }
  }
  return table;
}

void gather(PointTable& table) {
  const auto before = [](const PointFlow& x, const PointFlow& y) {
    for (std::size_t k = 0; k + 1 < kCoordinates; ++k) {
      if (x.at[k] != y.at[k]) return x.at[k] < y.at[k];
    }
    return x.at.back() < y.at.back();
  };
  if (!std::is_sorted(table.begin(), table.end(), before)) {
    std::sort(table.begin(), table.end(), before);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (kept > 0 && equal(table[kept - 1].at, table[i].at)) {
      table[kept - 1].elements += table[i].elements;
    } else {
      table[kept++] = table[i];
    }
  }
  table.resize(kept);
}

unsigned driven_coordinates(const PointTable& table, const Point& base) {
  unsigned driven = 0;
  for (const PointFlow& flow : table) {
    for (std::size_t k = 0; k < kCoordinates; ++k) {
      if (flow.at[k] != base[k]) driven |= 1U << k;
    }
  }
  return driven;
}

}  // namespace tessera::reshard
