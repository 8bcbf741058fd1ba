// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::bench {

/// A move that programs make every day: two tensors as texts, and the memories they are in.
struct EverydayMove {
  std::string name;
  std::string a, space_a;
  std::string b, space_b;
};

/// Machines of one kind, which have the same moves.
struct MachineFamily {
  std::string_view name;
  std::vector<std::string_view> machines;
};
/// "one chip" (wormhole, blackhole), "chips" (wormhole-n300, wormhole-8), "wafers", "cards".
const std::vector<MachineFamily>& machine_families();

/// Twenty moves for each machine that is built in; none for others. They load and store, change
/// layouts inside a memory, carry out every collective and change types.
std::vector<EverydayMove> everyday_moves(std::string_view machine);

}  // namespace tessera::bench
