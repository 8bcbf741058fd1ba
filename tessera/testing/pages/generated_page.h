// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// testing/pages/: generated parts of docs/. Tables, examples and pictures come in; differences
/// from the page go out. Pages are changed only with TESSERA_UPDATE_DOCS=1 in the environment.
namespace tessera::test {

/// The text between `<!-- name -->` and `<!-- end of name -->` in a page.
struct PagePart {
  std::string name;
  std::string body;
};

/// Empty when the page has these parts; with TESSERA_UPDATE_DOCS=1 in the environment the page is
/// updated. Otherwise how to fix it. Paths are relative to the root of the sources.
std::string page_mistake(const std::string& path, const std::vector<PagePart>& parts);

/// The same for a file that is generated as a whole.
std::string file_mistake(const std::string& path, const std::string& text);

}  // namespace tessera::test
