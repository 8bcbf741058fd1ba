// SPDX-License-Identifier: Apache-2.0
#include "tools/view/page_file.h"

#include <array>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tessera/base/text.h"
#include "tools/files/text_file.h"
#include "tools/json/json.h"

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPageBytes = std::size_t{64} << 20;
/// Where page_with puts the state: an element that holds data and is never run.
constexpr std::string_view kStatePlace = "<!--OPENED-->";

std::vector<fs::path> page_candidates() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {folder / "explorer.html", folder.parent_path() / "share/tessera/explorer.html",
          folder.parent_path().parent_path() / "explorer/explorer.html"};
}

}  // namespace

PageState plan_state(std::string plan) { return {{"v", "model"}, {"plan", std::move(plan)}}; }

Result<std::string> read_page(const std::string& name) {
  if (!name.empty()) return read_text_file(name, kMostPageBytes, "name a page of `make explorer`");
  for (const fs::path& path : page_candidates()) {
    std::error_code ignored;
    if (fs::exists(path, ignored)) return read_text_file(path.string(), kMostPageBytes);
  }
  return Error{ErrorCode::kNotSupported, "this installation has no page", std::nullopt,
               "build it with `make explorer`, or name one with --page"};
}

Result<std::string> page_with(const std::string& page, const PageState& state) {
  const std::size_t place = page.find(kStatePlace);
  if (place == std::string::npos) {
    return Error{ErrorCode::kContradiction, "the file is not a page of Tessera", std::nullopt,
                 "build one with `make explorer`"};
  }
  Json json = Json::object();
  for (const auto& [key, text] : state) json[std::string(key)] = text;
  std::string data;
  for (const char c : dump(json)) {
    // In a string of JSON this is the same character, and it opens no tag.
    if (c == '<') {
      data += "\\u003c";
    } else {
      data += c;
    }
  }
  return cat(std::string_view(page).substr(0, place), data,
             std::string_view(page).substr(place + kStatePlace.size()));
}

}  // namespace tessera::tools
