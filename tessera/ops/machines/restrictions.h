// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"

/// machines/: what the kernels of a machine allow, on top of what an op allows anywhere. In: a call
/// and the layouts of its operands, in the form of the core: no notation is known here. Out: legal,
/// by which rule, or the rule that forbids it. One file per family of machines; a rule that holds
/// for several ops is one row of a table.
namespace tessera::ops {

enum class MachineFamily : std::uint8_t {
  kTtnn,   ///< Tenstorrent, as TTNN's ops run there: 32x32 tiles, interleaved or sharded tensors
  kSpyre,  ///< sticks of 128 bytes
  kWafer,  ///< a mesh of processors with memories of their own, as wse2 and wse3
};
/// "ttnn", "spyre", "wafer".
std::string_view family_name(MachineFamily family);
std::optional<MachineFamily> find_family(std::string_view name);

/// The layouts of a call's operands. Rules about operands whose layouts are not given are not
/// asked.
struct Operands {
  std::vector<std::optional<Layout>> inputs;   ///< one per input of the call
  std::vector<std::optional<Layout>> outputs;  ///< one per output, or none at all
};

/// Whether a machine's kernels run a call on operands with these layouts as they are, without a
/// reshard in between.
struct Allowed {
  bool legal = true;
  /// The rule that allows or forbids it, stable: "matmul block", "norm height". "any" where the
  /// machine has no rule for the op.
  std::string rule = "any";
  std::string reason;  ///< if not legal: what was found and what would be right
};

/// Example: on kTtnn a matmul of a height-sharded A, interleaved B and height-sharded C is legal by
/// "matmul height"; with B sharded it is not, by "matmul weights".
/// Errors: kShapeMismatch for a layout of another shape than its operand's, and for another number
/// of inputs or outputs than the call's.
Result<Allowed> allowed_on(MachineFamily family, const graph::Call& call,
                           const graph::Types& outputs, const Operands& operands);

}  // namespace tessera::ops
