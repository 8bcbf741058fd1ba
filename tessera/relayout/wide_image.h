// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/relayout/moves.h"
#include "tessera/relayout/plan.h"

namespace tessera::relayout {

/// A relayout whose destination elements have no address of their own and do not arrive as whole
/// tiles: everything is moved into an image of the destination in a wider type first, i8 for i4 and
/// i2, f32 for block floats, and the image is cast from end to end. Takes memory for the image
/// while it runs.
///
/// What the program does not write stays. For i4 and i2 bit by bit. A group of block floats in
/// which some number changes is written anew, with the exponent that its numbers now ask for, so
/// that neighbours that should stay are rounded to it; other groups keep their bytes.
class WideImage {
 public:
  static Result<WideImage> make(const Program& program, const PlanOptions& options);

  /// As Moves::run. False may also come from numbers that were there before and are no numbers of
  /// the type (block floats can say infinity): ask first_misfit.
  Result<bool> run(std::span<const std::byte> from, std::span<std::byte> to,
                   ThreadPool& pool) const;
  std::vector<std::string> describe() const;

 private:
  WideImage(std::int64_t elements, Moves moves, const Cast& cast, const Cast& saturate)
      : elements_(elements), moves_(std::move(moves)), cast_(cast), saturate_(saturate) {}

  bool finish(const std::byte* image, std::byte* to, ThreadPool& pool) const;

  std::int64_t elements_ = 0;
  Moves moves_;               ///< from the source to the image
  Cast cast_;                 ///< from the image to the destination
  Cast saturate_;             ///< the same where nothing is an error
  std::optional<Cast> load_;  ///< the opposite, where part of the destination is to stay as it is
};

}  // namespace tessera::relayout
