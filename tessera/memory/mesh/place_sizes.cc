// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/mesh/place_sizes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/mixing.h"
#include "tessera/base/text.h"

namespace tessera::memory {
namespace {

constexpr std::int64_t kMaxCells = std::int64_t{1} << 20;
constexpr std::int64_t kMaxGroupParts = std::int64_t{1} << 28;

/// A hash of "tensor t has this size". A vector's hash is the sum over its tensors, so it changes
/// by a difference when one size does.
std::uint64_t mix(std::size_t tensor, std::int64_t size) {
  return mixed(mixed(tensor) + static_cast<std::uint64_t>(size));
}

Error too_large(std::string_view what, std::int64_t count, std::int64_t most) {
  return Error{ErrorCode::kTooLarge,
               cat("sizes over the mesh fall into ", count, " ", what, "; at most ", most,
                   " are distinguished"),
               std::nullopt, "use fewer different grids, or plan parts of the program separately"};
}

}  // namespace

Result<PlaceSizes> PlaceSizes::make(const Shape& mesh, std::span<const SizedTensor> tensors,
                                    const SizeRule& rule) {
  if (mesh.empty()) {
    return Error{ErrorCode::kBadShape, cat("a mesh of ", mesh.to_string(), " has no places"),
                 std::nullopt, "every axis of a mesh has at least one place"};
  }
  if (mesh.rank() > kMaxRank) {
    return Error{ErrorCode::kRankTooLarge, cat("a mesh of ", mesh.rank(), " axes"), std::nullopt,
                 cat("at most ", kMaxRank)};
  }
  PlaceSizes out;
  out.mesh_ = mesh;
  std::vector<TensorPlaces> all;
  all.reserve(tensors.size());
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    Result<TensorPlaces> places = tensor_places(mesh, tensors[t], rule);
    if (!places) {
      const auto at = static_cast<std::int64_t>(t);
      return places.error().at(Span{at, at + 1});
    }
    all.push_back(*std::move(places));
  }
  TESSERA_CHECK_OK(out.cut_axes(all));
  TESSERA_CHECK_OK(out.find_classes());
  TESSERA_CHECK_OK(out.add_listed(all));
  out.find_totals(all);
  out.find_maximal();
  return out;
}

