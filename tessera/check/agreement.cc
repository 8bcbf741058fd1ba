// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/agreement.h"

#include <algorithm>

namespace tessera::check {

void Agreement::proposes(std::size_t group, std::size_t alias, const Edit& edit) {
  std::vector<std::size_t>& groups = proposals_[key_of(alias, edit)];
  if (groups.empty() || groups.back() != group) groups.push_back(group);
}

bool Agreement::unanimous(std::size_t alias, const Edit& edit) const {
  const auto users = users_.find(alias);
  const auto proposals = proposals_.find(key_of(alias, edit));
  return users != users_.end() && proposals != proposals_.end() &&
         users->second.size() == proposals->second.size();
}

const std::vector<std::size_t>& Agreement::others(std::size_t alias, const Edit& edit) const {
  constexpr std::size_t kMost = 3;
  const auto [entry, fresh] = others_.try_emplace(key_of(alias, edit));
  std::vector<std::size_t>& others = entry->second;
  const auto users = users_.find(alias);
  const auto proposals = proposals_.find(entry->first);
  if (!fresh || users == users_.end() || proposals == proposals_.end()) return others;
  auto proposed = proposals->second.begin();
  for (const std::size_t user : users->second) {
    if (others.size() == kMost) break;
    if (proposed != proposals->second.end() && *proposed == user) {
      ++proposed;
    } else {
      others.push_back(user);
    }
  }
  return others;
}

}  // namespace tessera::check
