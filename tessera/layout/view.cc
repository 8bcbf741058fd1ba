// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/view.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/layout/algebra/merge_dims.h"
#include "tessera/layout/algebra/slice.h"
#include "tessera/layout/slots/decode.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxElements = std::size_t{1} << 16;

Error bad_view(std::string message, std::string help) {
  return Error{ErrorCode::kBadView, std::move(message), std::nullopt, std::move(help)};
}

Status check_dim(const Shape& shape, int dim) {
  if (dim >= 0 && static_cast<std::size_t>(dim) < shape.rank()) return ok_status();
  return bad_view(cat("dim ", dim, " of a tensor of rank ", shape.rank()), "dims count from 0");
}

/// An empty tensor has no elements to place, but its folds must still name dims that exist.
void fold_nothing(Form& form) {
  for (int dim = 0; dim < static_cast<int>(form.shape.rank()); ++dim) {
    if (form.shape[static_cast<std::size_t>(dim)] != 0) continue;
    for (Fold& fold : form.folds) {
      fold.terms = {Term{dim, 1}};
      fold.start = 0;
    }
    return;
  }
}

}  // namespace

View View::of(const Layout& layout) {
  return View(layout.form(), layout.dtype(), layout.atom(), layout.slots(), layout.shard_bytes());
}

Result<View> View::make(Form form, DType dtype, Atom atom, std::optional<std::int64_t> slots) {
  TESSERA_CHECK_OK(form.check());
  TESSERA_CHECK_OK(atom.check());
  const std::int64_t allocated = slots.value_or(form.reach());
  TESSERA_TRY(const std::int64_t bytes, allocated_bytes_of(form, atom, allocated));
  return View(std::move(form), dtype, atom, allocated, bytes);
}

Result<View> View::with(Form form) const {
  if (form.shape.empty()) fold_nothing(form);
  TESSERA_CHECK_OK(form.check());
  return View(std::move(form), dtype_, atom_, slots_, shard_bytes_);
}

Result<View> View::transpose(const std::vector<int>& perm) const {
  const std::set<int> seen(perm.begin(), perm.end());
  const bool fits =
      perm.size() == shape().rank() && seen.size() == perm.size() &&
      (perm.empty() || (*seen.begin() == 0 && *seen.rbegin() == static_cast<int>(perm.size()) - 1));
  if (!fits) {
    return bad_view(cat("a permutation of ", perm.size(), " numbers for rank ", shape().rank()),
                    "name every dim once");
  }
  std::vector<std::int64_t> extents;
  std::vector<int> position(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    extents.push_back(shape()[static_cast<std::size_t>(perm[i])]);
    position[static_cast<std::size_t>(perm[i])] = static_cast<int>(i);
  }
  Form form = form_;
  TESSERA_TRY(form.shape, Shape::make(std::move(extents)));
  for (Fold& fold : form.folds) {
    for (Term& term : fold.terms) term.dim = position[static_cast<std::size_t>(term.dim)];
  }
  return with(std::move(form));
}

Result<View> View::slice(int dim, std::int64_t start, std::int64_t count, std::int64_t step) const {
  TESSERA_CHECK_OK(check_dim(shape(), dim));
  TESSERA_TRY(Form form, slice_dim(form_, dim, start, count, step));
  return with(std::move(form));
}

Result<View> View::broadcast(int dim, std::int64_t extent) const {
  if (dim < 0 || static_cast<std::size_t>(dim) > shape().rank()) {
    return bad_view(cat("a new dim at position ", dim, " of rank ", shape().rank()),
                    "from 0 to the rank");
  }
  std::vector<std::int64_t> extents = shape().extents();
  extents.insert(extents.begin() + dim, extent);
  Form form = form_;
  TESSERA_TRY(form.shape, Shape::make(std::move(extents)));
  for (Fold& fold : form.folds) {
    for (Term& term : fold.terms) {
      if (term.dim >= dim) ++term.dim;
    }
  }
  return with(std::move(form));
}

Result<View> View::split(int dim, const std::vector<std::int64_t>& extents) const {
  TESSERA_CHECK_OK(check_dim(shape(), dim));
  TESSERA_TRY(const Shape parts, Shape::make(extents));
  const std::int64_t extent = shape()[static_cast<std::size_t>(dim)];
  if (parts.elements() != extent) {
    return bad_view(cat("dim ", dim, " of extent ", extent, " split into ", parts.to_string(),
                        ", which has ", parts.elements(), " elements"),
                    "factors multiply to the extent");
  }
  std::vector<std::int64_t> all = shape().extents();
  all.erase(all.begin() + dim);
  all.insert(all.begin() + dim, extents.begin(), extents.end());
  Form form = form_;
  TESSERA_TRY(form.shape, Shape::make(std::move(all)));
  const std::vector<std::int64_t> strides = parts.row_major_strides();
  const int more = static_cast<int>(extents.size()) - 1;
  for (Fold& fold : form.folds) {
    std::vector<Term> terms;
    for (const Term& term : fold.terms) {
      if (term.dim < dim) terms.push_back(term);
      if (term.dim > dim) terms.push_back({term.dim + more, term.coef});
      if (term.dim != dim || form.shape.empty()) continue;
      for (std::size_t i = 0; i < extents.size(); ++i) {
        if (extents[i] > 1) terms.push_back({dim + static_cast<int>(i), term.coef * strides[i]});
      }
    }
    fold.terms = std::move(terms);
  }
  return with(std::move(form));
}

