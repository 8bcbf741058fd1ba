// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/pyflame/pe_memory_planner.h"
#include "tessera/target/machine.h"
#include "tessera/testing/generate.h"

/// What the tests of the planner share.
namespace tessera::pyflame {

using Layouts = std::map<TensorId, MeshLayout>;

/// 6x5 PEs with that many bytes each; `extra` adds further fields of the memory.
inline Machine small_machine(std::int64_t bytes, const std::string& extra = "") {
  Result<Machine> machine = parse_machine(
      "{\"name\": \"small\", \"mesh\": [6, 5], \"memory\": [{\"name\": \"sram\", \"bytes\": " +
      std::to_string(bytes) + extra + "}], \"rules\": {\"wavelet_bits\": 32}}");
  EXPECT_TRUE(machine) << machine.error().message;
  return *std::move(machine);
}

inline PETensor given(std::string name, std::vector<std::int64_t> shape,
                      graph::Kind kind = graph::Kind::kInput) {
  return {std::move(name), std::move(shape), DType::kF32, kind};
}

/// A random graph on the small machine.
inline PEGraph random_graph(test::Dice& dice, Layouts& layouts) {
  PEGraph graph;
  const auto layout = [&] {
    MeshLayout grid = MeshLayout::Grid(static_cast<std::int32_t>(dice.between(1, 6)),
                                       static_cast<std::int32_t>(dice.between(1, 5)));
    grid.origin = {static_cast<std::int32_t>(dice.between(0, 6 - grid.pe_rows)),
                   static_cast<std::int32_t>(dice.between(0, 5 - grid.pe_cols))};
    return grid;
  };
  const auto shape = [&] { return std::vector{dice.between(1, 13), dice.between(1, 13)}; };
  for (int i = 0; i < 2; ++i) {
    layouts[graph.add(
        given("in", shape(), i == 0 ? graph::Kind::kInput : graph::Kind::kParameter))] = layout();
  }
  for (int k = 0; k < 6; ++k) {
    std::vector<TensorId> inputs;
    for (int i = 0; i < 2; ++i) {
      inputs.push_back(
          static_cast<TensorId>(dice.below(static_cast<std::int64_t>(graph.tensors()))));
    }
    const DType dtype = dice.chance(30) ? DType::kF16 : DType::kF32;
    const bool alike = dice.chance(50);
    const TensorId first = inputs[0];
    const TensorId id =
        graph.compute_in_place("v" + std::to_string(k), inputs,
                               alike ? graph.tensor(first).type.shape.extents() : shape(), dtype);
    layouts[id] = alike ? layouts[first] : layout();
    if (dice.chance(20)) graph.set_output(id);
    if (dice.chance(40)) {
      graph.last_memory().scratch = {{"s", dice.between(0, 60), id, dice.between(0, 8)}};
    }
  }
  return graph;
}

}  // namespace tessera::pyflame
