// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/layout/form.h"

namespace tessera {

/// The coordinates, relative to the first, at which fills of one kind repeat an element along one
/// mesh axis. Equal sets compare equal however the fills describe them: an arithmetic progression
/// is stored as (count, stride), any other set as its sorted offsets.
struct OffsetSet {
  std::int64_t count = 1;
  std::int64_t stride = 0;            ///< 0 when count is 1
  std::vector<std::int64_t> offsets;  ///< only when not a progression

  std::int64_t size() const;
  bool contains(std::int64_t offset) const;
  std::int64_t at(std::int64_t i) const;
  friend bool operator==(const OffsetSet&, const OffsetSet&) = default;
};

/// The offsets that `fills` of this kind (and reduction, for partial ones) give along `axis`.
OffsetSet replica_offsets(const std::vector<Fill>& fills, int axis, Fill::Kind kind,
                          std::optional<Reduction> reduction = std::nullopt);

/// All offsets along `axis`, of every kind.
OffsetSet all_offsets(const std::vector<Fill>& fills, int axis);

/// Whether two lists of fills repeat every element at the same relative places and in the same way.
bool same_replicas(const Form& a, const Form& b);

/// The same for partial sums alone.
bool same_partials(const Form& a, const Form& b);

}  // namespace tessera
