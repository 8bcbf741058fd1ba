// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/program.h"

#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"

namespace tessera::relayout {
namespace {

constexpr std::size_t kMaxMeetings = std::size_t{1} << 16;
/// With more regions of padding than this, filling all of the memory first is cheaper.
constexpr std::size_t kMaxFills = 4096;

/// What a step along each mesh axis adds to the row-major number of a place.
std::vector<std::int64_t> place_strides(const Shape& mesh) {
  std::vector<std::int64_t> strides(mesh.rank(), 1);
  for (std::size_t a = mesh.rank(); a-- > 1;) strides[a - 1] = strides[a] * mesh[a];
  return strides;
}

Status refuse_partial(const Form& form, std::string_view which) {
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count <= 1) continue;
    return Error{ErrorCode::kNotSupported,
                 cat("the ", which, " keeps partial values on ", fill.count,
                     " places of mesh axis ", fill.axis, ", which a move cannot combine"),
                 std::nullopt, "reduce them first"};
  }
  return ok_status();
}

/// The replicas of a destination as one factor per mesh axis: an arithmetic progression is a loop,
/// any other set is a list of pieces.
std::vector<Factor> replica_factors(const Form& to) {
  std::vector<Factor> factors;
  const std::vector<std::int64_t> strides = place_strides(to.mesh);
  for (std::size_t axis = 0; axis < to.mesh.rank(); ++axis) {
    const OffsetSet offsets = all_offsets(to.fills, static_cast<int>(axis));
    if (offsets.size() <= 1) continue;
    const auto positions = [&](std::int64_t offset) {
      return PositionPair{{}, {offset * strides[axis], 0}};
    };
    Factor factor;
    if (offsets.offsets.empty()) {
      factor.pieces.push_back({{}, {}, {{-1, offsets.count, 1, positions(offsets.stride)}}});
    } else {
      for (const std::int64_t offset : offsets.offsets) {
        factor.pieces.push_back({{}, positions(offset), {}});
      }
    }
    factors.push_back(std::move(factor));
  }
  return factors;
}

Result<Refinement> copy_of(const Form& from, const Form& to) {
  TESSERA_TRY(Refinement refined, refine(from, to));
  std::vector<Factor> replicas = replica_factors(to);
  if (replicas.empty()) return refined;
  replicas.insert(replicas.end(), refined.factors().begin(), refined.factors().end());
  return Refinement(refined.shape(), refined.mesh_a(), refined.mesh_b(), refined.base(),
                    std::move(replicas));
}

FillNest nest_of(const PaddingRegion& region, const std::vector<std::int64_t>& strides) {
  FillNest nest;
  nest.at.slot = region.first_slot;
  for (std::size_t a = 0; a < strides.size(); ++a) {
    nest.at.place += region.places.first[a] * strides[a];
  }
  for (const PlaceLoop& loop : region.places.loops) {
    const Position step{loop.stride * strides[static_cast<std::size_t>(loop.axis)], 0};
    nest.loops.push_back({loop.count, step});
  }
  for (const Stride& loop : region.slots) nest.loops.push_back({loop.count, {0, loop.stride}});
  return nest;
}

/// Every slot of every place.
FillNest everything(const Memory& memory) {
  return {{}, {{memory.mesh.elements(), {1, 0}}, {memory.slots, {0, 1}}}};
}

/// The padding of a layout as fills, or all of its memory if the padding has no simple shape.
void add_fills(const Placement& to, Program& program) {
  if (program.to.elements() == 0) return;
  const Layout* layout = to.layout();
  if (layout != nullptr) {
    const std::vector<std::int64_t> strides = place_strides(layout->mesh());
    const Status listed = padding_regions(*layout, [&](const PaddingRegion& region) {
      program.fills.push_back(nest_of(region, strides));
      return program.fills.size() <= kMaxFills;
    });
    if (listed.ok() && program.fills.size() <= kMaxFills) return;
  }
  program.fills = {everything(program.to)};
  program.fills_cover_data = true;
}

PaddingValue promised_padding(const Placement& to) {
  if (const Layout* layout = to.layout()) return layout->spec().padding;
  const Piecewise* pieces = to.pieces();
  if (pieces == nullptr) return PaddingValue::undef();
  const PaddingValue& first = pieces->pieces().front().layout.spec().padding;
  for (const LayoutPiece& piece : pieces->pieces()) {
    if (piece.layout.spec().padding != first) return PaddingValue::undef();
  }
  return first;
}

void add_padding(const Placement& to, PaddingRule padding, Program& program) {
  const PaddingValue promised = promised_padding(to);
  const bool has_value = promised.kind == PaddingValue::Kind::kNumber;
  if (has_value) program.padding = promised.number;
  if (padding == PaddingRule::kZero || (padding == PaddingRule::kPromised && has_value)) {
    add_fills(to, program);
  }
}

}  // namespace

Memory Memory::of(const Placement& placement) {
  return {placement.mesh(), placement.slots(), placement.atom(), placement.allocated_bytes()};
}

std::int64_t FillNest::positions() const {
  std::int64_t product = 1;
  for (const FillLoop& loop : loops) product *= loop.extent;
  return product;
}

std::int64_t Program::nests() const {
  std::int64_t total = 0;
  for (const Refinement& copy : copies) total += copy.nests();
  return total;
}

Nest Program::nest(std::int64_t i) const {
  std::size_t copy = 0;
  while (i >= copies[copy].nests()) i -= copies[copy++].nests();
  return copies[copy].nest(i);
}

std::int64_t Program::elements() const {
  std::int64_t total = 0;
  for (const Refinement& copy : copies) {
    std::int64_t product = copy.nests() == 0 ? 0 : 1;
    for (const Factor& factor : copy.factors()) {
      std::int64_t sum = 0;
      for (const Piece& piece : factor.pieces) {
        std::int64_t elements = 1;
        for (const Loop& loop : piece.loops) elements *= loop.extent;
        sum += elements;
      }
      product *= sum;
    }
    total += product;
  }
  return total;
}

Result<Program> make_program(const Placement& from, const Placement& to, PaddingRule padding) {
  Program program;
  program.from = Memory::of(from);
  program.to = Memory::of(to);
  if (const View* view = to.view()) TESSERA_CHECK_OK(check_writable(view->form()));
  const auto add_copy = [&](const Form& a, const Form& b) -> Status {
    TESSERA_CHECK_OK(refuse_partial(a, "source"));
    TESSERA_CHECK_OK(refuse_partial(b, "destination"));
    if (program.copies.size() == kMaxMeetings) {
      return Error{ErrorCode::kTooLarge,
                   cat("boxes of the two placements intersect more than ", kMaxMeetings, " times"),
                   std::nullopt, "use placements of fewer pieces"};
    }
    TESSERA_TRY(Refinement copy, copy_of(a, b));
    program.copies.push_back(std::move(copy));
    return ok_status();
  };
  if (from.layout() != nullptr && to.layout() != nullptr) {
    TESSERA_CHECK_OK(add_copy(from.layout()->form(), to.layout()->form()));
  } else {
    TESSERA_CHECK_OK(for_each_meeting(
        from, to, [&](const Meeting& meeting) { return add_copy(meeting.a, meeting.b); }));
  }
  add_padding(to, padding, program);
  return program;
}

Program padding_program(const Placement& to, PaddingRule padding) {
  Program program;
  program.to = Memory::of(to);
  program.from = {Shape(), 0, program.to.atom, 0};
  add_padding(to, padding, program);
  return program;
}

}  // namespace tessera::relayout
