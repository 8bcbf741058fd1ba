// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/relayout/jobs/moves.h"
#include "tessera/relayout/plan.h"

namespace tessera::relayout {

/// A relayout whose destination elements have no address of their own and are not written as whole
/// groups. Everything is first moved into an image of the destination in a wider type (i8 for i4
/// and i2, f32 for block floats), and then the whole image is cast. Needs memory for the image
/// while it runs.
///
/// Numbers are rounded once: a number for which f32 is too narrow is rounded to odd in the image.
/// Promised padding that the destination cannot represent becomes the nearest number that it can.
///
/// Padding that must stay unchanged keeps its bits, with one exception: in a group of 16 block
/// floats that has data it becomes 0, because the shared exponent depends only on the data.
class WideImage {
 public:
  static Result<WideImage> make(const Program& program, const PlanOptions& options);

  /// Like Moves::run.
  Result<bool> run(std::span<const std::byte> from, std::span<std::byte> to,
                   ThreadPool& pool) const;
  std::vector<std::string> describe() const;

 private:
  WideImage(std::int64_t elements, Moves moves, const Cast& cast)
      : elements_(elements), moves_(std::move(moves)), cast_(cast) {}

  Result<bool> finish(const std::byte* image, const std::byte* marks, std::byte* to,
                      ThreadPool& pool) const;

  std::int64_t elements_ = 0;
  Moves moves_;  ///< from the source to the image
  Cast cast_;    ///< from the image to the destination
  // If part of the destination must stay unchanged, one of:
  std::optional<Cast> load_;    ///< from the destination to the image, for numbers of a few bits
  std::optional<Moves> marks_;  ///< sets a byte for each element that is written, for block floats
};

}  // namespace tessera::relayout
