// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/shares.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "tessera/run/kernels/kernel.h"
#include "tessera/run/kernels/nest.h"

namespace tessera::run {
namespace {

/// The layout with the coordinate `number` in place of fill f.
Form fixed_at(Form form, std::size_t f, std::int64_t number) {
  const Fill fill = form.fills[f];
  form.fills[f] = Fill::fixed(fill.axis, number * fill.stride);
  // One fixed coordinate per axis.
  for (std::size_t other = 0; other < form.fills.size(); ++other) {
    const bool same = other != f && form.fills[other].axis == fill.axis &&
                      form.fills[other].kind == Fill::Kind::kFixed;
    if (!same) continue;
    form.fills[f].value += form.fills[other].value;
    form.fills.erase(form.fills.begin() + static_cast<std::ptrdiff_t>(other));
    break;
  }
  return form;
}

std::vector<Form> fixed_shares(const Form& form) {
  for (std::size_t f = 0; f < form.fills.size(); ++f) {
    if (form.fills[f].kind != Fill::Kind::kPartial) continue;
    std::vector<Form> all;
    for (std::int64_t number = 0; number < form.fills[f].count; ++number) {
      for (Form& share : fixed_shares(fixed_at(form, f, number))) all.push_back(std::move(share));
    }
    return all;
  }
  return {form};
}

Result<Layout> with_form(const Layout& layout, Form form) {
  LayoutSpec spec = layout.spec();
  spec.form = std::move(form);
  spec.slots = layout.slots();
  return Layout::make(std::move(spec));
}

template <typename W>
void combine_all(W* to, const W* from, std::int64_t count, Reduction reduction) {
  for (std::int64_t i = 0; i < count; ++i) {
    const W a = to[i];
    const W b = from[i];
    switch (reduction) {
      case Reduction::kSum:
      case Reduction::kOr:
        if constexpr (std::is_integral_v<W>) {
          to[i] = static_cast<W>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
        } else {
          to[i] = a + b;
        }
        break;
      case Reduction::kProduct:
      case Reduction::kAnd:
        if constexpr (std::is_integral_v<W>) {
          to[i] = static_cast<W>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
        } else {
          to[i] = a * b;
        }
        break;
      case Reduction::kMin:
        to[i] = kernels::is_nan(b) || b < a ? b : a;
        break;
      case Reduction::kMax:
        to[i] = kernels::is_nan(b) || b > a ? b : a;
        break;
    }
  }
}

}  // namespace

Result<std::vector<Layout>> shares_of(const Layout& layout) {
  std::vector<Layout> shares;
  for (Form& form : fixed_shares(layout.form())) {
    TESSERA_TRY(Layout share, with_form(layout, std::move(form)));
    shares.push_back(std::move(share));
  }
  return shares;
}

Result<Layout> without_replicas(const Layout& layout) {
  Form form = layout.form();
  for (std::size_t f = form.fills.size(); f-- > 0;) {
    if (f < form.fills.size() && form.fills[f].kind == Fill::Kind::kReplicate) {
      form = fixed_at(std::move(form), f, 0);
    }
  }
  return with_form(layout, std::move(form));
}

Neutral neutral_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
    case Reduction::kAnd:
      return Neutral::kOne;
    case Reduction::kMin:
      return Neutral::kLargest;
    case Reduction::kMax:
      return Neutral::kLeast;
    default:
      return Neutral::kZero;
  }
}

void combine_compute(std::byte* to, const std::byte* from, DType dtype, std::int64_t count,
                     Reduction reduction) {
  const auto all = [&](auto zero) {
    using W = decltype(zero);
    combine_all(reinterpret_cast<W*>(to), reinterpret_cast<const W*>(from), count, reduction);
  };
  switch (compute_type(dtype)) {
    case DType::kF64:
      return all(double{});
    case DType::kI64:
      return all(std::int64_t{});
    case DType::kU64:
      return all(std::uint64_t{});
    default:
      return all(float{});
  }
}

}  // namespace tessera::run
