// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/repeats.h"
#include "tessera/base/text.h"
#include "tessera/notation/pyflame/text.h"

namespace tessera::notation {
namespace {

using Kind = PyflameLayout::Kind;

std::string pe_text(const PyflameLayout::Pe& pe) { return cat("(", pe[0], ", ", pe[1], ")"); }

/// A program may set fields that the factory does not have.
Status check_fields(const PyflameLayout& words) {
  const bool one_row = words.kind == Kind::kSinglePE || words.kind == Kind::kColPartition;
  const bool one_col = words.kind == Kind::kSinglePE || words.kind == Kind::kRowPartition;
  if ((one_row && words.rows != 1) || (one_col && words.cols != 1)) {
    return Error{ErrorCode::kContradiction,
                 cat(pyflame_factory(words.kind), " on ", words.rows, "x", words.cols, " PEs"),
                 std::nullopt, "a Grid has any number of PE rows and columns"};
  }
  if (words.kind != Kind::kBlockCyclic && (words.block_rows != 0 || words.block_cols != 0)) {
    return Error{ErrorCode::kContradiction,
                 cat(pyflame_factory(words.kind), " with blocks of ", words.block_rows, "x",
                     words.block_cols),
                 std::nullopt, "only BlockCyclic has blocks"};
  }
  if (words.kind != Kind::kCustom && !words.pes.empty()) {
    return Error{ErrorCode::kContradiction,
                 cat(pyflame_factory(words.kind), " with a list of ", words.pes.size(), " PEs"),
                 std::nullopt, "only Custom lists its PEs"};
  }
  return ok_status();
}

Status check_sizes(const PyflameLayout& words, const PyflameBlame& blame) {
  const std::array<std::int64_t, 2> pes = {words.rows, words.cols};
  const std::array<std::int64_t, 2> blocks = {words.block_rows, words.block_cols};
  for (const int axis : {0, 1}) {
    const auto a = static_cast<std::size_t>(axis);
    if (pes[a] < 1) {
      return Error{ErrorCode::kBadShape, cat(pes[a], " PE ", pe_axis_name(axis)),
                   blame.at(axis == 0 ? &PyflameSpans::rows : &PyflameSpans::cols),
                   "a layout has 1 PE or more along each axis"};
    }
    if (words.kind == Kind::kBlockCyclic && blocks[a] < 1) {
      return Error{ErrorCode::kBadCut,
                   cat("blocks of ", blocks[a], " elements for the PE ", pe_axis_name(axis)),
                   blame.at(axis == 0 ? &PyflameSpans::block_rows : &PyflameSpans::block_cols),
                   "a block has 1 element or more"};
    }
  }
  const Result<Shape> mesh = Shape::make({words.rows, words.cols});
  if (mesh) return ok_status();
  return Error{mesh.error().code, cat(words.rows, "x", words.cols, " PEs are too many to count"),
               PyflameBlame::both(blame.at(&PyflameSpans::rows), blame.at(&PyflameSpans::cols)),
               "use fewer PE rows or columns"};
}

/// Each PE axis is replicated or partial at most once.
Status check_fills(const PyflameLayout& words, const PyflameBlame& blame) {
  struct Item {
    int axis;
    std::string_view how;
    std::optional<Span> span;
  };
  std::vector<Item> items;
  for (std::size_t i = 0; i < words.replicate.size(); ++i) {
    items.push_back({words.replicate[i], "replicated", blame.at(&PyflameSpans::replicate, i)});
  }
  for (std::size_t i = 0; i < words.partial.size(); ++i) {
    items.push_back({words.partial[i].first, "partial", blame.at(&PyflameSpans::partial, i)});
  }
  std::array<const Item*, 2> first{};
  for (const Item& item : items) {
    if (item.axis != 0 && item.axis != 1) {
      return Error{ErrorCode::kOutOfRange, cat("there is no PE axis ", item.axis), item.span,
                   "0 is the PE rows, 1 the PE columns"};
    }
    const Item*& before = first[static_cast<std::size_t>(item.axis)];
    if (before != nullptr) {
      const std::string how = before->how == item.how
                                  ? cat(item.how, " twice")
                                  : cat("both ", before->how, " and ", item.how);
      return Error{ErrorCode::kContradiction, cat("the PE ", pe_axis_name(item.axis), " are ", how),
                   PyflameBlame::both(before->span, item.span), "give one of them"};
    }
    before = &item;
  }
  return ok_status();
}

Status check_origin(const PyflameLayout& words, const PyflameBlame& blame) {
  if (!words.origin || ((*words.origin)[0] >= 0 && (*words.origin)[1] >= 0)) return ok_status();
  return Error{ErrorCode::kOutOfRange,
               cat("the origin ", pe_text(*words.origin), " is outside the wafer"),
               blame.at(&PyflameSpans::origin), "PE rows and columns count from 0"};
}

/// Custom: one PE per tile, none of them twice.
Status check_pes(const PyflameLayout& words, const PyflameBlame& blame) {
  if (words.kind != Kind::kCustom) return ok_status();
  const auto tiles = static_cast<std::uint64_t>(words.rows * words.cols);
  if (words.pes.size() != tiles) {
    return Error{ErrorCode::kContradiction,
                 cat(words.pes.size(), words.pes.size() == 1 ? " PE" : " PEs", " for the ", tiles,
                     " tiles of ", words.rows, "x", words.cols),
                 blame.at(&PyflameSpans::pe_list), "one PE for each tile, row by row"};
  }
  PyflameLayout::Pe last = {0, 0};
  for (std::size_t i = 0; i < words.pes.size(); ++i) {
    const PyflameLayout::Pe& pe = words.pes[i];
    if (pe[0] < 0 || pe[1] < 0) {
      return Error{ErrorCode::kOutOfRange, cat("the PE ", pe_text(pe), " is outside the wafer"),
                   blame.at(&PyflameSpans::pes, i), "PE rows and columns count from 0"};
    }
    last = {std::max(last[0], pe[0]), std::max(last[1], pe[1])};
  }
  const Checked wafer = (Checked(last[0]) + 1) * (Checked(last[1]) + 1);
  if (wafer.overflowed()) return ok_status();  // the wafer would be too large: lowering reports it
  std::vector<std::int64_t> numbers;
  numbers.reserve(words.pes.size());
  for (const PyflameLayout::Pe& pe : words.pes) numbers.push_back(pe[0] * (last[1] + 1) + pe[1]);
  if (const std::optional<Repeat> repeat = first_repeat(numbers)) {
    return Error{ErrorCode::kBadDeviceMap,
                 cat("tiles ", repeat->first, " and ", repeat->second, " are both on PE ",
                     pe_text(words.pes[repeat->second])),
                 blame.at(&PyflameSpans::pes, repeat->second), "each tile has a separate PE"};
  }
  return ok_status();
}

}  // namespace

std::string_view pe_axis_name(int axis) { return axis == 0 ? "rows" : "columns"; }

std::optional<Span> PyflameBlame::at(Item item) const {
  return spans_ == nullptr ? std::nullopt : std::optional(spans_->*item);
}

std::optional<Span> PyflameBlame::at(Items items, std::size_t entry) const {
  return spans_ == nullptr ? std::nullopt : std::optional((spans_->*items)[entry]);
}

std::optional<Span> PyflameBlame::both(std::optional<Span> a, std::optional<Span> b) {
  if (!a || !b) return std::nullopt;
  return Span{std::min(a->from, b->from), std::max(a->to, b->to)};
}

Status check_pyflame(const PyflameLayout& words, const PyflameBlame& blame) {
  TESSERA_CHECK_OK(check_fields(words));
  TESSERA_CHECK_OK(check_sizes(words, blame));
  TESSERA_CHECK_OK(check_fills(words, blame));
  TESSERA_CHECK_OK(check_origin(words, blame));
  return check_pes(words, blame);
}

}  // namespace tessera::notation
