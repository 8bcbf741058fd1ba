// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// `name` as quoted in errors: shortened, and without bytes that are unsafe in a terminal or in
/// JSON.
/// Example: quote_name("l\x1b") is "'l\\x1b'".
std::string quote_name(std::string_view name);

/// The candidate with the smallest edit distance from `name`, if small enough to be a typing error.
/// Example: nearest_name("mehs", {"mesh", "pad"}) is "mesh".
std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> candidates);

/// "did you mean 'mesh'?", or all candidates if none is near.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace tessera
