// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/layout.h"
#include "tessera/memory/liveness.h"

/// mesh/: how many bytes each tensor needs on each place of a mesh. In: layouts or plain sizes, and
/// a rule for rounding. Out: the PlaceSizes of all tensors, as classes of places with equal sizes.
/// It must not choose offsets, and its memory must not grow with the mesh, except for listed
/// places.
namespace tessera::memory {

/// Data that take memory on some places of a mesh.
struct SizedTensor {
  /// The places of this layout hold it, through its device map; null: every place of the mesh. A
  /// layout without a mesh is on the first place.
  const Layout* layout = nullptr;
  /// The bytes on every place that holds a part of it; default: what the layout needs there.
  std::optional<std::int64_t> bytes = {};
};

struct SizeRule {
  std::int64_t align_bytes = 1;  ///< every size is rounded up to a multiple of this
  /// Gives every place of a layout's mesh all slots that the layout allocates, for code that
  /// addresses tiles by strides and treats all places alike. Otherwise: what the place's own data
  /// need.
  bool allocated = false;
};

/// The parts of a mesh axis: coordinates [starts[i], starts[i + 1]) belong to part[i].
struct AxisParts {
  std::vector<std::int64_t> starts;  ///< ascending, the first is 0
  std::vector<std::uint8_t> part;
  std::size_t parts = 0;
};

/// The bytes that one tensor needs on each place of a mesh.
///
/// A product wherever the layout is one: bytes[part of row, part of column, ..], row-major. Grids,
/// block-cyclic layouts, origins, replicas and partial sums are products of a few parts per axis,
/// for any size of mesh. Everything else (lists of PEs, stacked places) is listed.
struct TensorPlaces {
  bool is_listed = false;
  std::vector<AxisParts> axes;
  std::vector<std::int64_t> bytes;
  std::vector<std::pair<std::int64_t, std::int64_t>> listed;  ///< (place, bytes > 0), by place
};

/// The maximum number of listed places, per tensor and per mesh.
inline constexpr std::int64_t kMaxListedPlaces = std::int64_t{1} << 20;

/// Errors: kMeshMismatch for a mesh of another rank, kMeshTooSmall for a layout that reaches beyond
/// the mesh, kTooLarge for more than kMaxListedPlaces places that have to be listed, kOverflow,
/// kBadBuffer for negative bytes, kBadAlignment.
Result<TensorPlaces> tensor_places(const Shape& mesh, const SizedTensor& tensor,
                                   const SizeRule& rule);

/// The sizes of many tensors on all places of a mesh; each distinct vector of sizes is kept once.
///
/// Rows and columns are cut wherever a size changes. Rows with the same sizes are one group, and so
/// are columns. A cell has one group per axis: it is a rectangle in which every place needs the
/// same. Cells with equal sizes are one class. Nothing here grows with the mesh, and no vector is
/// stored: a class knows its cell, a cell its groups, and a group the part of every tensor.
///
/// Law: for every place q and tensor t, size(class_of(q), t) is what t needs on q; two classes
/// differ in at least one size; the places of all classes together are the mesh.
/// Example: 100 different grids on 994x750 places: about 200 x 200 cells, thousands of classes, and
/// one class that dominates all others.
class PlaceSizes {
 public:
  /// Errors: those of tensor_places(), where the span [t, t + 1) names the tensor; kTooLarge for
  /// more than 2^20 cells, or for a listed tensor on a mesh of more than kMaxListedPlaces places.
  static Result<PlaceSizes> make(const Shape& mesh, std::span<const SizedTensor> tensors,
                                 const SizeRule& rule);

  const Shape& mesh() const { return mesh_; }
  std::size_t tensors() const { return tables_.size(); }
  std::size_t classes() const { return classes_.size(); }

  std::int64_t places(std::size_t class_number) const { return classes_[class_number].places; }
  /// The first place of the class's first cell.
  Place example(std::size_t class_number) const;
  /// The class of a place, which must be on the mesh.
  std::size_t class_of(const Place& place) const;

  std::int64_t size(std::size_t class_number, std::size_t tensor) const;
  /// All sizes of a class; `out` has one entry per tensor.
  void sizes(std::size_t class_number, std::span<std::int64_t> out) const;

  /// The sizes of one class, for many lookups. It must not outlive this object.
  class Look;
  Look look(std::size_t class_number) const;

  std::int64_t most(std::size_t tensor) const { return tables_[tensor].most; }  ///< on any place
  /// The size of a tensor on all places together; saturates.
  std::int64_t total(std::size_t tensor) const { return tables_[tensor].total; }

