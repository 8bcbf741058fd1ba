// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/scratch.h"

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::ops {
namespace {

/// How much of a dim the place with the most of it has.
std::int64_t extent_on_a_place(const Form& form, std::size_t dim) {
  for (const Fold& fold : form.folds) {
    const bool alone = fold.terms.size() == 1 && fold.terms[0].dim == static_cast<int>(dim);
    if (!alone) continue;
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    Checked extent(1);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (!fold.cuts[k].target.is_mesh()) extent *= std::max<std::int64_t>(needed[k], 1);
    }
    return std::min(extent.saturated(), form.shape[dim]);
  }
  return form.shape[dim];
}

/// What lies around the block of a place.
std::int64_t halo_bytes(const Layout& layout, const std::vector<Halo>& halos) {
  Checked inside(1);
  Checked all(1);
  for (std::size_t d = 0; d < halos.size(); ++d) {
    const std::int64_t extent = extent_on_a_place(layout.form(), d);
    inside *= extent;
    all *= Checked(extent) + halos[d].before + halos[d].after;
  }
  return dtype_bytes(layout.dtype(), (all - inside).saturated()).value_or(INT64_MAX);
}

}  // namespace

std::vector<Scratch> scratch_of(const Answer& answer, const std::vector<Share>& shares,
                                const Kernels& kernels) {
  std::vector<Scratch> list;
  const auto add = [&](std::string name, std::int64_t bytes) {
    if (bytes > 0) list.push_back({std::move(name), bytes});
  };
  for (std::size_t b = 0; b < answer.loops.scratch.size(); ++b) {
    std::int64_t most = 0;
    for (const Share& share : shares) most = std::max(most, share.scratch_bytes[b]);
    add(answer.loops.scratch[b].name, most);
  }
  for (std::size_t i = 0; i < answer.inputs.size(); ++i) {
    if (!answer.inputs[i]) continue;
    if (i < answer.halos.size()) {
      add(cat("halo of input ", i), halo_bytes(*answer.inputs[i], answer.halos[i]));
    }
    const Kernels::Brings brings = kernels.of_input(i);
    if (!brings.everywhere && !brings.axes.empty()) {
      add(cat("panel of input ", i), answer.inputs[i]->shard_bytes());
    }
  }
  return list;
}

}  // namespace tessera::ops
