// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/relayout/plan.h"

namespace tessera::relayout {

/// A relayout whose destination elements have no address of their own and do not arrive as whole
/// tiles: everything is moved into an image of the destination in a wider type first, and the image
/// is cast from end to end. Takes memory for the image while it runs.
class WideImage {
 public:
  static Result<WideImage> make(const Program& program, const PlanOptions& options);

  Status run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool) const;
  std::vector<std::string> describe() const;

 private:
  WideImage(Plan moves, Cast cast, std::optional<Cast> load)
      : moves_(std::move(moves)), cast_(cast), load_(load) {}

  Plan moves_;                ///< from the source to the image
  Cast cast_;                 ///< from the image to the destination
  std::optional<Cast> load_;  ///< the opposite, where part of the destination is to stay as it is
};

/// The error of a checked cast whose source element (counted over all places) has no place in `to`.
Error does_not_fit(const Memory& memory, std::int64_t element, DType to);

}  // namespace tessera::relayout
