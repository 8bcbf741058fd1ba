// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/dtensor/chunks.h"
#include "tessera/notation/dtensor/dtensor.h"

namespace tessera::notation {
namespace {

Status check_words(const DtensorLayout& words, const Shape& shape) {
  if (words.placements.size() != words.mesh.size()) {
    return Error{ErrorCode::kContradiction,
                 cat(words.placements.size(), " placements for a mesh of rank ", words.mesh.size()),
                 std::nullopt, "one placement per mesh dim"};
  }
  for (const std::int64_t places : words.mesh) {
    if (places < 1) {
      return Error{ErrorCode::kBadShape, cat("a mesh dim of ", places, " places"), std::nullopt,
                   "mesh dims have 1 place or more"};
    }
  }
  for (const DtensorPlacement& placement : words.placements) {
    if (!placement.shards()) continue;
    if (placement.dim < 0 || static_cast<std::size_t>(placement.dim) >= shape.rank()) {
      return Error{ErrorCode::kOutOfRange,
                   cat("dim ", placement.dim, " of a tensor of rank ", shape.rank()), std::nullopt,
                   "shard a dim that exists, or replicate"};
    }
    if (placement.split_factor < 1) {
      return Error{ErrorCode::kOutOfRange, cat("a split factor of ", placement.split_factor),
                   std::nullopt, "split factors are 1 or more"};
    }
  }
  return ok_status();
}

/// The levels that cut each dim.
std::vector<std::vector<ChunkLevel>> levels_by_dim(const DtensorLayout& words, std::size_t rank) {
  std::vector<std::vector<ChunkLevel>> levels(rank);
  for (std::size_t axis = 0; axis < words.mesh.size(); ++axis) {
    const DtensorPlacement& placement = words.placements[axis];
    if (!placement.shards()) continue;
    levels[static_cast<std::size_t>(placement.dim)].push_back(
        {static_cast<int>(axis), words.mesh[axis], placement.split_factor});
  }
  return levels;
}

class Lowering {
 public:
  Lowering(const DtensorLayout& words, const Shape& shape, Shape mesh, DType dtype)
      : words_(words), shape_(shape), mesh_(std::move(mesh)), dtype_(dtype) {}

  Result<Placement> run() {
    if (shape_.empty()) {
      TESSERA_TRY(Layout layout, empty());
      return Placement(std::move(layout));
    }
    levels_ = levels_by_dim(words_, shape_.rank());
    Checked pieces = 1;
    bool outer_moves = false;  // the stride of an earlier dim depends on this dim
    for (std::size_t dim = 0; dim < shape_.rank(); ++dim) {
      TESSERA_TRY(std::vector<ChunkRun> runs, chunk_runs(shape_[dim], levels_[dim], outer_moves));
      pieces *= static_cast<std::int64_t>(runs.size());
      runs_.push_back(std::move(runs));
      outer_moves = outer_moves || largest_chunk(shape_[dim], levels_[dim]) > 1;
    }
    if (pieces.saturated() > static_cast<std::int64_t>(kMaxPieces)) {
      return Error{ErrorCode::kTooLarge,
                   cat("uneven shards make ", pieces.saturated(), " boxes, more than ", kMaxPieces),
                   std::nullopt, "use extents that the mesh divides, or a smaller mesh"};
    }
    return all_pieces();
  }

 private:
  Result<Placement> all_pieces() {
    std::vector<LayoutPiece> pieces;
    std::vector<std::size_t> choice(runs_.size(), 0);
    for (;;) {
      TESSERA_TRY(LayoutPiece made, piece(choice));
      pieces.push_back(std::move(made));
      std::size_t dim = choice.size();
      while (dim > 0 && ++choice[dim - 1] == runs_[dim - 1].size()) choice[--dim] = 0;
      if (dim == 0) break;
    }
    if (pieces.size() == 1) return Placement(std::move(pieces.front().layout));
    TESSERA_TRY(Piecewise whole, Piecewise::by_rule(shape_, std::move(pieces)));
    return Placement(std::move(whole));
  }

