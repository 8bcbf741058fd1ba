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
///
/// The image's type holds every number of the source and of the destination: f32, or f64 where that
/// is too narrow. (Integers of 64 bits round to it first, which a block float may tell: a tie of
/// more than 53 bits.) Promised padding is rounded to the destination before it goes there, so it
/// always fits.
///
/// Padding that is left alone keeps its bits, with one exception: in a group of 16 block floats
/// that has data it becomes 0, because the exponent that they share follows the data alone.
class WideImage {
 public:
  static Result<WideImage> make(const Program& program, const PlanOptions& options);

  Status run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool) const;
  std::vector<std::string> describe() const;

 private:
  WideImage(Plan moves, Cast cast, std::optional<Cast> load, std::optional<Plan> marks)
      : moves_(std::move(moves)), cast_(cast), load_(load), marks_(std::move(marks)) {}

  Plan moves_;  ///< from the source to the image
  Cast cast_;   ///< from the image to the destination
  // Where part of the destination is to stay as it is, one of:
  std::optional<Cast> load_;   ///< from the destination to the image, for numbers of a few bits
  std::optional<Plan> marks_;  ///< sets a byte for each element that is written, for block floats
};

/// The error of a checked cast whose source element (counted over all places) has no place in `to`.
Error does_not_fit(const Memory& memory, std::int64_t element, DType to);

}  // namespace tessera::relayout
