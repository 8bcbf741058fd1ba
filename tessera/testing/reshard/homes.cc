// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/homes.h"

#include "tessera/testing/naive.h"

namespace tessera::test {

Home home_of(const Placement& placement, const Index& index) {
  const auto [form, local] = placement.form_at(index);
  const NaivePosition position = naive_evaluate(*form, local);
  Home home{position.slot, {{form->mesh.linear(position.first)}}};
  const std::vector<std::int64_t> strides = form->mesh.row_major_strides();
  for (const Fill& fill : form->fills) {
    if (fill.kind == Fill::Kind::kFixed) continue;
    const std::int64_t step = fill.stride * strides[static_cast<std::size_t>(fill.axis)];
    std::vector<std::vector<std::int64_t>> next;
    for (const std::vector<std::int64_t>& share : home.shares) {
      if (fill.kind == Fill::Kind::kReplicate) next.emplace_back();
      for (std::int64_t i = 0; i < fill.count; ++i) {
        if (fill.kind == Fill::Kind::kPartial) next.emplace_back();
        for (const std::int64_t place : share) next.back().push_back(place + i * step);
      }
    }
    home.shares = next;
  }
  return home;
}

}  // namespace tessera::test
