// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/simulate.h"
#include "tessera/moves/price.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/chunks.h"
#include "tessera/reshard/feasible.h"
#include "tessera/reshard/relabel.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"

/// tools/reshard/: the verb `reshard`. Two tensors, a target and, for a move, files and ranks come
/// in; costs, heat maps, traces, or the written files go out. Costs, routes and transfers come from
/// tessera/reshard and tessera/exchange: nothing here computes them.
namespace tessera::tools {

/// When messages are simulated wavelet by wavelet.
enum class SimulateWhen : std::uint8_t {
  kAuto,  ///< when that takes well under a second
  kAlways,
  kNever,
};

/// The request of `tessera reshard` apart from the two tensors.
struct ReshardQuestion {
  std::string target;   ///< a machine's name or file; empty for the smallest mesh that holds both
  std::string space_a;  ///< the memory of A; empty for the one that its layout names
  std::string space_b;
  bool pairs = false;
  bool heat = false;
  bool heat_by_default = false;  ///< then a mesh that is too large for it is only a warning
  bool relabel = false;
  std::optional<std::int64_t> staging_bytes;
  SimulateWhen simulate = SimulateWhen::kAuto;
  fabric::FabricMode mode = fabric::FabricMode::kIdeal;
  std::string trace;  ///< a file to write; empty for none
};

/// Something that is legal, but that the user should know.
struct ReshardWarning {
  std::string code;
  std::string message;
  std::string help;
};

/// The answer. Where B was given better places, everything describes the reshard from A to that B.
struct ReshardAnswer {
  std::string target;                       ///< empty without one
  std::optional<std::int64_t> clock_hz;     ///< of the target, where it is published
  reshard::PhysicalMesh physical;           ///< the places, or the endpoints of the target
  std::optional<reshard::Reshard> reshard;  ///< empty where pages are too many to be listed
  reshard::ReshardKind kind = reshard::ReshardKind::kReshard;
  reshard::ReshardCost cost;
  std::optional<reshard::Relabelled> relabelled;
  std::optional<reshard::Feasibility> memory;  ///< with a target whose memory allows it
  std::optional<reshard::Chunks> chunks;
  std::optional<reshard::LinkLoads> loads;
  std::optional<std::vector<reshard::PairBytes>> pairs;
  std::optional<fabric::Simulation> simulation;
  std::string why_not_simulated;  ///< half a sentence; empty when it was
  std::vector<ReshardWarning> warnings;
  std::optional<Machine> machine;   ///< the target
  std::optional<moves::Move> move;  ///< with a target: memories, steps and their times

  /// What crosses, without the steps inside places, in cycles of the target's clock, rounded up.
  std::optional<std::int64_t> cycles() const;
  /// On machines with static routes: the cycles if wavelets carried their destination.
  std::optional<std::int64_t> lower_bound_cycles() const;
  /// All steps on a target.
  std::optional<double> seconds() const;
};

/// The largest number of pairs that are listed, and of wavelet-hops and messages that kAuto
/// simulates.
inline constexpr std::int64_t kMostPairs = std::int64_t{1} << 20;
inline constexpr std::int64_t kMostAutoHops = std::int64_t{1} << 22;
inline constexpr std::int64_t kMostAutoMessages = std::int64_t{1} << 17;

/// What is not known of a move without a target: half a sentence. Interleaved tensors meet their
/// banks only on a target, and so do different memories. Empty where all is known.
std::string unknown_places(const Tensor& a, const Tensor& b, const ReshardQuestion& question);

/// Asks the library, and writes the trace. Errors are the library's; kDoesNotFit when B is gathered
/// on one place that cannot hold it. For other kinds, insufficient memory is a warning: their cost
/// is still of interest.
Result<ReshardAnswer> answer_reshard(const Tensor& a, const Tensor& b,
                                     const ReshardQuestion& question);

}  // namespace tessera::tools
