// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/topology.h"
#include "tessera/moves/price_tables.h"
#include "tessera/moves/stored.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

// =================================================================================================
// What a move costs
//
// A move is a list of steps, carried out one after the other:
//
//     cast       elements change their type, on the side where that makes the move cheaper
//     relayout   data are copied inside the places: what does not cross, and what is packed before
//                or unpacked after an exchange
//     exchange   data cross between endpoints, by a named algorithm
//
// An exchange is direct, run by run (a transaction per contiguous run), or packed: a relayout puts
// what goes to one endpoint together, one transaction per message carries it, and a relayout puts
// it in place. Collectives have algorithms of several rounds. Each way is priced by
// fabric::network_cost, round by round, and the cheapest is taken.
//
// Each step has the term that dominates it: latency, link, send, receive, issue or memory of
// fabric/topology.h; compute for casts.
// =================================================================================================

struct Step {
  enum class Kind : std::uint8_t { kCast, kRelayout, kExchange };
  Kind kind = Kind::kExchange;
  std::optional<double> seconds;  ///< empty where a figure is missing
  std::int64_t bytes = 0;         ///< of all places together
  std::string algorithm;          ///< of an exchange: "read", "packed write", "ring"; else empty
  std::string dominated_by;       ///< a term, or empty
  std::string busiest;            ///< the link, place or memory with that term
  /// The same time in cycles of the machine's clock; may be known where seconds are not.
  std::optional<double> cycles = std::nullopt;
};
/// "cast", "relayout", "exchange".
std::string_view step_name(Step::Kind kind);

/// One way to carry out the exchange of a move, with what packing it needs.
struct Algorithm {
  std::string name;
  double cycles = 0;
};

struct Move {
  std::string space_a;
  std::string space_b;
  bool same_types = true;
  std::vector<Step> steps;
  std::optional<double> seconds;               ///< of all steps; empty if one has none
  std::vector<Algorithm> algorithms;           ///< cheapest first
  std::optional<fabric::NetworkCost> network;  ///< of the exchange, where it is a single round
  std::vector<std::string> missing;  ///< figures that the target lacks, as paths with reasons
  std::vector<std::string> used;     ///< paths of figures, or of groups of figures, that were used
};

/// The kind of a move: IDENTITY also means the same memory and type; otherwise as reshard::kind_of.
Result<reshard::ReshardKind> kind_of(const Move& move, const reshard::Reshard& reshard);
/// The paths of the figures that a price used and that are only assumed.
std::vector<std::string> assumed_figures(const Move& move, const Machine& machine);

/// What moves cost on one machine: the machine and its routes, made once for many prices. A value;
/// cheap to copy.
class MoveModel {
 public:
  /// Errors: those of Machine::check.
  static Result<MoveModel> make(Machine machine);

  const Machine& machine() const { return parts_->machine; }
  /// Null where the machine does not describe its routes; then `why_no_routes` says what is
  /// missing.
  const fabric::Topology* routes() const { return parts_->routes ? &*parts_->routes : nullptr; }
  const std::string& why_no_routes() const { return parts_->why_no_routes; }
  const reshard::PhysicalMesh& mesh() const { return parts_->mesh; }
  /// Only where there are routes.
  PriceTablesPool& tables() const { return parts_->tables; }

  /// Prices the move of a tensor from A to B. The element types may differ. Errors: those of
  /// reshard_on and Reshard::make; kNotSupported for a change of type between memories that no
  /// place computes in; kTooLarge as for traffic_of.
  Result<Move> price(const Stored& a, const Stored& b) const;

 private:
  struct Parts {
    Machine machine;
    reshard::PhysicalMesh mesh;
    std::optional<fabric::Topology> routes;
    std::string why_no_routes;
    mutable PriceTablesPool tables;
  };
  explicit MoveModel(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace tessera::moves
