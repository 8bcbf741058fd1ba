// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/transforms.h"

#include <algorithm>
#include <cstddef>

#include "tessera/base/text.h"
#include "tessera/ops/machines/rules.h"

namespace tessera::ops {

std::string_view part_name(TransformPart part) {
  switch (part) {
    case TransformPart::kCast:
      return "cast";
    case TransformPart::kTilize:
      return "tilize";
    case TransformPart::kUntilize:
      return "untilize";
    case TransformPart::kRestickify:
      return "restickify";
    case TransformPart::kRelayout:
      return "relayout";
    case TransformPart::kExchange:
      return "exchange";
  }
  return "";
}

std::optional<MachineFamily> family_of(const Machine& machine) {
  if (machine.rules.stick_bytes) return MachineFamily::kSpyre;
  if (machine.rules.tile) return MachineFamily::kTtnn;
  if (machine.rules.wavelet_bits) return MachineFamily::kWafer;
  return std::nullopt;
}

Result<Transform> transform_between(const moves::MoveModel& model, const moves::Stored& a,
                                    const moves::Stored& b) {
  const Layout* from = a.placement.layout();
  const Layout* to = b.placement.layout();
  if (from == nullptr || to == nullptr) {
    return Error{ErrorCode::kNotSupported, "a transform of a view or of pieces", std::nullopt,
                 "give tensors with one layout each"};
  }
  if (from->shape() != to->shape()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("a transform from ", bracketed(from->shape().extents()), " to ",
                     bracketed(to->shape().extents())),
                 std::nullopt, "both sides are the same tensor"};
  }
  Transform transform;
  TESSERA_TRY(transform.move, model.price(a, b));
  const auto has_step = [&](moves::Step::Kind kind) {
    return std::ranges::find(transform.move.steps, kind, &moves::Step::kind) !=
           transform.move.steps.end();
  };
  const auto add = [&](TransformPart part) { transform.parts.push_back(part); };
  const std::optional<MachineFamily> family = family_of(model.machine());
  const bool casts = from->dtype() != to->dtype() || from->atom().storage != to->atom().storage;
  if (casts) add(TransformPart::kCast);
  const std::size_t before = transform.parts.size();
  if (!from->atom().is_tile() && to->atom().is_tile()) add(TransformPart::kTilize);
  if (from->atom().is_tile() && !to->atom().is_tile()) add(TransformPart::kUntilize);
  const bool sticks =
      family == MachineFamily::kSpyre && machines::stick_dims(*from) != machines::stick_dims(*to);
  if (sticks) add(TransformPart::kRestickify);
  const bool named = transform.parts.size() > before;
  if (!named && has_step(moves::Step::Kind::kRelayout)) add(TransformPart::kRelayout);
  if (has_step(moves::Step::Kind::kExchange)) add(TransformPart::kExchange);
  if (family) {
    const graph::TensorType type{from->shape(), from->dtype()};
    const graph::TensorType made{to->shape(), to->dtype()};
    const std::vector<const graph::TensorType*> inputs = {&type};
    const graph::Attributes none;
    const graph::Call call(*graph::Op::find("layout_transform"), inputs, none, 1);
    TESSERA_TRY(transform.allowed, allowed_on(*family, call, {made}, {{*from}, {*to}}));
  }
  return transform;
}

}  // namespace tessera::ops
