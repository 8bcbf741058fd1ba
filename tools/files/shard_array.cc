// SPDX-License-Identifier: Apache-2.0
#include "tools/files/shard_array.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// One extent of the memory of a place, and the number of slots per step along it.
struct Extent {
  std::int64_t count = 1;
  std::int64_t stride = 1;
};

/// The memory digits of a fold as one extent, when they are contiguous: each step of a digit is as
/// long as the whole range of the next.
std::optional<Extent> extent_of(const Fold& fold) {
  Extent all{1, 0};
  for (std::size_t k = fold.cuts.size(); k-- > 0;) {
    const Cut& cut = fold.cuts[k];
    if (!cut.target.is_memory() || cut.count == 1) continue;
    if (all.count == 1) {
      all = {cut.count, cut.stride};
      continue;
    }
    if ((Checked(all.count) * all.stride).saturated() != cut.stride) return std::nullopt;
    all.count = (Checked(all.count) * cut.count).saturated();
  }
  return all;
}

/// The extents of a form's memory in the order of its dims, or nothing when it is not a box.
std::optional<std::vector<Extent>> extents_of(const Form& form) {
  std::vector<std::pair<int, Extent>> by_dim;
  std::vector<bool> is_seen(form.shape.rank(), false);
  for (const Fold& fold : form.folds) {
    const std::optional<Extent> extent = extent_of(fold);
    if (!extent) return std::nullopt;
    if (fold.terms.empty()) {
      if (extent->count != 1) return std::nullopt;
      continue;
    }
    int first = fold.terms.front().dim;
    for (const Term& term : fold.terms) {
      const auto dim = static_cast<std::size_t>(term.dim);
      if (is_seen[dim]) return std::nullopt;
      is_seen[dim] = true;
      first = std::min(first, term.dim);
    }
    by_dim.emplace_back(first, *extent);
  }
  for (std::size_t d = 0; d < is_seen.size(); ++d) {
    if (!is_seen[d]) by_dim.emplace_back(static_cast<int>(d), Extent{1, 0});
  }
  std::sort(by_dim.begin(), by_dim.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Extent> extents;
  for (const auto& [dim, extent] : by_dim) extents.push_back(extent);
  return extents;
}

/// Whether the steps are those of a dense array whose last extent is the fastest.
template <typename Iterator>
bool is_dense(const Iterator& slowest, Iterator end) {
  Checked expected(1);
  while (end != slowest) {
    --end;
    if (end->count == 1) continue;
    if (end->stride != expected.saturated()) return false;
    expected *= end->count;
  }
  return true;
}

struct LocalBox {
  FileArray::Order order = FileArray::Order::kMemory;
  std::vector<std::int64_t> shape;
  friend bool operator==(const LocalBox&, const LocalBox&) = default;
};

/// The memory of a place as a box of `slots` slots in a plain order.
LocalBox box_of(const Form& form, std::int64_t slots) {
  LocalBox no_box;
  if (form.offset != 0) return no_box;
  const std::optional<std::vector<Extent>> extents = extents_of(form);
  if (!extents) return no_box;
  LocalBox box;
  Checked product(1);
  for (const Extent& extent : *extents) {
    box.shape.push_back(extent.count);
    product *= extent.count;
  }
  if (product.overflowed() || product.raw() != slots) return no_box;
  if (is_dense(extents->begin(), extents->end())) {
    box.order = FileArray::Order::kRowMajor;
  } else if (is_dense(extents->rbegin(), extents->rend())) {
    box.order = FileArray::Order::kColumnMajor;
  } else {
    return no_box;
  }
  return box;
}

bool is_one_line(const std::vector<std::int64_t>& shape) {
  return std::count_if(shape.begin(), shape.end(), [](std::int64_t n) { return n != 1; }) <= 1;
}

/// The shape without its extents of 1.
std::vector<std::int64_t> squeezed(std::vector<std::int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

std::int64_t elements_of(const FileArray& array) {
  Checked product(1);
  for (const std::int64_t extent : array.shape) product *= extent;
  return product.saturated();
}

}  // namespace

FileArray shard_array(const Placement& placement) {
  FileArray array = file_array(placement);  // for the type
  const bool has_addresses = dtype_bits(placement.atom().storage).value_or(0) >= 8;
  const std::int64_t slots = placement.slots();
  array.order = FileArray::Order::kMemory;
  array.shape = {has_addresses ? slots : placement.shard_bytes()};
  array.fixed = 0;
  if (!has_addresses) return array;
  std::optional<LocalBox> box;
  for (const FormPiece& piece : form_pieces(placement)) {
    const LocalBox of_piece = box_of(*piece.form, slots);
    if (box && *box != of_piece) return array;
    box = of_piece;
  }
  if (!box || box->order == FileArray::Order::kMemory) return array;
  array.order = box->order;
  array.shape = box->shape;
  return array;
}

FileArray stacked_array(const Placement& placement, std::int64_t places) {
  FileArray array = shard_array(placement);
  if (array.order == FileArray::Order::kColumnMajor) array.shape = {elements_of(array)};
  if (array.order == FileArray::Order::kColumnMajor) array.order = FileArray::Order::kMemory;
  array.shape.insert(array.shape.begin(), places);
  return array;
}

Status check_shard_header(const FileArray& array, DType storage, const NpyHeader& header,
                          const std::string& name) {
  TESSERA_CHECK_OK(check_array_type(array, storage, header, name));
  const bool is_column_major =
      array.order == FileArray::Order::kColumnMajor && !is_one_line(array.shape);
  const bool is_line = is_one_line(header.shape);
  const bool is_right_order = is_line || header.fortran_order == is_column_major;
  const bool is_right_shape = is_column_major && !is_line
                                  ? squeezed(header.shape) == squeezed(array.shape)
                                  : header.elements == elements_of(array);
  if (is_right_order && is_right_shape) return ok_status();
  const std::int64_t elements = elements_of(array);
  std::string help = cat("a place of this layout has ", count_of(elements, "element"),
                         ", the file ", header.elements);
  if (header.elements == elements) {
    help = is_column_major ? "save numpy.asfortranarray(x): this layout is column-major"
                           : "save numpy.ascontiguousarray(x)";
  }
  return Error{ErrorCode::kShapeMismatch,
               cat(quote(name), " holds an array of shape ", python_tuple(header.shape),
                   header.fortran_order ? " in Fortran order" : "", ", expected ",
                   python_tuple(array.shape), is_column_major ? " in Fortran order" : ""),
               std::nullopt, std::move(help)};
}

}  // namespace tessera::tools
