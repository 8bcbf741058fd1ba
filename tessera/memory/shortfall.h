// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/problem.h"

namespace tessera::memory {

/// Why the buffers of one place do not fit.
struct Shortfall {
  std::int64_t capacity = 0;
  std::int64_t needed = 0;  ///< above the capacity
  std::int64_t moment = 0;  ///< the first moment at which that much is needed
  /// True when no plan can fit. Otherwise the live bytes would fit at every moment, but no fitting
  /// plan was found, and `needed` is the peak of the best plan.
  bool certain = true;
  struct Live {
    std::size_t buffer = 0;  ///< the one that is live then, of those that share its memory
    std::int64_t bytes = 0;  ///< of all buffers that share it; in a gap, those that it keeps
  };
  std::vector<Live> live;  ///< at that moment, by descending bytes

  std::int64_t missing() const { return needed - capacity; }
};

/// The shortfall of a problem that has no plan within `capacity`: at the moment with the most live
/// bytes or, when those would fit, where `offsets`, the best plan found, is highest. Empty when the
/// plan is within the capacity.
/// Law: if it is certain and alignment costs no bytes, the bytes of `live` sum up to `needed`.
Result<std::optional<Shortfall>> shortfall(const Problem& problem, std::int64_t capacity,
                                           std::span<const std::int64_t> offsets);

/// The shortfall as a sentence. `names` are the names of the buffers, `when` the name of the
/// moment, and `where` the place:
///     "at 'softmax', 40960 bytes are live, 4096 more than the capacity of 36864: 'scores' 16384,
///     'q' 8192 and 2 more of 16384"
std::string describe(const Shortfall& shortfall, const std::vector<std::string>& names,
                     std::string_view when, std::string_view where = "");

/// The same as an error, kDoesNotFit.
Error does_not_fit(const Shortfall& shortfall, const std::vector<std::string>& names,
                   std::string_view when, std::string_view where = "");

}  // namespace tessera::memory
