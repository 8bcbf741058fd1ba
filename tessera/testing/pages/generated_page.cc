// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/pages/generated_page.h"

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream read;
  read << in.rdbuf();
  return read.str();
}

/// The page with that part; nothing when it lacks the markers.
std::optional<std::string> with_part(const std::string& page, const PagePart& part) {
  const std::string from = cat("<!-- ", part.name, " -->\n");
  const std::string to = cat("<!-- end of ", part.name, " -->");
  const std::size_t begin = page.find(from);
  const std::size_t end = page.find(to);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  return cat(page.substr(0, begin + from.size()), part.body, page.substr(end));
}

std::string mistake(const std::string& path, const std::string& is, const std::string& right) {
  if (is == right) return {};
  const char* update = std::getenv("TESSERA_UPDATE_DOCS");
  if (update == nullptr || std::string_view(update) != "1") {
    return cat(path, " is out of date: run this with TESSERA_UPDATE_DOCS=1");
  }
  std::ofstream(path) << right;
  return read_text(path) == right ? "" : cat(path, " cannot be written");
}

}  // namespace

std::string page_mistake(const std::string& path, const std::vector<PagePart>& parts) {
  const std::string page = read_text(path);
  if (page.empty()) return cat(path, " is not there: run in the root of the sources");
  std::string right = page;
  for (const PagePart& part : parts) {
    const std::optional<std::string> next = with_part(right, part);
    if (!next) return cat(path, " has lost its markers of ", part.name);
    right = *next;
  }
  return mistake(path, page, right);
}

std::string file_mistake(const std::string& path, const std::string& text) {
  return mistake(path, read_text(path), text);
}

}  // namespace tessera::test
