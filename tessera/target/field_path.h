// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace tessera::target {

/// The steps of the path of a field, in the form that a level's `networks` have: those of
/// "/mesh/0/links/ports" are mesh, 0, networks, 0, ports. Those of "/" are none.
std::vector<std::string_view> path_steps(std::string_view path);

}  // namespace tessera::target
