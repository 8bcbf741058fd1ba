// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// `name` as an error quotes it: short, and without bytes that a terminal or JSON would choke on.
/// Example: quote_name("l\x1b") is "'l\\x1b'".
std::string quote_name(std::string_view name);

/// The candidate with the fewest edits from `name`, if few enough to be a slip of the fingers.
/// Example: nearest_name("mehs", {"mesh", "pad"}) is "mesh".
std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> candidates);

/// "did you mean 'mesh'?", or all candidates when none is near.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace tessera
