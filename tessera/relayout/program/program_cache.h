// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/plan.h"
#include "tessera/relayout/program.h"

namespace tessera::relayout {

/// Keeps the plans of moves that happen again and again. A move is a source, a destination, a
/// padding rule and plan options; moves are the same when all of these are equal as descriptions.
/// When the cache is full, the plan that was not asked for the longest goes first; plans that are
/// still in use elsewhere live on. Any thread may ask at any time.
///
/// Law: plan(..) answers what make_program and Plan::make would, errors included; only plans are
/// kept. Two threads that ask for a new move at the same time may both make its plan.
/// Example: a cache of one, asked for A, A, B, A makes three plans and counts one hit.
class ProgramCache {
 public:
  static constexpr std::size_t kDefaultCapacity = 256;
  /// Holds up to `capacity` plans; 0 keeps none.
  explicit ProgramCache(std::size_t capacity = kDefaultCapacity);
  ~ProgramCache();
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;

  Result<Plan> plan(const Placement& from, const Placement& to,
                    PaddingRule padding = PaddingRule::kPromised, const PlanOptions& options = {});

  struct Counts {
    std::size_t kept = 0;     ///< plans held now
    std::int64_t hits = 0;    ///< answers that were kept
    std::int64_t misses = 0;  ///< answers that were made, refusals included
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  Counts counts() const;
  std::size_t capacity() const;
  /// Forgets all plans. Counts go on.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::relayout
