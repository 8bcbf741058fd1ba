// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/memory/liveness.h"
#include "tessera/memory/mesh/tensor_places.h"

namespace tessera::memory {

/// The sizes of many tensors on all places of a mesh, each distinct vector of sizes once.
///
/// Rows and columns are cut wherever a size changes; rows with the same sizes are one group, and so
/// are columns. A cell, one group an axis, is a rectangle in which every place needs the same, and
/// cells with equal sizes are one class. Nothing here grows with the mesh, and no vector is stored:
/// a class knows its cell, a cell its groups, and a group the part of every tensor.
///
/// Law: for every place q and tensor t, size(class_of(q), t) is what t needs on q; two classes
/// differ in some size; the places of all classes make up the mesh.
/// Example: 100 grids of their own on 994x750 places: some 200 x 200 cells, thousands of classes,
/// and one that dominates all others.
class PlaceSizes {
 public:
  /// Errors: those of tensor_places(), the span [t, t + 1) naming the tensor; kTooLarge for more
  /// than 2^20 cells, or for a listed tensor on a mesh of more than kMaxListedPlaces places.
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
  /// All sizes of a class; `out` has one entry a tensor.
  void sizes(std::size_t class_number, std::span<std::int64_t> out) const;

  /// The sizes of one class, for many questions about it; not longer-lived than this object.
  class Look;
  Look look(std::size_t class_number) const;

  std::int64_t most(std::size_t tensor) const { return tables_[tensor].most; }  ///< on any place
  /// Of a tensor on all places together; saturates.
  std::int64_t total(std::size_t tensor) const { return tables_[tensor].total; }

  /// Whether tensor `part`, `delta` bytes into `whole`, stays inside it wherever it has bytes.
  bool fits_inside(std::size_t part, std::size_t whole, std::int64_t delta) const;
  /// The same, for lifetimes(); as long as these sizes live.
  FitsInside inside() const {
    return [this](std::size_t part, std::size_t whole, std::int64_t delta) {
      return fits_inside(part, whole, delta);
    };
  }

  /// Classes that suffice to plan for: every class is dominated by one of them, which is nowhere
  /// smaller, so that offsets for that one serve it too. Grids that begin at one place have one.
  const std::vector<std::uint32_t>& maximal() const { return maximal_; }
  /// The position in maximal() of a class that dominates this one.
  std::size_t dominator(std::size_t class_number) const;

 private:
  /// Cuts of one axis.
  struct Axis {
    std::vector<std::int64_t> starts;  ///< of intervals; the first is 0
    std::vector<std::uint32_t> group;  ///< of each interval
    std::vector<std::int64_t> length;  ///< coordinates in each group
    std::vector<std::int64_t> first;   ///< the first coordinate of each group
    std::vector<std::uint8_t> part;    ///< part[group · tensors + tensor]
    std::vector<std::uint32_t> lead;   ///< of each group, a group that dominates it
    std::int64_t stride = 1;           ///< of the group in a cell's number
    std::size_t groups() const { return length.size(); }
  };
  /// Where a tensor's bytes are: table_[offset + Σ part·stride], or the listed column.
  struct Table {
    std::size_t offset = 0;
    std::int32_t listed = -1;
    std::int64_t most = 0;
    std::int64_t total = 0;
  };
  struct Class {
    std::int64_t places = 0;
    std::int64_t cell = 0;
    std::int64_t example = -1;  ///< a place by its number, where places are listed
  };

  using Groups = std::array<std::uint32_t, kMaxRank>;  ///< of a cell, one an axis

  Status cut_axes(std::vector<TensorPlaces>& tensors);
  Status find_classes();
  Status add_listed(const std::vector<TensorPlaces>& tensors);
  void find_totals(const std::vector<TensorPlaces>& tensors);
  void find_leads(std::size_t axis);
  void find_maximal();
  /// Entry of table_ for a tensor on the groups of a cell.
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
  // Of tensors that are listed, when there are any.
  std::size_t listed_ = 0;
  std::vector<std::uint32_t> place_class_;
  std::vector<std::int64_t> listed_sizes_;  ///< [class · listed_ + listed tensor]
  std::vector<std::uint32_t> maximal_;
  std::vector<std::uint32_t> dominator_;  ///< of classes that are led by no other group: a maximal
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
