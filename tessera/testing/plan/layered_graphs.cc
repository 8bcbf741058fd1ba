// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/plan/layered_graphs.h"

#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"

namespace tessera::test {

graph::Graph layered_graph(Dice& dice, const LayeredSize& size) {
  graph::GraphBuilder builder("layers");
  std::int64_t rows = dice.between(2, size.most_rows);
  std::int64_t width = dice.between(2, size.most_width);
  std::vector<graph::ValueId> known = {*builder.input("x", {rows, width})};
  for (int layer = 0; layer < size.layers; ++layer) {
    const graph::ValueId last = known.back();
    const auto weight = [&](std::vector<std::int64_t> shape) {
      return *builder.parameter(cat("w", layer), std::move(shape));
    };
    // A product first, so that every graph has one.
    switch (layer == 0 ? 0 : dice.below(7)) {
      case 0:
      case 1: {
        const std::int64_t columns = dice.between(2, size.most_width);
        known.push_back(*builder.add("matmul", {last, weight({width, columns})}));
        width = columns;
        break;
      }
      case 2:
        known.push_back(*builder.add("add", {last, weight({width})}));
        break;
      case 3:
        known.push_back(*builder.add("relu", {last}));
        break;
      case 4:
        known.push_back(*builder.add("softmax", {last}));
        break;
      case 5:
        known.push_back(
            *builder.add("transpose", {last}, {{"perm", std::vector<std::int64_t>{1, 0}}}));
        std::swap(rows, width);
        break;
      default: {
        graph::ValueId other = last;
        for (const graph::ValueId v : known) {
          if (builder.type(v).shape == builder.type(last).shape) {
            other = v;
            break;
          }
        }
        known.push_back(*builder.add("add", {last, other}));
      }
    }
  }
  (void)builder.output(known.back());
  return std::move(builder).finish();
}

}  // namespace tessera::test
