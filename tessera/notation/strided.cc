// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/runs.h"
#include "tessera/notation/cursor.h"
#include "tessera/notation/registry.h"

/// `strided<[256, 1]>` and `strided<[256, -1], offset: 7>`: element x lives in slot
/// offset + Σ stride[i]·x[i] of a single place. MLIR's spelling and meaning.
namespace tessera {
namespace {

struct Strides {
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;  // the slot of index 0
};

/// A negative stride runs downward from the slot of index 0, which must be high enough for it.
Status check_lowest(const Strides& text, const Shape& shape) {
  Checked lowest = text.offset;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (text.strides[dim] < 0 && shape[dim] > 1) {
      lowest += Checked(text.strides[dim]) * (shape[dim] - 1);
    }
  }
  TESSERA_TRY(const std::int64_t slot, lowest.value("the lowest slot"));
  if (slot >= 0) return ok_status();
  return Error{ErrorCode::kOutOfRange, cat("an element would live in slot ", slot), std::nullopt,
               cat("slots count from 0: an offset of ", (Checked(text.offset) - slot).saturated(),
                   " or more")};
}

Result<Layout> parse(std::string_view source, const Shape& shape, DType dtype) {
  constexpr std::string_view kHelp = "such as strided<[256, 1]> or strided<[256, 1], offset: 5>";
  Cursor cursor(source, "the end of the layout");
  TESSERA_CHECK_OK(cursor.expect_word("strided", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  Strides text;
  const std::int64_t list_from = cursor.position();
  TESSERA_TRY(text.strides, cursor.integers("a stride", kMaxRank));
  const Span list = cursor.since(list_from);
  std::optional<Span> offset;
  if (cursor.accept(",")) {
    TESSERA_CHECK_OK(cursor.expect_word("offset", kHelp));
    TESSERA_CHECK_OK(cursor.expect(":", kHelp));
    const std::int64_t offset_from = cursor.position();
    TESSERA_TRY(text.offset, cursor.integer("an offset"));
    offset = cursor.since(offset_from);
  }
  if (!cursor.accept(">")) return cursor.expected(offset ? "'>'" : "',' or '>'", kHelp);
  TESSERA_CHECK_OK(cursor.expect_end());
  if (text.strides.size() != shape.rank()) {
    return Error{ErrorCode::kContradiction,
                 cat(text.strides.size(), text.strides.size() == 1 ? " stride" : " strides",
                     " for a tensor of rank ", shape.rank()),
                 list, cat("row-major is strided<", bracketed(shape.row_major_strides()), ">")};
  }
  if (const Status lowest = check_lowest(text, shape); !lowest) {
    return lowest.error().at(offset.value_or(list));
  }
  Result<Layout> layout = Layout::strided(shape, dtype, text.strides, text.offset);
  if (!layout) return layout.error().at(list);
  return layout;
}

Error cannot_say(std::string_view what) {
  return Error{ErrorCode::kNotSupported, cat("strided<> cannot say ", what), std::nullopt,
               "the native notation can"};
}

/// What of the layout strides have no words for, if anything.
std::optional<std::string> unsaid(const LayoutSpec& spec) {
  if (spec.form.mesh.elements() != 1) {
    return cat("a mesh of ", spec.form.mesh.elements(), " places");
  }
  for (const Fill& fill : spec.form.fills) {
    if (fill.kind == Fill::Kind::kPartial) return "a partial result";
  }
  if (spec.atom.is_tile()) return cat("an atom of ", spec.atom.rows, "x", spec.atom.cols);
  if (spec.atom.storage != spec.dtype) {
    return cat(dtype_name(spec.dtype), " stored as ", dtype_name(spec.atom.storage));
  }
  if (spec.padding != PaddingValue::undef()) return "a padding value";
  if (!spec.space.empty()) return cat("the memory space ", quote_name(spec.space));
  if (spec.device_map.kind() != DeviceMap::Kind::kIdentity) return "a device map";
  return std::nullopt;
}

Result<std::string> print(const Layout& layout) {
  if (const auto what = unsaid(layout.spec())) return cannot_say(*what);
  const Shape& shape = layout.shape();
  // Steps that no element takes are row-major: all of an empty tensor, and dims of extent 1.
  Strides text{shape.row_major_strides(), layout.form().offset};
  if (!shape.empty()) {
    TESSERA_TRY(const std::vector<std::int64_t> strides, strides_of(layout.form()));
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      if (shape[dim] > 1) text.strides[dim] = strides[dim];
    }
    Place place;
    layout.form().evaluate(Index(shape.rank(), 0), place, text.offset);
  }
  TESSERA_TRY(const Layout again,
              Layout::strided(shape, layout.dtype(), text.strides, text.offset));
  if (again.slots() != layout.slots()) {
    return cannot_say(
        cat("an allocation of ", layout.slots(), " slots where the strides reach ", again.slots()));
  }
  const std::string offset = text.offset == 0 ? "" : cat(", offset: ", text.offset);
  return cat("strided<", bracketed(text.strides), offset, ">");
}

}  // namespace

Notation strided_notation() {
  return {"strided", "strided", "tensor<53x63xf32, strided<[63, 1]>>", parse, print};
}

}  // namespace tessera
