// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/exchange/ranks/rank_plan.h"
#include "tessera/relayout/plan.h"
#include "tessera/relayout/program.h"

namespace tessera::exchange {

/// What a rank's memory of B holds before any data arrive: padding, and, where shares of A are
/// combined or shares of B get no value, the neutral element of the reduction.
class RankStart {
 public:
  /// Errors: kNotSupported for types that have no arithmetic (relayout/jobs/combine.h), and where
  /// A's shares are combined by a reduction with another neutral element than B's has.
  static Result<RankStart> make(const reshard::Reshard& reshard, const RankSide& side,
                                relayout::PaddingRule rule);

  /// Law: every padding slot is as make_program's fills would leave it, every slot of an element
  /// that is combined or gets no value is neutral; others may hold anything.
  Status run(std::span<std::byte> to, ThreadPool& pool) const;

 private:
  std::optional<relayout::Plan> padding_;
  std::uint64_t neutral_ = 0;  // bits of an element
  std::int64_t width_ = 0;     // its bytes
  std::int64_t slots_ = 0;     // on each place
  std::vector<relayout::FillNest> neutral_at_;
};

}  // namespace tessera::exchange
