// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "tessera/check/check.h"

namespace tessera::check {

/// Whether all tensors that use an alias propose the same change of its text.
/// Law: unanimous(a, e) ⇔ each group that uses `a` proposed `e`, and one does.
class Agreement {
 public:
  /// Groups are tensors with the same text. Call it once per group and alias, in increasing order
  /// of groups.
  void uses(std::size_t group, std::size_t alias) { users_[alias].push_back(group); }
  void proposes(std::size_t group, std::size_t alias, const Edit& edit);

  bool unanimous(std::size_t alias, const Edit& edit) const;
  /// The first three groups that use the alias and did not propose the edit. The result is computed
  /// once per edit, so the total cost is at most proportional to the number of proposals.
  const std::vector<std::size_t>& others(std::size_t alias, const Edit& edit) const;

 private:
  using Key = std::tuple<std::size_t, std::int64_t, std::int64_t, std::string>;
  static Key key_of(std::size_t alias, const Edit& edit) {
    return {alias, edit.span.from, edit.span.to, edit.text};
  }

  std::map<std::size_t, std::vector<std::size_t>> users_;
  std::map<Key, std::vector<std::size_t>> proposals_;
  mutable std::map<Key, std::vector<std::size_t>> others_;
};

}  // namespace tessera::check
