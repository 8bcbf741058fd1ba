// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Pages of docs/ with parts that nobody writes by hand.
namespace tessera::test {

/// What stands between `<!-- name -->` and `<!-- end of name -->` in a page.
struct PagePart {
  std::string name;
  std::string body;
};

/// Empty when the page has these parts; with TESSERA_UPDATE_DOCS=1 in the environment it is given
/// them. Else what to do about it. Paths count from the root of the sources.
std::string page_mistake(const std::string& path, const std::vector<PagePart>& parts);

/// The same for a file that is made as a whole.
std::string file_mistake(const std::string& path, const std::string& text);

}  // namespace tessera::test
