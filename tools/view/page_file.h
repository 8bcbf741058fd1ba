// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"

/// tools/view/: the verb `view`. Texts of tensors, or a plan, come in; a page with them goes out as
/// one file.
/// The page itself is made by `make explorer` (web/); nothing here computes what it shows.
namespace tessera::tools {

/// What the page opens with: names and texts of its address, such as v=compare, a=tensor<..>.
using PageState = std::vector<std::pair<std::string_view, std::string>>;

/// The state in which the page shows a plan of `tessera plan --out`.
PageState plan_state(std::string plan);

/// The page that `make explorer` made: `name`, or if that is empty the one next to the command, in
/// share/tessera of its installation, or in the build folder above it. kNotSupported without one,
/// kContradiction for a file that has no place for a state.
Result<std::string> read_page(const std::string& name);

/// The page with a state in it. Law: the page reads the same texts back, whatever is in them; none
/// of them becomes markup.
Result<std::string> page_with(const std::string& page, const PageState& state);

}  // namespace tessera::tools
