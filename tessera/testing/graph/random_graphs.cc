// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/graph/random_graphs.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"

namespace tessera::test {
namespace {

using graph::Attributes;
using graph::Data;
using graph::GraphBuilder;
using graph::ValueId;

constexpr std::array kTypes = {DType::kF32, DType::kF32,  DType::kF32, DType::kF64,
                               DType::kI64, DType::kBool, DType::kI32, DType::kU8};

class Generator {
 public:
  explicit Generator(Dice& dice) : dice_(dice), builder_("random") {}

  graph::Graph run(int nodes) {
    for (std::int64_t i = dice_.between(1, 4); i > 0; --i) add_given();
    for (int i = 0; i < nodes; ++i) add_node();
    const std::size_t count = builder_.graph().values.size();
    for (std::int64_t i = dice_.between(1, 3); i > 0; --i) {
      (void)builder_.output(static_cast<ValueId>(
          i == 1 ? count - 1 : static_cast<std::size_t>(dice_.below(static_cast<int>(count)))));
    }
    return std::move(builder_).finish();
  }

 private:
  std::vector<std::int64_t> random_shape() {
    std::vector<std::int64_t> shape;
    for (std::int64_t d = dice_.between(0, 4); d > 0; --d) shape.push_back(dice_.between(1, 4));
    return shape;
  }

  void add_given() {
    const DType dtype = kTypes[static_cast<std::size_t>(dice_.below(kTypes.size()))];
    std::vector<std::int64_t> shape = random_shape();
    const Result<Shape> made = Shape::make(shape);
    Data data;
    const std::int64_t form = dice_.below(4);
    if (form == 1) data = Data::of_bytes(random_elements(dice_, made->elements(), dtype));
    if (form == 2) data = Data::of_fill(random_elements(dice_, 1, dtype));
    if (form == 3) data = Data::of_file("weights.bin", dice_.between(0, 4096));
    const std::string name = builder_.free_name(form == 0 ? "x" : "w");
    if (form == 0) {
      (void)builder_.input(name, shape, dtype);
    } else if (dice_.chance(50)) {
      (void)builder_.parameter(name, shape, dtype, data);
    } else {
      (void)builder_.constant(name, shape, dtype, data);
    }
  }

  ValueId any() {
    return static_cast<ValueId>(
        dice_.below(static_cast<std::int64_t>(builder_.graph().values.size())));
  }

  std::int64_t any_axis(ValueId v) {
    const auto rank = static_cast<std::int64_t>(builder_.type(v).shape.rank());
    return rank == 0 ? 0 : dice_.between(-rank, rank - 1);
  }

  /// Adds a value of the same type as `v`, so that binary ops find partners.
  ValueId like(ValueId v) {
    if (dice_.chance(30)) return v;
    const graph::TensorType type = builder_.type(v);
    const Data data = Data::of_bytes(random_elements(dice_, type.shape.elements(), type.dtype));
    return *builder_.constant(builder_.free_name("c"), type.shape.extents(), type.dtype, data);
  }

  void add_node() {
    const ValueId x = any();
    const Shape shape = builder_.type(x).shape;
    const auto rank = static_cast<std::int64_t>(shape.rank());
    constexpr std::array kBinary = {"add", "sub", "mul", "max", "min", "equal", "less", "and"};
    constexpr std::array kUnary = {"relu", "neg", "abs",  "sign",    "identity", "not", "floor",
                                   "sqrt", "exp", "tanh", "sigmoid", "shape",    "size"};
    constexpr std::array kReduce = {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod",
                                    "reduce_l1"};
    const auto pick = [&](const auto& list) {
      return list[static_cast<std::size_t>(dice_.below(static_cast<std::int64_t>(list.size())))];
    };
    switch (dice_.below(14)) {
      case 0:
      case 1:
        (void)builder_.add(pick(kUnary), {x});
        break;
      case 2:
      case 3:
        (void)builder_.add(pick(kBinary), {x, like(x)});
        break;
      case 4: {
        Attributes attributes = {{"keepdims", dice_.below(2)}};
        if (dice_.chance(60)) attributes.set("axes", std::vector{any_axis(x)});
        (void)builder_.add(pick(kReduce), {x}, attributes);
        break;
      }
      case 5: {
        std::vector<std::int64_t> perm;
        for (const std::size_t d : dice_.order(shape.rank())) {
          perm.push_back(static_cast<std::int64_t>(d));
        }
        (void)builder_.add("transpose", {x}, {{"perm", perm}});
        break;
      }
      case 6:
        (void)builder_.add("reshape", {x},
                           {{"shape", std::vector{shape.elements(), std::int64_t{1}}}});
        break;
      case 7:
        (void)builder_.add("concat", {x, like(x)}, {{"axis", any_axis(x)}});
        break;
      case 8: {
        std::vector<std::int64_t> pads(static_cast<std::size_t>(2 * rank));
        for (std::int64_t& pad : pads) pad = dice_.between(0, 2);
        (void)builder_.add("pad", {x}, {{"pads", pads}});
        break;
      }
      case 9:
        (void)builder_.add("slice", {x},
                           {{"starts", std::vector{dice_.between(-3, 3)}},
                            {"ends", std::vector{dice_.between(-3, 5)}},
                            {"axes", std::vector{any_axis(x)}},
                            {"steps", std::vector{dice_.chance(50) ? 1L : -1L}}});
        break;
      case 10: {
        if (rank == 0) break;
        const std::int64_t extent = shape[shape.rank() - 1];
        const std::int64_t first = dice_.between(0, extent);
        (void)builder_.add_node("", "split", {x},
                                {builder_.free_name("left"), builder_.free_name("right")},
                                {{"axis", -1L}, {"sizes", std::vector{first, extent - first}}});
        break;
      }
      case 11:
        (void)builder_.add("clip", {x, graph::kAbsent, scalar_like(x)});
        break;
      case 12: {
        if (rank < 1) break;
        const std::int64_t inner = shape[shape.rank() - 1];
        const DType dtype = builder_.type(x).dtype;
        const std::int64_t outer = dice_.between(1, 4);
        const ValueId w =
            *builder_.parameter(builder_.free_name("m"), {inner, outer}, dtype,
                                Data::of_bytes(random_elements(dice_, inner * outer, dtype)));
        (void)builder_.add("matmul", {x, w}, {}, builder_.free_name("product"));
        break;
      }
      default:
        (void)builder_.add(
            "cast", {x},
            {{"to", std::string(dtype_name(
                        kTypes[static_cast<std::size_t>(dice_.below(kTypes.size()))]))}});
    }
  }

