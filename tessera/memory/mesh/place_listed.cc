// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tessera/base/mixing.h"
#include "tessera/base/text.h"
#include "tessera/memory/mesh/place_sizes.h"

namespace tessera::memory {

/// Tensors whose places are listed split the classes of all others, place by place.
Status PlaceSizes::add_listed(const std::vector<TensorPlaces>& tensors) {
  if (listed_ == 0) return ok_status();
  if (mesh_.elements() > kMaxListedPlaces) {
    return Error{ErrorCode::kTooLarge,
                 cat("places have to be listed one by one, but the mesh ", mesh_.to_string(),
                     " has ", mesh_.elements(), "; at most ", kMaxListedPlaces, " are"),
                 std::nullopt, "use grids instead of lists of places"};
  }
  const auto places = static_cast<std::size_t>(mesh_.elements());
  const std::vector<Class> cells = std::move(classes_);
  place_class_.resize(places);
  Place place(mesh_.rank(), 0);
  for (std::size_t i = 0; i < places; ++i) {
    std::int64_t cell = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const Axis& axis = axes_[a];
      const auto after = std::upper_bound(axis.starts.begin(), axis.starts.end(), place[a]);
      cell += axis.group[static_cast<std::size_t>(after - axis.starts.begin()) - 1] * axis.stride;
    }
    place_class_[i] = cell_class_[static_cast<std::size_t>(cell)];
    mesh_.next(place);
  }
  // A class splits where a listed tensor has different sizes on its places.
  struct Split {
    std::uint32_t parent;
    std::int64_t bytes;
    bool operator==(const Split&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Split& split) const {
      return mixed(mixed(split.parent) + static_cast<std::uint64_t>(split.bytes));
    }
  };
  std::vector<std::int64_t> cell_of;
  for (const Class& item : cells) cell_of.push_back(item.cell);
  listed_sizes_.assign(cell_of.size() * listed_, 0);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tables_[t].listed < 0) continue;
    std::unordered_map<Split, std::uint32_t, Hash> splits;
    for (const auto& [number, bytes] : tensors[t].listed) {
      std::uint32_t& now = place_class_[static_cast<std::size_t>(number)];
      const auto next = static_cast<std::uint32_t>(cell_of.size());
      const auto [found, fresh] = splits.try_emplace(Split{now, bytes}, next);
      if (fresh) {
        if (static_cast<std::int64_t>((cell_of.size() + 1) * listed_) > 16 * kMaxListedPlaces) {
          return Error{ErrorCode::kTooLarge,
                       cat("listed places fall into more than ", next, " classes of sizes"),
                       std::nullopt, "use fewer lists of places"};
        }
        cell_of.push_back(cell_of[now]);
        listed_sizes_.resize(cell_of.size() * listed_);
        for (std::size_t l = 0; l < listed_; ++l) {
          listed_sizes_[next * listed_ + l] = listed_sizes_[now * listed_ + l];
        }
        listed_sizes_[next * listed_ + static_cast<std::size_t>(tables_[t].listed)] = bytes;
      }
      now = found->second;
    }
  }
  // Renumber by first place, without classes that have lost all of their places.
  std::vector<std::int64_t> renumbered(cell_of.size(), -1);
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < places; ++i) {
    std::int64_t& number = renumbered[place_class_[i]];
    if (number < 0) {
      number = static_cast<std::int64_t>(classes_.size());
      classes_.push_back({0, cell_of[place_class_[i]], static_cast<std::int64_t>(i)});
      for (std::size_t l = 0; l < listed_; ++l) {
        sizes.push_back(listed_sizes_[place_class_[i] * listed_ + l]);
      }
    }
    place_class_[i] = static_cast<std::uint32_t>(number);
    ++classes_[place_class_[i]].places;
  }
  listed_sizes_ = std::move(sizes);
  return ok_status();
}

}  // namespace tessera::memory
