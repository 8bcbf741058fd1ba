// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/layout.h"

#include <utility>

#include "tessera/base/checked.h"
#include "tessera/layout/algebra/entangle.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/slots/decode.h"

namespace tessera {

Status Atom::check() const {
  if (rows < 1 || cols < 1 || (Checked(rows) * cols).overflowed()) {
    return Error{ErrorCode::kBadAtom, cat("a tile of ", rows, "x", cols, " elements"), std::nullopt,
                 "tiles have at least one row and one column"};
  }
  if (is_block_float(storage) && (rows != 32 || cols != 32)) {
    return Error{ErrorCode::kBadAtom,
                 cat(dtype_name(storage), " in an atom of ", rows, "x", cols, " elements"),
                 std::nullopt, "block floats exist only in 32x32 tiles"};
  }
  return ok_status();
}

std::optional<std::int64_t> Atom::bytes(std::int64_t slots) const {
  return dtype_bytes(storage, slots);
}

std::optional<std::int64_t> Atom::byte_of(std::int64_t slot) const {
  const std::optional<std::int64_t> bits = dtype_bits(storage);
  if (!bits) return std::nullopt;
  if (*bits < 8) return slot / (8 / *bits);
  return slot * (*bits / 8);
}

namespace {

constexpr std::int64_t kMaxReplicas = std::int64_t{1} << 24;

bool is_space_name(const std::string& name) {
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit) return false;
  }
  return name.size() <= 64 && (name.empty() || name[0] < '0' || name[0] > '9');
}

Error collision_error(const std::pair<Index, Index>& pair) {
  Error error{ErrorCode::kNotInjective,
              cat("elements ", bracketed(pair.first), " and ", bracketed(pair.second),
                  " share one slot of one place"),
              std::nullopt, "a layout gives every element a separate slot; views may alias"};
  error.reasons = {{"shared_slot", {{"first", pair.first}, {"second", pair.second}}}};
  return error;
}

/// Fields without effect get their default value, so that equal layouts compare equal.
void normalise(LayoutSpec& spec) {
  for (Fill& fill : spec.form.fills) {
    if (fill.kind == Fill::Kind::kFixed) {
      fill = Fill::fixed(fill.axis, fill.value);
    } else {
      fill.value = 0;
      if (fill.kind == Fill::Kind::kReplicate) fill.reduction = Reduction::kSum;
    }
  }
  if (spec.padding.kind == PaddingValue::Kind::kUndef) spec.padding.number = 0;
}

/// Every setting of the allocated digits and replicas must have its own place and slot, or filling
/// padding would overwrite data.
Status check_allocation(const Form& form) {
  const std::vector<std::int64_t> place_strides = form.mesh.row_major_strides();
  std::vector<BoxDigit> box;
  for (const Fold& fold : form.folds) {
    for (const Cut& cut : fold.cuts) {
      // A digit without values (of an empty tensor) allocates nothing. The others still must not
      // overlap, so that the reached slots can be counted.
      if (cut.target.is_nothing() || cut.count <= 1) continue;
      BoxDigit digit{cut.count, {}};
      if (cut.target.is_memory()) digit.move.slot = cut.stride;
      if (cut.target.is_mesh()) {
        digit.move.place = cut.stride * place_strides[static_cast<std::size_t>(cut.target.axis())];
      }
      box.push_back(digit);
    }
  }
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed || fill.count == 1) continue;
    box.push_back(
        {fill.count, {fill.stride * place_strides[static_cast<std::size_t>(fill.axis)], 0}});
  }
  TESSERA_TRY(const auto collision, box_collision(box, box.size()));
  if (!collision) return ok_status();
  std::string which;
  for (std::size_t i = 0; i < box.size(); ++i) {
    if ((*collision)[i] == 0) continue;
    which += cat(
        which.empty() ? "" : ", ", box[i].move.slot != 0 ? "memory stride " : "mesh stride ",
        box[i].move.slot != 0 ? box[i].move.slot : box[i].move.place, " of count ", box[i].count);
  }
  return Error{ErrorCode::kPaddingOverlap,
               cat("allocated slots overlap: ", which, " reach one slot twice"), std::nullopt,
               "let each stride exceed what the smaller ones reach together"};
}

}  // namespace

Result<std::int64_t> allocated_bytes_of(const Form& form, const Atom& atom, std::int64_t slots) {
  const std::int64_t reach = form.reach();
  if (slots < reach) {
    return Error{ErrorCode::kSlotsTooFew,
                 cat(slots, " slots are allocated but slot ", reach - 1, " is used"), std::nullopt,
                 cat("slots=", reach, " or more")};
  }
  if (slots % atom.elements() != 0) {
    return Error{
        ErrorCode::kBadAtom,
        cat(slots, " slots are not a whole number of ", atom.rows, "x", atom.cols, " tiles"),
        std::nullopt, cat("allocate a multiple of ", atom.elements(), " slots")};
  }
  const std::int64_t places = form.mesh.elements();
  const std::optional<std::int64_t> bytes = atom.bytes(slots);
  if (!bytes || (Checked(*bytes) * places).overflowed() || (Checked(slots) * places).overflowed()) {
    return Error{ErrorCode::kOverflow, "the bytes of all places do not fit a signed 64-bit integer",
                 std::nullopt, "use smaller extents, counts or strides"};
  }
  return *bytes;
}

