// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/check/check.h"

namespace tessera::check {

LineIndex::LineIndex(std::string_view text) : text_(text), begins_{0} {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at)) {
    begins_.push_back(++at);
  }
}

LineColumn LineIndex::at(std::int64_t byte) const {
  const auto position = static_cast<std::size_t>(
      std::clamp<std::int64_t>(byte, 0, static_cast<std::int64_t>(text_.size())));
  const auto above = std::upper_bound(begins_.begin(), begins_.end(), position);
  const auto line = static_cast<std::int64_t>(above - begins_.begin());
  return {line, static_cast<std::int64_t>(position - *(above - 1)) + 1};
}

std::string_view LineIndex::line(std::int64_t number) const {
  if (number < 1 || number > static_cast<std::int64_t>(begins_.size())) return {};
  const std::size_t begin = begins_[static_cast<std::size_t>(number) - 1];
  std::string_view line =
      text_.substr(begin, std::min(text_.find('\n', begin), text_.size()) - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace tessera::check
