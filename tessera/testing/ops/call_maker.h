// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/testing/graph/random_graphs.h"
#include "tessera/testing/ops/random_calls.h"

namespace tessera::test {

/// Makes one random call: its inputs and attributes, family by family. What computes is in
/// random_calls.cc, what moves elements or makes tensors in random_movements.cc.
class CallMaker {
 public:
  CallMaker(Dice& dice, std::string_view op)
      : dice_(dice), made_{*graph::Op::find(op), {}, {}, 1} {}

  OpCase run();

 private:
  using Extents = std::vector<std::int64_t>;

  std::int64_t extent() { return dice_.between(1, 5); }
  Extents shape(std::int64_t least, std::int64_t most) {
    Extents extents;
    for (std::int64_t d = dice_.between(least, most); d > 0; --d) extents.push_back(extent());
    return extents;
  }
  std::int64_t axis(std::size_t rank) {
    const auto n = static_cast<std::int64_t>(rank);
    const std::int64_t at = dice_.below(n);
    return dice_.chance(50) ? at : at - n;
  }
  void set(std::string_view name, graph::Attribute value) {
    made_.attributes.set(name, std::move(value));
  }

  NaiveTensor& input(const Extents& extents, DType dtype = DType::kF32) {
    const graph::TensorType type{*Shape::make(extents), dtype};
    made_.inputs.emplace_back(*naive_tensor(
        type, graph::Data::of_bytes(random_elements(dice_, type.shape.elements(), dtype))));
    return *made_.inputs.back();
  }
  void indices(const Extents& extents, std::int64_t below) {
    for (long double& element : input(extents, DType::kI64).elements) {
      element = static_cast<long double>(dice_.below(below));
    }
  }
  /// A shape that is broadcast to `full`: leading dims dropped, others of extent 1.
  Extents narrower(const Extents& full) {
    Extents extents(
        full.begin() +
            (dice_.chance(30) ? dice_.below(static_cast<std::int64_t>(full.size() + 1)) : 0),
        full.end());
    for (std::int64_t& e : extents) {
      if (dice_.chance(25)) e = 1;
    }
    return extents;
  }

  void elementwise(std::string_view op);
  void reduction(std::string_view op);
  void contraction(std::string_view op);
  void normalization(std::string_view op);
  void window(std::string_view op);
  void movement(std::string_view op);
  /// The same number of elements in other dims: primes of the extents dealt to new dims.
  Extents regrouped(const Extents& x);
  void creation(std::string_view op);

  Dice& dice_;
  OpCase made_;
};

}  // namespace tessera::test