  ValueId scalar_like(ValueId x) {
    const DType dtype = builder_.type(x).dtype;
    return *builder_.constant(builder_.free_name("s"), {}, dtype,
                              Data::of_bytes(random_elements(dice_, 1, dtype)));
  }

  Dice& dice_;
  GraphBuilder builder_;
};

}  // namespace

std::string random_elements(Dice& dice, std::int64_t count, DType dtype) {
  const bool real = graph::is_float(dtype);
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    // The bits of 0, 1, 2, 3 and 4.
    constexpr std::array<std::uint16_t, 5> kF16 = {0, 0x3C00, 0x4000, 0x4200, 0x4400};
    constexpr std::array<std::uint16_t, 5> kBF16 = {0, 0x3F80, 0x4000, 0x4040, 0x4080};
    std::string bytes;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t number = dice.between(-4, 4);
      const auto at = static_cast<std::size_t>(std::abs(number));
      std::uint16_t bits = dtype == DType::kF16 ? kF16[at] : kBF16[at];
      if (number < 0) bits |= 0x8000;
      bytes.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
    }
    return bytes;
  }
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t number = graph::is_signed(dtype) ? dice.between(-4, 4) : dice.between(0, 4);
    integers.push_back(number);
    reals.push_back(static_cast<double>(number));
  }
  return real ? graph::bytes_of(reals, dtype).value_or("")
              : graph::bytes_of(integers, dtype).value_or("");
}

graph::Graph random_graph(Dice& dice, int nodes) { return Generator(dice).run(nodes); }

graph::Graph changed(Dice& dice, graph::Graph graph) {
  const graph::Graph before = graph;
  while (graph == before) {
    graph::Value& value =
        graph.values[static_cast<std::size_t>(dice.below(std::ssize(graph.values)))];
    switch (dice.below(8)) {
      case 0:
        graph.name += "'";
        break;
      case 1:
        value.name += "'";
        break;
      case 2:
        value.type.dtype = value.type.dtype == DType::kF16 ? DType::kBF16 : DType::kF16;
        break;
      case 3: {
        std::vector<std::int64_t> extents = value.type.shape.extents();
        extents.push_back(1);
        value.type.shape = *Shape::make(extents);
        break;
      }
      case 4:
        if (value.data.bytes && !value.data.bytes->empty()) {
          std::string bytes = *value.data.bytes;
          bytes[static_cast<std::size_t>(dice.below(std::ssize(bytes)))] ^= 1;
          value.data.bytes = std::make_shared<const std::string>(std::move(bytes));
        } else {
          value.data.offset += 1;
        }
        break;
      case 5:
        graph.outputs.push_back(0);
        break;
      case 6:
        if (graph.nodes.empty()) break;
        graph.nodes[static_cast<std::size_t>(dice.below(std::ssize(graph.nodes)))].attributes.set(
            "axis", dice.between(0, 9));
        break;
      default:
        if (graph.nodes.empty()) break;
        graph.nodes[static_cast<std::size_t>(dice.below(std::ssize(graph.nodes)))].inputs.push_back(
            0);
    }
  }
  return graph;
}

}  // namespace tessera::test
