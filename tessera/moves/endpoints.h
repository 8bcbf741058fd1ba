// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// The numbers of the endpoints of a machine.
class EndpointNumbers {
 public:
  explicit EndpointNumbers(const Machine& machine);
  std::int64_t count() const { return count_; }
  /// The first endpoint of a memory; for memories per place 0.
  std::int64_t first(std::size_t memory) const { return first_[memory]; }
  /// The memory that an endpoint beyond the places belongs to.
  std::size_t memory_at(std::int64_t endpoint) const;

 private:
  std::int64_t places_ = 0;
  std::vector<std::int64_t> first_;
  std::int64_t count_ = 0;
};

/// True if every place has a memory of its own of this kind.
bool is_of_places(const Machine& machine, std::size_t memory);

/// The levels above the innermost, as one shape of devices.
Result<Shape> devices_of(const Machine& machine);

}  // namespace tessera::moves
