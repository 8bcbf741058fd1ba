// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/allowance.h"

#include <algorithm>

namespace tessera::check {

bool Allowance::Codes::has(std::string_view code) const {
  return all || std::find(codes.begin(), codes.end(), code) != codes.end();
}

void Allowance::Codes::add(const Codes& more) {
  all = all || more.all;
  codes.insert(codes.end(), more.codes.begin(), more.codes.end());
}

bool Allowance::read(std::string_view remark, std::string_view word, Codes& codes) {
  if (!remark.starts_with(word)) return false;
  remark.remove_prefix(word.size());
  if (!remark.empty() && (is_mlir_word(remark.front()) || remark.front() == '-')) return false;
  while (!remark.empty() && is_mlir_blank(remark.front())) remark.remove_prefix(1);
  if (!remark.starts_with('(')) {
    codes.all = true;
    return true;
  }
  for (std::size_t at = 1; at < remark.size() && remark[at] != ')';) {
    const std::size_t from = at;
    while (at < remark.size() && is_mlir_word(remark[at])) ++at;
    if (at > from) {
      codes.codes.push_back(remark.substr(from, at - from));
    } else {
      ++at;
    }
  }
  return true;
}

std::int64_t Allowance::line_of(std::int64_t byte) const {
  if (!index_) index_.emplace(text_);
  return index_->at(byte).line;
}

Allowance::Allowance(std::string_view text, const std::vector<MlirRemark>& remarks) : text_(text) {
  Codes waiting;  // from comments that are alone on their line
  std::int64_t waiting_at = 0;
  const auto settle = [&](std::int64_t next) {
    if (waiting_at > 0 && next != waiting_at + 1) {
      lines_[waiting_at + 1].add(waiting);
      waiting = {};
      waiting_at = 0;
    }
  };
  for (const MlirRemark& remark : remarks) {
    Codes codes;
    if (read(remark.text, "allow-file", codes)) {
      file_.add(codes);
    } else if (read(remark.text, "allow", codes)) {
      const std::int64_t line = line_of(static_cast<std::int64_t>(remark.at));
      settle(line);
      if (remark.own_line) {
        waiting.add(codes);
        waiting_at = line;
      } else {
        lines_[line].add(codes);
        if (waiting_at > 0) lines_[line].add(waiting);
        waiting = {};
        waiting_at = 0;
      }
    }
  }
  settle(0);
}

bool Allowance::allows(std::string_view code, std::int64_t byte) const {
  if (file_.has(code)) return true;
  if (lines_.empty()) return false;
  const auto found = lines_.find(line_of(byte));
  return found != lines_.end() && found->second.has(code);
}

}  // namespace tessera::check