  /// The box of one run per dim, its shards row-major in their own extents.
  Result<LayoutPiece> piece(const std::vector<std::size_t>& choice) const {
    Form form;
    form.mesh = mesh_;
    Checked stride = 1;
    Checked offset = 0;
    std::vector<std::int64_t> extents(shape_.rank());
    std::vector<Fold> folds(shape_.rank());
    std::vector<bool> used(mesh_.rank(), false);
    std::vector<std::int64_t> first(mesh_.rank(), 0);
    Box box = Box::whole(shape_);
    for (std::size_t dim = shape_.rank(); dim-- > 0;) {
      const ChunkRun& run = runs_[dim][choice[dim]];
      box.from[dim] = run.from;
      box.to[dim] = run.to;
      extents[dim] = run.to - run.from;
      TESSERA_TRY(folds[dim], fold_of(run, static_cast<int>(dim), stride));
      for (std::size_t level = 0; level < levels_[dim].size(); ++level) {
        first[static_cast<std::size_t>(levels_[dim][level].axis)] = run.coordinates[level];
      }
      for (const Cut& cut : folds[dim].cuts) {
        if (cut.target.is_mesh()) used[static_cast<std::size_t>(cut.target.axis())] = true;
      }
      offset += stride * run.position;
      stride *= run.extent;
    }
    TESSERA_TRY(form.shape, Shape::make(std::move(extents)));
    TESSERA_TRY(form.offset, offset.value("a slot"));
    form.folds = std::move(folds);
    form.fills = fills(used, first);
    TESSERA_TRY(Layout layout, make(std::move(form)));
    return LayoutPiece{std::move(box), std::move(layout)};
  }

  Result<Fold> fold_of(const ChunkRun& run, int dim, Checked stride) const {
    Fold fold;
    fold.terms = {{dim, 1}};
    const std::vector<ChunkLevel>& levels = levels_[static_cast<std::size_t>(dim)];
    std::int64_t left = run.to - run.from;
    for (const ChunkDigit& digit : run.digits) {
      const std::int64_t count = ceil_div(left, digit.width);
      left = std::min(left, digit.width);
      if (digit.level == ChunkDigit::kPosition) {
        TESSERA_TRY(const std::int64_t slots, (stride * digit.stride).value("a stride"));
        fold.cuts.push_back({digit.width, count, Target::memory(), slots, Cause::kGrid});
      } else {
        const int axis = levels[static_cast<std::size_t>(digit.level)].axis;
        fold.cuts.push_back({digit.width, count, Target::mesh(axis), digit.stride, Cause::kGrid});
      }
    }
    if (fold.cuts.empty() || fold.cuts.back().width != 1) {
      TESSERA_TRY(const std::int64_t slots, stride.value("a stride"));
      fold.cuts.push_back({1, left, Target::memory(), slots, Cause::kGrid});
    }
    return fold;
  }

  std::vector<Fill> fills(const std::vector<bool>& used,
                          const std::vector<std::int64_t>& first) const {
    std::vector<Fill> fills;
    for (std::size_t at = 0; at < mesh_.rank(); ++at) {
      const int axis = static_cast<int>(at);
      const DtensorPlacement& placement = words_.placements[at];
      if (mesh_[at] == 1) continue;
      if (placement.kind == DtensorPlacement::Kind::kReplicate) {
        fills.push_back(Fill::replicate(axis, mesh_[at]));
      } else if (placement.kind == DtensorPlacement::Kind::kPartial) {
        fills.push_back(Fill::partial(axis, mesh_[at], placement.reduction));
      } else if (!used[at] || first[at] != 0) {
        fills.push_back(Fill::fixed(axis, first[at]));
      }
    }
    return fills;
  }

  Result<Layout> empty() const {
    Form form;
    form.shape = shape_;
    form.mesh = mesh_;
    Checked stride = 1;
    for (std::size_t dim = shape_.rank(); dim-- > 0;) {
      TESSERA_TRY(const std::int64_t slots, stride.value("a stride"));
      form.folds.push_back({{{static_cast<int>(dim), 1}},
                            0,
                            {{1, shape_[dim], Target::memory(), slots, Cause::kGrid}}});
      stride *= std::max(shape_[dim], std::int64_t{1});
    }
    form.fills =
        fills(std::vector<bool>(mesh_.rank(), false), std::vector<std::int64_t>(mesh_.rank(), 0));
    return make(std::move(form));
  }

  Result<Layout> make(Form form) const {
    LayoutSpec spec;
    spec.form = std::move(form);
    spec.dtype = dtype_;
    spec.atom = Atom::scalar(dtype_);
    return Layout::make(std::move(spec));
  }

  const DtensorLayout& words_;
  const Shape& shape_;
  Shape mesh_;
  DType dtype_;
  std::vector<std::vector<ChunkLevel>> levels_;
  std::vector<std::vector<ChunkRun>> runs_;
};

}  // namespace

Result<Placement> lower(const DtensorLayout& words, const Shape& shape, DType dtype) {
  TESSERA_CHECK_OK(check_words(words, shape));
  TESSERA_TRY(Shape mesh, Shape::make(words.mesh));
  return Lowering(words, shape, std::move(mesh), dtype).run();
}

}  // namespace tessera::notation
