// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/check/mlir_scan.h"

namespace tessera::check {
namespace {

std::size_t kind_of(char opener) {
  switch (opener) {
    case '(':
      return 0;
    case '[':
      return 1;
    case '{':
      return 2;
    default:
      return 3;
  }
}

char opener_of(char closer) {
  switch (closer) {
    case ')':
      return '(';
    case ']':
      return '[';
    default:
      return '{';
  }
}

}  // namespace

std::size_t BracketStack::take(std::string_view text, std::size_t at) {
  const char c = text[at];
  switch (c) {
    case '<':
      if (at + 1 < text.size() && text[at + 1] == '=') return 0;
      [[fallthrough]];
    case '(':
    case '[':
    case '{':
      open_.push_back(c);
      ++counts_[kind_of(c)];
      return 0;
    case '>': {
      const bool arrow = at > 0 && (text[at - 1] == '-' || text[at - 1] == '=');
      if (arrow || open_.empty() || open_.back() != '<') return 0;
      return close('<');
    }
    case ')':
    case ']':
    case '}':
      return close(opener_of(c));
    default:
      return 0;
  }
}

std::size_t BracketStack::close(char opener) {
  if (counts_[kind_of(opener)] == 0) return 0;
  std::size_t closed = 0;
  for (;;) {
    const char innermost = open_.back();
    open_.pop_back();
    --counts_[kind_of(innermost)];
    ++closed;
    if (innermost == opener) return closed;
  }
}

void BracketStack::clear() {
  open_.clear();
  std::fill(std::begin(counts_), std::end(counts_), std::size_t{0});
}

}  // namespace tessera::check
