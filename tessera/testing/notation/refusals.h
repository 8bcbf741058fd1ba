// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/testing/notation/spots.h"

/// The reasons why a notation cannot express a tensor, checked against the tensor's elements one by
/// one. There is no catch-all pattern: a reason without a known check is a mistake.
namespace tessera::test {

/// A tensor that `notation` refused.
struct Refused {
  const Tensor& tensor;
  const Spots& spots;
  std::string_view notation;
};

struct Recheck {
  std::vector<std::string_view> patterns;  ///< the reasons that the message gives
  std::string mistake;                     ///< empty when all of them are true
};

/// Finds each reason of a message in the table of reasons and checks, by counting, whether its
/// claim is true. A reason that is specific to the notation is also compared with a search for a
/// text (sayable.h): it is a mistake when the search finds one.
Recheck recheck(const Refused& refused, std::string_view message);

/// The texts in the holes of a pattern.
struct Holes {
  std::vector<std::string> texts;
  const std::string& operator[](std::size_t i) const { return texts[i]; }
  std::int64_t number(std::size_t i) const;
  Numbers numbers(std::size_t i) const;  ///< all integers in the hole
};

/// The holes of a pattern are `{n}` an integer, `{w}` a word, `{x}` extents as 3x2, `{i}` integers
/// in brackets and `{*}` anything. Nothing when the text does not match the pattern. Example: "dim
/// {n} is {n}" finds "0" and "53" in "dim 0 is 53".
std::optional<Holes> match(std::string_view pattern, std::string_view text);

/// Slots of all places that hold no element.
std::int64_t empty_slots(const Spots& spots);

}  // namespace tessera::test
