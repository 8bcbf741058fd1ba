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

/// The initial contents of a rank's memory of B before any data arrive: padding and, where shares
/// of A are combined or shares of B get no value, the neutral element of the reduction.
class RankStart {
 public:
  /// Errors: kNotSupported for types without arithmetic (relayout/jobs/combine.h), and where the
  /// neutral element of the reduction that combines A's shares is not that of B's reduction.
  static Result<RankStart> make(const reshard::Reshard& reshard, const RankSide& side,
                                relayout::PaddingRule rule);

  /// Law: every padding slot is as the fills of make_program would leave it; every slot of an
  /// element that is combined or gets no value is neutral; other slots may hold anything.
  Status run(std::span<std::byte> to, ThreadPool& pool) const;

 private:
  std::optional<relayout::Plan> padding_;
  std::uint64_t neutral_ = 0;  // bits of an element
  std::int64_t width_ = 0;     // its bytes
  std::int64_t slots_ = 0;     // on each place
  std::vector<relayout::FillNest> neutral_at_;
};

}  // namespace tessera::exchange
