// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/check/check.h"

namespace tessera::check {

std::string fixed_text(std::string_view text, const std::vector<Diagnostic>& diagnostics) {
  std::vector<const Edit*> edits;
  const auto size = static_cast<std::int64_t>(text.size());
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!diagnostic.fix) continue;
    const Span span = diagnostic.fix->span;
    if (0 <= span.from && span.from <= span.to && span.to <= size)
      edits.push_back(&*diagnostic.fix);
  }
  std::sort(edits.begin(), edits.end(), [](const Edit* a, const Edit* b) {
    return std::pair(a->span.from, a->span.to) < std::pair(b->span.from, b->span.to);
  });
  std::string fixed;
  std::int64_t done = 0;
  const Edit* last = nullptr;
  for (const Edit* edit : edits) {
    const bool overlaps = edit->span.from < done || (last != nullptr && last->span == edit->span);
    if (overlaps) continue;
    fixed += text.substr(static_cast<std::size_t>(done),
                         static_cast<std::size_t>(edit->span.from - done));
    fixed += edit->text;
    done = edit->span.to;
    last = edit;
  }
  return fixed.append(text.substr(static_cast<std::size_t>(done)));
}

}  // namespace tessera::check