  /// True when tensor `part`, `delta` bytes into `whole`, stays inside it wherever it has bytes.
  bool fits_inside(std::size_t part, std::size_t whole, std::int64_t delta) const;
  /// The same, for lifetimes(). It must not outlive these sizes.
  FitsInside inside() const {
    return [this](std::size_t part, std::size_t whole, std::int64_t delta) {
      return fits_inside(part, whole, delta);
    };
  }

  /// The classes that are sufficient for planning: every class is dominated by one of them, which
  /// is nowhere smaller, so its offsets work for both. Grids that begin at the same place have one.
  const std::vector<std::uint32_t>& maximal() const { return maximal_; }
  /// The index in maximal() of a class that dominates this one.
  std::size_t dominator(std::size_t class_number) const;

 private:
  /// The cuts of one axis.
  struct Axis {
    std::vector<std::int64_t> starts;  ///< of intervals; the first is 0
    std::vector<std::uint32_t> group;  ///< of each interval
    std::vector<std::int64_t> length;  ///< coordinates in each group
    std::vector<std::int64_t> first;   ///< the first coordinate of each group
    std::vector<std::uint8_t> part;    ///< part[group · tensors + tensor]
    std::vector<std::uint32_t> lead;   ///< for each group, a group that dominates it
    std::int64_t stride = 1;           ///< of the group in a cell's number
    std::size_t groups() const { return length.size(); }
  };
  /// The bytes of a tensor: table_[offset + Σ part·stride], or the listed column.
  struct Table {
    std::size_t offset = 0;
    std::int32_t listed = -1;
    std::int64_t most = 0;
    std::int64_t total = 0;
  };
  struct Class {
    std::int64_t places = 0;
    std::int64_t cell = 0;
    std::int64_t example = -1;  ///< a place number, where places are listed
  };

  using Groups = std::array<std::uint32_t, kMaxRank>;  ///< the groups of a cell, one per axis

  Status cut_axes(std::vector<TensorPlaces>& tensors);
  Status find_classes();
  Status add_listed(const std::vector<TensorPlaces>& tensors);
  void find_totals(const std::vector<TensorPlaces>& tensors);
  void find_leads(std::size_t axis);
  void find_maximal();
  /// The index in table_ for a tensor on the groups of a cell.
  std::size_t entry(std::size_t tensor, const Groups& groups) const;
  Groups decode(std::int64_t cell) const;
  bool same_sizes(std::int64_t cell, std::int64_t other) const;

  Shape mesh_;
  std::vector<Axis> axes_;
  std::vector<Table> tables_;
  std::vector<std::int64_t> table_;
  std::vector<std::int32_t> strides_;  ///< of parts in table_: strides_[tensor · axes + axis]
  std::vector<Class> classes_;
  std::vector<std::uint32_t> cell_class_;
  // For tensors that are listed, if there are any.
  std::size_t listed_ = 0;
  std::vector<std::uint32_t> place_class_;
  std::vector<std::int64_t> listed_sizes_;  ///< [class · listed_ + listed tensor]
  std::vector<std::uint32_t> maximal_;
  std::vector<std::uint32_t> dominator_;  ///< of classes that no other group dominates: an index in
                                          ///< maximal_
};

class PlaceSizes::Look {
 public:
  std::int64_t operator[](std::size_t tensor) const {
    const std::int32_t listed = all_.tables_[tensor].listed;
    if (listed < 0) return all_.table_[all_.entry(tensor, groups_)];
    return all_.listed_sizes_[class_ * all_.listed_ + static_cast<std::size_t>(listed)];
  }

 private:
  friend class PlaceSizes;
  Look(const PlaceSizes& all, std::size_t class_number)
      : all_(all), class_(class_number), groups_(all.decode(all.classes_[class_number].cell)) {}
  const PlaceSizes& all_;
  std::size_t class_;
  Groups groups_;
};

inline PlaceSizes::Look PlaceSizes::look(std::size_t class_number) const {
  return Look(*this, class_number);
}

inline std::size_t PlaceSizes::entry(std::size_t tensor, const Groups& groups) const {
  const std::size_t rank = axes_.size();
  std::size_t at = tables_[tensor].offset;
  for (std::size_t a = 0; a < rank; ++a) {
    at += static_cast<std::size_t>(axes_[a].part[groups[a] * tables_.size() + tensor]) *
          static_cast<std::size_t>(strides_[tensor * rank + a]);
  }
  return at;
}

}  // namespace tessera::memory
