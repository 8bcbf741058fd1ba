// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/graph/random_run.h"

#include <cmath>

#include "tessera/testing/graph/random_graphs.h"

namespace tessera::test {

std::map<std::string, NaiveTensor> random_inputs(Dice& dice, graph::Graph& graph) {
  using graph::Data;
  std::map<std::string, NaiveTensor> inputs;
  for (graph::Value& value : graph.values) {
    if (value.kind == graph::Kind::kComputed) continue;
    const Data data =
        Data::of_bytes(random_elements(dice, value.type.shape.elements(), value.type.dtype));
    if (value.kind == graph::Kind::kInput) {
      inputs[value.name] = *naive_tensor(value.type, data);
    } else if (!value.data.bytes) {
      value.data = data;
    }
  }
  return inputs;
}

bool is_near(const NaiveTensor& a, const NaiveTensor& b, long double tolerance) {
  if (!(a.type == b.type) || a.elements.size() != b.elements.size()) return false;
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    const long double x = a.elements[i];
    const long double y = b.elements[i];
    const bool same = x == y || (std::isnan(x) && std::isnan(y));
    if (!same && !(std::fabs(x - y) <= tolerance * (1 + std::fabs(y)))) return false;
  }
  return true;
}

}  // namespace tessera::test
