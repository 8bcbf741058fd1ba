// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/price.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/moves/rates.h"
#include "tessera/moves/ways.h"

namespace tessera::moves {
namespace {

/// Elements that one place changes; empty for memories without processors.
std::optional<std::int64_t> cast_elements(const Machine& machine, const Stored& stored,
                                          std::size_t memory) {
  if (machine.memory[memory].owner != target::MemorySpace::Owner::kPlace) return std::nullopt;
  const std::int64_t slots = stored.placement.slots();
  const bool interleaved =
      stored.spread == target::Spread::kInterleaved && stored.placement.places() == 1;
  return interleaved ? (slots + machine.places() - 1) / machine.places() : slots;
}

/// The whole move in one order: the exchange, and a cast before or after it.
struct Order {
  std::vector<Way> ways;
  std::vector<std::string> missing;
  std::vector<std::string> used;
};

/// A cast on the places of one side.
struct CastStep {
  Rates::Cast cast;  ///< of one place
  std::int64_t bytes = 0;
  std::size_t memory = 0;
  bool first = true;
};

Result<Order> priced(const MoveModel& model, const Ends& ends,
                     const std::optional<CastStep>& cast) {
  Rates rates(model.machine());
  TESSERA_TRY(std::vector<Way> ways, exchange_ways(model, ends, rates));
  std::vector<std::string> used = ways.front().used;
  if (cast) {
    const Timed time = rates.cast(cast->cast, cast->memory);
    for (std::string& path : rates.take_used()) {
      if (std::find(used.begin(), used.end(), path) == used.end()) used.push_back(std::move(path));
    }
    for (Way& way : ways) {
      way.steps.insert(cast->first ? way.steps.begin() : way.steps.end(),
                       Step{Step::Kind::kCast, time.seconds, cast->bytes, "", time.term,
                            time.busiest, time.cycles});
    }
  }
  std::vector<std::string> missing = rates.missing();
  for (const std::string& figure : ways.front().missing) {
    if (std::find(missing.begin(), missing.end(), figure) == missing.end()) {
      missing.push_back(figure);
    }
  }
  return Order{std::move(ways), std::move(missing), std::move(used)};
}

bool same_types(const Stored& a, const Stored& b) {
  return a.placement.dtype() == b.placement.dtype() &&
         a.placement.atom().storage == b.placement.atom().storage;
}

/// With a cast on the side where the whole move is cheaper.
Result<Order> cast_and_priced(const MoveModel& model, const Stored& a, const Stored& b,
                              std::size_t memory_a, std::size_t memory_b) {
  const Machine& machine = model.machine();
  const DType from = a.placement.atom().storage;
  const DType to = b.placement.atom().storage;
  std::optional<Order> best;
  std::optional<Error> problem;
  for (const bool first : {true, false}) {
    const Stored& side = first ? a : b;
    const std::optional<std::int64_t> elements =
        cast_elements(machine, side, first ? memory_a : memory_b);
    if (!elements) continue;
    Stored changed = side;
    const Stored& other = first ? b : a;
    Result<Placement> same =
        retyped(side.placement, other.placement.dtype(), other.placement.atom().storage);
    if (!same) {
      problem = same.error();
      continue;
    }
    changed.placement = *std::move(same);
    const std::int64_t size = side.placement.shape().elements() == 0 ? 0 : *elements;
    const auto bytes = [&](DType dtype) { return dtype_bytes(dtype, size).value_or(0); };
    const CastStep cast{{size, bytes(from), bytes(to), from, to},
                        side.placement.allocated_bytes(),
                        first ? memory_a : memory_b,
                        first};
    const Ends ends{first ? changed : a, first ? b : changed, memory_a, memory_b};
    TESSERA_TRY(Order order, priced(model, ends, cast));
    if (!best || is_cheaper(order.ways.front(), best->ways.front())) {
      best = std::move(order);
    }
  }
  if (best) return *std::move(best);
  if (problem) return *std::move(problem);
  return Error{ErrorCode::kNotSupported,
               cat("elements of type ", dtype_name(from), " cannot become ", dtype_name(to),
                   " between ", machine.memory[memory_a].name, " and ",
                   machine.memory[memory_b].name, ": neither belongs to places that compute"),
               std::nullopt, "move the tensor through the memory of the places"};
}

}  // namespace

std::string_view step_name(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::kCast:
      return "cast";
    case Step::Kind::kRelayout:
      return "relayout";
    case Step::Kind::kExchange:
      return "exchange";
  }
  return "exchange";
}

Result<reshard::ReshardKind> kind_of(const Move& move, const reshard::Reshard& reshard) {
  TESSERA_TRY(const reshard::ReshardKind kind, reshard::kind_of(reshard));
  const bool stays = move.space_a == move.space_b && move.same_types;
  if (kind == reshard::ReshardKind::kIdentity && !stays) return reshard::ReshardKind::kReshard;
  return kind;
}

std::vector<std::string> assumed_figures(const Move& move, const Machine& machine) {
  std::vector<std::string> assumed;
  for (const std::string& path : move.used) {
    if (machine.evidence(path) == target::Evidence::kAssumed) assumed.push_back(path);
  }
  return assumed;
}

Result<MoveModel> MoveModel::make(Machine machine) {
  auto parts = std::make_shared<Parts>();
  TESSERA_TRY(parts->mesh, reshard::PhysicalMesh::of(machine));
  Result<fabric::Topology> routes = fabric::Topology::of(machine);
  parts->machine = std::move(machine);
  if (routes) {
    parts->routes = *std::move(routes);
  } else {
    parts->why_no_routes = routes.error().message;
  }
  return MoveModel(std::move(parts));
}

Result<Move> MoveModel::price(const Stored& a, const Stored& b) const {
  const Machine& machine = parts_->machine;
  TESSERA_TRY(const std::size_t memory_a, memory_of(a, machine));
  TESSERA_TRY(const std::size_t memory_b, memory_of(b, machine));
  const bool same = same_types(a, b);
  TESSERA_TRY(Order order, same ? priced(*this, {a, b, memory_a, memory_b}, std::nullopt)
                                : cast_and_priced(*this, a, b, memory_a, memory_b));
  Move move;
  move.space_a = machine.memory[memory_a].name;
  move.space_b = machine.memory[memory_b].name;
  move.same_types = same;
  move.steps = order.ways.front().steps;
  move.network = std::move(order.ways.front().network);
  move.missing = std::move(order.missing);
  move.used = std::move(order.used);
  move.seconds = total_seconds(move.steps);
  for (const Way& way : order.ways) {
    const std::optional<double> seconds = total_seconds(way.steps);
    std::optional<double> cycles = total_cycles(way.steps);
    if (seconds && machine.clock_hz) cycles = *seconds * static_cast<double>(*machine.clock_hz);
    if (cycles) move.algorithms.push_back({way.name, *cycles});
  }
  return move;
}

}  // namespace tessera::moves
