// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::graph {

/// Bytes as text, by RFC 4648 with padding. Law: from_base64(to_base64(b)) = b.
/// Example: to_base64("Man") is "TWFu".
std::string to_base64(std::string_view bytes);
/// nullopt for anything that to_base64 does not write.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tessera::graph