Status PlaceSizes::cut_axes(std::vector<TensorPlaces>& tensors) {
  const std::size_t count = tensors.size();
  const std::size_t rank = mesh_.rank();
  tables_.resize(count);
  strides_.assign(count * rank, 0);
  for (std::size_t t = 0; t < count; ++t) {
    TensorPlaces& tensor = tensors[t];
    if (tensor.is_listed) {
      tables_[t].listed = static_cast<std::int32_t>(listed_++);
      tensor.axes.assign(rank, AxisParts{{0}, {0}, 1});
      tensor.bytes = {0};
    }
    tables_[t].offset = table_.size();
    table_.insert(table_.end(), tensor.bytes.begin(), tensor.bytes.end());
    std::int32_t stride = 1;
    for (std::size_t a = rank; a-- > 0;) {
      strides_[t * rank + a] = stride;
      stride *= static_cast<std::int32_t>(tensor.axes[a].parts);
    }
  }
  std::int64_t cells = 1;
  axes_.resize(rank);
  for (std::size_t a = 0; a < rank; ++a) {
    Axis& axis = axes_[a];
    for (const TensorPlaces& tensor : tensors) {
      // Most tensors add only a few new cuts: keep the list short while it grows.
      axis.starts.insert(axis.starts.end(), tensor.axes[a].starts.begin(),
                         tensor.axes[a].starts.end());
      if (axis.starts.size() > (std::size_t{1} << 16)) {
        std::sort(axis.starts.begin(), axis.starts.end());
        axis.starts.erase(std::unique(axis.starts.begin(), axis.starts.end()), axis.starts.end());
      }
    }
    axis.starts.push_back(0);
    std::sort(axis.starts.begin(), axis.starts.end());
    axis.starts.erase(std::unique(axis.starts.begin(), axis.starts.end()), axis.starts.end());
    const Checked work =
        Checked(static_cast<std::int64_t>(axis.starts.size())) * static_cast<std::int64_t>(count);
    if (work.saturated() > kMaxGroupParts) {
      return too_large("parts of tensors", work.saturated(), kMaxGroupParts);
    }
    std::vector<std::size_t> next(count, 0);
    std::string parts(count, '\0');
    std::unordered_map<std::string, std::uint32_t> number;
    for (std::size_t i = 0; i < axis.starts.size(); ++i) {
      const std::int64_t start = axis.starts[i];
      for (std::size_t t = 0; t < count; ++t) {
        const AxisParts& own = tensors[t].axes[a];
        if (next[t] < own.starts.size() && own.starts[next[t]] == start) {
          parts[t] = static_cast<char>(own.part[next[t]++]);
        }
      }
      const auto [found, fresh] =
          number.try_emplace(parts, static_cast<std::uint32_t>(axis.groups()));
      if (fresh) {
        axis.first.push_back(start);
        axis.length.push_back(0);
        axis.part.insert(axis.part.end(), parts.begin(), parts.end());
      }
      const std::int64_t end = i + 1 < axis.starts.size() ? axis.starts[i + 1] : mesh_[a];
      axis.length[found->second] += end - start;
      axis.group.push_back(found->second);
    }
    cells = (Checked(cells) * static_cast<std::int64_t>(axis.groups())).saturated();
  }
  if (cells > kMaxCells) return too_large("cells", cells, kMaxCells);
  std::int64_t stride = 1;
  for (std::size_t a = rank; a-- > 0;) {
    axes_[a].stride = stride;
    stride *= static_cast<std::int64_t>(axes_[a].groups());
  }
  cell_class_.assign(static_cast<std::size_t>(cells), 0);
  return ok_status();
}

PlaceSizes::Groups PlaceSizes::decode(std::int64_t cell) const {
  Groups groups;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    groups[a] = static_cast<std::uint32_t>(cell / axes_[a].stride);
    cell %= axes_[a].stride;
  }
  return groups;
}

bool PlaceSizes::same_sizes(std::int64_t cell, std::int64_t other) const {
  const Groups a = decode(cell);
  const Groups b = decode(other);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (table_[entry(t, a)] != table_[entry(t, b)]) return false;
  }
  return true;
}

Status PlaceSizes::find_classes() {
  const std::size_t rank = axes_.size();
  // The tensors whose part differs from that of the previous group: on grids only one or two.
  std::vector<std::vector<std::vector<std::uint32_t>>> changed(rank);
  for (std::size_t a = 0; a < rank; ++a) {
    const Axis& axis = axes_[a];
    changed[a].resize(axis.groups());
    for (std::size_t g = 1; g < axis.groups(); ++g) {
      const std::uint8_t* now = axis.part.data() + g * tables_.size();
      const std::uint8_t* before = now - tables_.size();
      for (std::size_t t = 0; t < tables_.size(); ++t) {
        if (now[t] != before[t]) changed[a][g].push_back(static_cast<std::uint32_t>(t));
      }
    }
  }
  std::vector<std::uint64_t> hash(cell_class_.size());
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash;
  Groups groups = {};
  for (std::size_t cell = 0; cell < cell_class_.size(); ++cell) {
    std::int64_t places = 1;
    for (std::size_t a = 0; a < rank; ++a) places *= axes_[a].length[groups[a]];
    std::optional<std::uint32_t> number;
    bool hashed = false;
    for (std::size_t a = rank; a-- > 0 && !number;) {
      if (groups[a] == 0) continue;
      const std::size_t before = cell - static_cast<std::size_t>(axes_[a].stride);
      std::uint64_t difference = 0;
      bool same = true;
      for (const std::uint32_t t : changed[a][groups[a]]) {
        const std::int64_t size = table_[entry(t, groups)];
        --groups[a];
        const std::int64_t size_before = table_[entry(t, groups)];
        ++groups[a];
        if (size == size_before) continue;
        same = false;
        difference += mix(t, size) - mix(t, size_before);
      }
      hash[cell] = hash[before] + difference;
      hashed = true;
      if (same) number = cell_class_[before];
    }
    if (!hashed) {
      for (std::size_t t = 0; t < tables_.size(); ++t) {
        hash[cell] += mix(t, table_[entry(t, groups)]);
      }
    }
    if (!number) {
      const auto [from, to] = by_hash.equal_range(hash[cell]);
      for (auto it = from; it != to && !number; ++it) {
        if (same_sizes(classes_[it->second].cell, static_cast<std::int64_t>(cell))) {
          number = it->second;
        }
      }
    }
    if (!number) {
      number = static_cast<std::uint32_t>(classes_.size());
      classes_.push_back({0, static_cast<std::int64_t>(cell)});
      by_hash.emplace(hash[cell], *number);
    }
    classes_[*number].places += places;
    cell_class_[cell] = *number;
    for (std::size_t a = rank; a-- > 0;) {
      if (++groups[a] < axes_[a].groups()) break;
      groups[a] = 0;
    }
  }
  return ok_status();
}