Result<Layout> Layout::make(LayoutSpec spec) {
  normalise(spec);
  TESSERA_CHECK_OK(spec.form.check());
  TESSERA_CHECK_OK(spec.atom.check());
  if (!is_space_name(spec.space)) {
    return Error{ErrorCode::kUnknownName, "the memory space is not a name", std::nullopt,
                 "letters, digits and underscores, at most 64"};
  }
  if (spec.padding.number != spec.padding.number) {
    return Error{ErrorCode::kBadNumber, "the padding value is not a number", std::nullopt,
                 "a number, an infinity, or undef"};
  }
  Layout layout(std::move(spec));
  const LayoutSpec& checked = layout.spec_;
  layout.slots_ = checked.slots.value_or(checked.form.reach());
  TESSERA_TRY(layout.shard_bytes_, allocated_bytes_of(checked.form, checked.atom, layout.slots_));
  TESSERA_CHECK_OK(checked.device_map.check(checked.form.mesh));
  TESSERA_TRY(const Injectivity injectivity, is_injective(checked.form));
  if (!injectivity.injective) return collision_error(*injectivity.collision);
  TESSERA_CHECK_OK(check_allocation(checked.form));
  layout.decoder_ = std::make_shared<const Decoder>(checked.form);
  return layout;
}

Result<Layout> Layout::row_major(const Shape& shape, DType dtype) {
  return strided(shape, dtype, shape.row_major_strides());
}

Result<Form> strided_form(const Shape& shape, const std::vector<std::int64_t>& strides,
                          std::int64_t offset) {
  if (strides.size() != shape.rank()) {
    return Error{ErrorCode::kBadShape,
                 cat(strides.size(), " strides for a tensor of rank ", shape.rank()), std::nullopt,
                 "one stride per dim"};
  }
  Form form;
  form.shape = shape;
  form.offset = offset;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    Fold fold;
    fold.terms = {{static_cast<int>(dim), 1}};
    std::int64_t stride = strides[dim];
    if (stride < 0 && stride != INT64_MIN) {  // counted from the other end
      const std::int64_t last = std::max<std::int64_t>(shape[dim], 1) - 1;
      fold.terms[0].coef = -1;
      fold.start = last;
      TESSERA_TRY(form.offset, (Checked(form.offset) + Checked(stride) * last).value("the offset"));
      stride = -stride;
    }
    // Dims of at most one element and dims of stride 0 have an unplaced digit.
    const bool moves = shape[dim] > 1 && stride != 0;
    fold.cuts = {Cut{1, shape[dim], moves ? Target::memory() : Target::nothing(),
                     moves ? stride : 1, Cause::kAlignment}};
    if (shape[dim] == 0) fold.cuts[0].target = Target::memory();
    form.folds.push_back(std::move(fold));
  }
  return form;
}

Result<Layout> Layout::strided(const Shape& shape, DType dtype,
                               const std::vector<std::int64_t>& strides, std::int64_t offset) {
  LayoutSpec spec;
  TESSERA_TRY(spec.form, strided_form(shape, strides, offset));
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  return make(std::move(spec));
}

Result<Location> Layout::locate(const Index& index) const {
  return locate_in(spec_.form, spec_.atom, index);
}

Result<Location> locate_in(const Form& form, const Atom& atom, const Index& index) {
  if (!form.shape.contains(index)) {
    return Error{
        ErrorCode::kOutOfRange,
        cat("index ", bracketed(index), " is outside the shape ", bracketed(form.shape.extents())),
        std::nullopt, "one number per dim, counted from 0"};
  }
  if (form.replicas() > kMaxReplicas) {
    return Error{
        ErrorCode::kTooLarge,
        cat("an element on ", form.replicas(), " places: its places are not listed one by one"),
        std::nullopt, "use Form::evaluate for the first place, and the fills for the others"};
  }
  Location location;
  Place first;
  form.evaluate(index, first, location.slot);
  location.places = replica_places(form, first);
  location.byte = atom.byte_of(location.slot);
  return location;
}

Status check_position(const Shape& mesh, std::int64_t slots, const Place& place,
                      std::int64_t slot) {
  if (!mesh.contains(place)) {
    return Error{
        ErrorCode::kOutOfRange,
        cat("place ", bracketed(place), " is outside the mesh ", bracketed(mesh.extents())),
        std::nullopt, "one coordinate per mesh axis, counted from 0"};
  }
  if (slot < 0 || slot >= slots) {
    return Error{ErrorCode::kOutOfRange,
                 cat("slot ", slot, " is outside the ", slots, " slots of a place"), std::nullopt,
                 "slots count from 0"};
  }
  return ok_status();
}

Result<Slot> Layout::element_at(const Place& place, std::int64_t slot) const {
  TESSERA_CHECK_OK(check_position(mesh(), slots_, place, slot));
  return decoder_->element_at(spec_.form, place, slot);
}

}  // namespace tessera