Result<View> View::merge(int first, int count) const {
  if (count < 1 || first < 0 || first > static_cast<int>(shape().rank()) - count) {
    return bad_view(cat("a merge of ", count, " dims from ", first, " of rank ", shape().rank()),
                    "a range of dims that exist");
  }
  Form form = form_;
  for (int dim = first + count - 2; dim >= first; --dim) {
    TESSERA_TRY(form, merge_dims(form, dim));
  }
  return with(std::move(form));
}

Result<View> View::reshape(const std::vector<std::int64_t>& extents) const {
  TESSERA_TRY(const Shape target, Shape::make(extents));
  if (target.elements() != shape().elements()) {
    return bad_view(cat("a reshape of ", shape().elements(), " elements into ", target.to_string(),
                        ", which has ", target.elements()),
                    "keep the number of elements");
  }
  if (target.empty()) {
    Form form = form_;
    form.shape = target;
    return with(std::move(form));
  }
  // Walk both shapes from the left; where their products are equal, one group of old dims becomes
  // one group of new dims.
  View view = *this;
  std::size_t from = 0;
  std::size_t to = 0;
  int at = 0;  // dims of `view` that are already reshaped
  while (from < shape().rank() || to < target.rank()) {
    std::int64_t old_product = from < shape().rank() ? shape()[from] : 1;
    std::int64_t new_product = to < target.rank() ? target[to] : 1;
    std::size_t old_end = std::min(from + 1, shape().rank());
    std::size_t new_end = std::min(to + 1, target.rank());
    while (old_product != new_product) {
      if (old_product < new_product) {
        old_product *= shape()[old_end++];
      } else {
        new_product *= target[new_end++];
      }
    }
    const int olds = static_cast<int>(old_end - from);
    const std::vector<std::int64_t> group(extents.begin() + static_cast<std::ptrdiff_t>(to),
                                          extents.begin() + static_cast<std::ptrdiff_t>(new_end));
    if (olds == 0) {
      TESSERA_TRY(view, view.broadcast(at, 1));
    } else if (olds != 1 || group.size() != 1) {
      if (olds > 1) {
        TESSERA_TRY(view, view.merge(at, olds));
      }
      TESSERA_TRY(view, view.split(at, group));
    }
    at += static_cast<int>(group.size());
    from = old_end;
    to = new_end;
  }
  return view;
}

Result<Location> View::locate(const Index& index) const { return locate_in(form_, atom_, index); }

Result<std::vector<Index>> View::elements_at(const Place& place, std::int64_t slot) const {
  TESSERA_CHECK_OK(check_position(mesh(), slots_, place, slot));
  std::vector<Index> found;
  TESSERA_CHECK_OK(Decoder(form_).for_each_element(form_, place, slot, [&](const Index& index) {
    found.push_back(index);
    return found.size() <= kMaxElements;
  }));
  if (found.size() > kMaxElements) {
    return Error{ErrorCode::kTooLarge,
                 cat("more than ", kMaxElements, " indices share slot ", slot), std::nullopt,
                 "ask where an element is instead"};
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Result<View> tile_view(const Layout& layout, const std::vector<std::int64_t>& extents,
                       const Index& tile) {
  if (extents.size() != layout.shape().rank() || tile.size() != extents.size()) {
    return bad_view(
        cat("a tile of rank ", extents.size(), " of a tensor of rank ", layout.shape().rank()),
        "one extent and one number per dim");
  }
  View view = View::of(layout);
  for (std::size_t dim = 0; dim < extents.size(); ++dim) {
    if (extents[dim] < 1 || tile[dim] < 0) {
      return bad_view(cat("tile ", tile[dim], " of extent ", extents[dim], " along dim ", dim),
                      "extents are 1 or more, tiles count from 0");
    }
    const Checked start = Checked(tile[dim]) * extents[dim];
    const std::int64_t rest =
        layout.shape()[dim] - std::min(start.saturated(), layout.shape()[dim]);
    if (rest == 0) {
      return bad_view(cat("tile ", tile[dim], " along dim ", dim, " lies outside its ",
                          layout.shape()[dim], " elements"),
                      "tiles count from 0");
    }
    TESSERA_TRY(view, view.slice(static_cast<int>(dim), start.raw(), std::min(extents[dim], rest)));
  }
  return view;
}

}  // namespace tessera