void PlaceSizes::find_totals(const std::vector<TensorPlaces>& tensors) {
  const std::size_t rank = axes_.size();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    Checked total = 0;
    if (tensors[t].is_listed) {
      for (const auto& [place, bytes] : tensors[t].listed) {
        total += bytes;
        tables_[t].most = std::max(tables_[t].most, bytes);
      }
      tables_[t].total = total.saturated();
      continue;
    }
    // The number of places of each part, axis by axis; then the product of the axes over the table.
    std::vector<std::vector<std::int64_t>> lengths(rank);
    for (std::size_t a = 0; a < rank; ++a) {
      const AxisParts& parts = tensors[t].axes[a];
      lengths[a].assign(parts.parts, 0);
      for (std::size_t i = 0; i < parts.starts.size(); ++i) {
        const std::int64_t end = i + 1 < parts.starts.size() ? parts.starts[i + 1] : mesh_[a];
        lengths[a][parts.part[i]] += end - parts.starts[i];
      }
    }
    for (std::size_t i = 0; i < tensors[t].bytes.size(); ++i) {
      Checked weight = tensors[t].bytes[i];
      for (std::size_t a = 0; a < rank; ++a) {
        const std::size_t part =
            i / static_cast<std::size_t>(strides_[t * rank + a]) % tensors[t].axes[a].parts;
        weight *= lengths[a][part];
      }
      if (weight.raw() == 0) continue;  // merging leaves no part without places
      total += weight;
      tables_[t].most = std::max(tables_[t].most, tensors[t].bytes[i]);
    }
    tables_[t].total = total.saturated();
  }
}

Place PlaceSizes::example(std::size_t class_number) const {
  const Class& item = classes_[class_number];
  if (item.example >= 0) return mesh_.delinear(item.example);
  const Groups groups = decode(item.cell);
  Place place;
  for (std::size_t a = 0; a < axes_.size(); ++a) place.push_back(axes_[a].first[groups[a]]);
  return place;
}

std::size_t PlaceSizes::class_of(const Place& place) const {
  if (listed_ > 0) return place_class_[static_cast<std::size_t>(mesh_.linear(place))];
  std::int64_t cell = 0;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const Axis& axis = axes_[a];
    const auto after = std::upper_bound(axis.starts.begin(), axis.starts.end(), place[a]);
    cell += axis.group[static_cast<std::size_t>(after - axis.starts.begin()) - 1] * axis.stride;
  }
  return cell_class_[static_cast<std::size_t>(cell)];
}

std::int64_t PlaceSizes::size(std::size_t class_number, std::size_t tensor) const {
  return look(class_number)[tensor];
}

void PlaceSizes::sizes(std::size_t class_number, std::span<std::int64_t> out) const {
  const Look sizes_here = look(class_number);
  for (std::size_t t = 0; t < tables_.size(); ++t) out[t] = sizes_here[t];
}

}  // namespace tessera::memory
