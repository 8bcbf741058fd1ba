// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/padding/state.h"

#include <array>
#include <charconv>

#include "tessera/graph/data.h"

namespace tessera::ops {
namespace {

std::string number_text(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

}  // namespace

std::string PaddingState::to_string() const {
  switch (kind) {
    case Kind::kAbsent:
      return "absent";
    case Kind::kValue:
      return number_text(value);
    case Kind::kDirty:
      return "dirty";
    case Kind::kUndef:
      return "undef";
  }
  return "";
}

PaddingState either(const PaddingState& a, const PaddingState& b) {
  if (a == b || b.is_absent()) return a;
  if (a.is_absent()) return b;
  return a.is_finite() && b.is_finite() ? PaddingState::dirty() : PaddingState::undef();
}

PaddingState both(const PaddingState& a, const PaddingState& b) {
  return a.kind <= b.kind ? a : b;  // kinds are listed from what says most to what says least
}

PaddingState known(const PaddingState& state, DType dtype) {
  return state == PaddingState::undef() && !graph::is_float(dtype) ? PaddingState::dirty() : state;
}

void refill(PaddingStates& states, std::size_t dim, double value) {
  if (states[dim].is_absent()) return;
  states[dim] = PaddingState::of(value);
  for (std::size_t d = 0; d < states.size(); ++d) {
    if (!states[d].is_absent()) states[d] = either(states[d], states[dim]);
  }
}

bool PaddingNeed::met_by(const PaddingState& state) const {
  if (state.is_absent()) return true;
  switch (kind) {
    case Kind::kNothing:
      return true;
    case Kind::kFinite:
      return state.is_finite();
    case Kind::kValue:
      return state.is(value);
    case Kind::kExact:
      return false;
  }
  return false;
}

std::string PaddingNeed::to_string() const {
  switch (kind) {
    case Kind::kNothing:
      return "nothing";
    case Kind::kFinite:
      return "finite";
    case Kind::kValue:
      return number_text(value);
    case Kind::kExact:
      return "exact";
  }
  return "";
}

}  // namespace tessera::ops
