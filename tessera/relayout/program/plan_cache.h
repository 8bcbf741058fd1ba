// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/plan.h"
#include "tessera/relayout/program.h"

/// program/: parts around a Program: the cache of plans, and the list of positions from which
/// verify.h works. Placements come in; plans or positions go out. The list must not
/// share code with make_program.
namespace tessera::relayout {

/// Caches the plans of repeated moves. A move is a source, a destination, a padding rule and plan
/// options; moves are the same when all of these are equal as descriptions. When the cache is full,
/// the least recently used plan is dropped; plans that are still in use elsewhere stay valid.
/// Thread-safe.
///
/// Law: plan(..) returns the same as make_program and Plan::make, errors included; only plans are
/// cached. Two threads that request a new move at the same time may both make its plan.
/// Example: a cache of capacity 1 with the requests A, A, B, A makes three plans and counts one
/// hit.
class PlanCache {
 public:
  static constexpr std::size_t kDefaultCapacity = 256;
  /// Holds up to `capacity` plans; 0 keeps none.
  explicit PlanCache(std::size_t capacity = kDefaultCapacity);
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  Result<Plan> plan(const Placement& from, const Placement& to,
                    PaddingRule padding = PaddingRule::kPromised, const PlanOptions& options = {});

  struct Counts {
    std::size_t kept = 0;     ///< plans held now
    std::int64_t hits = 0;    ///< results from the cache
    std::int64_t misses = 0;  ///< results that were computed, errors included
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  Counts counts() const;
  std::size_t capacity() const;
  /// Drops all plans. Does not reset the counts.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::relayout
