// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/spyre/nests.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/slice.h"
#include "tessera/layout/form.h"
#include "tessera/notation/spyre/lines.h"
#include "tessera/notation/spyre/part.h"

namespace tessera::notation {
namespace spyre {

Result<std::vector<std::int64_t>> counts_of(const std::vector<SpyreRange>& part,
                                            const Shape& shape) {
  if (part.size() != shape.rank()) {
    return Error{ErrorCode::kContradiction,
                 cat(part.size(), " ranges for a tensor of rank ", shape.rank()), std::nullopt,
                 "one range per dim"};
  }
  std::vector<std::int64_t> counts;
  for (std::size_t dim = 0; dim < part.size(); ++dim) {
    const SpyreRange& range = part[dim];
    if (range.start < 0 || range.stop < range.start || range.stop > shape[dim] || range.step < 1) {
      return Error{ErrorCode::kOutOfRange,
                   cat("the range ", range.start, ":", range.stop, ":", range.step, " of dim ", dim,
                       " of extent ", shape[dim]),
                   std::nullopt,
                   cat("0 <= start <= stop <= ", shape[dim], ", and a step of 1 or more")};
    }
    counts.push_back(ceil_div(range.stop - range.start, range.step));
  }
  return counts;
}

std::vector<SpyreRange> whole(const Shape& shape) {
  std::vector<SpyreRange> part;
  for (const std::int64_t extent : shape.extents()) part.push_back({0, extent, 1});
  return part;
}

namespace {

constexpr std::int64_t kMaxNests = std::int64_t{1} << 16;

/// The host tensor as a form: element x at Σ x·stride.
Form host_form(const Shape& shape, const std::vector<std::int64_t>& strides) {
  Form form;
  form.shape = shape;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] <= 1) continue;
    Fold fold;
    fold.terms = {{static_cast<int>(dim), 1}};
    fold.cuts = {{1, shape[dim], Target::memory(), strides[dim]}};
    form.folds.push_back(std::move(fold));
  }
  return form;
}

Result<Form> part_of(Form form, const std::vector<SpyreRange>& part,
                     const std::vector<std::int64_t>& counts) {
  for (std::size_t dim = 0; dim < part.size(); ++dim) {
    const SpyreRange& range = part[dim];
    const std::int64_t step = counts[dim] > 1 ? range.step : 1;
    if (step == 1 && counts[dim] == form.shape[dim]) continue;
    TESSERA_TRY(form, slice_dim(form, static_cast<int>(dim), range.start, counts[dim], step));
  }
  return form;
}

/// One loop, and the device dim that it begins in.
struct Run {
  std::int64_t extent;
  std::int64_t host;
  std::int64_t device;
  std::size_t device_dim = 0;
};

class NestWriter {
 public:
  NestWriter(const DeviceLines& device, std::vector<std::int64_t> strides, std::int64_t offset)
      : device_(device), strides_(std::move(strides)), offset_(offset) {}

  SpyreNest write(const Nest& nest) const {
    std::vector<Run> loops;
    for (const Loop& loop : nest.loops) {
      if (loop.extent > 1) loops.push_back({loop.extent, loop.move.b.slot, loop.move.a.slot});
    }
    std::vector<Run> runs;
    std::vector<bool> has_loop(device_.device_size.size(), false);
    for (const Run& loop : joined(std::move(loops))) cut(loop, nest.at.a.slot, runs);
    for (const Run& run : runs) has_loop[run.device_dim] = true;
    for (std::size_t j = 0; j < has_loop.size(); ++j) {
      if (has_loop[j]) continue;
      runs.push_back({1, std::max<std::int64_t>(strides_[j], 0), device_.device_stride[j], j});
    }
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
      return std::tuple(-a.device, a.device_dim, a.host) <
             std::tuple(-b.device, b.device_dim, b.host);
    });
    SpyreNest result;
    for (const Run& run : runs) {
      result.extent.push_back(run.extent);
      result.host_stride.push_back(run.host);
      result.device_stride.push_back(run.device);
    }
    result.host_offset = nest.at.b.slot + offset_;
    result.device_offset = nest.at.a.slot;
    return result;
  }

 private:
  /// Joins loops that continue each other on both sides.
  static std::vector<Run> joined(std::vector<Run> loops) {
    std::sort(loops.begin(), loops.end(),
              [](const Run& a, const Run& b) { return a.device > b.device; });
    for (std::size_t i = loops.size(); i-- > 1;) {
      Run& outer = loops[i - 1];
      const Run& inner = loops[i];
      if (outer.device != inner.device * inner.extent || outer.host != inner.host * inner.extent) {
        continue;
      }
      outer = {outer.extent * inner.extent, inner.host, inner.device};
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return loops;
  }

  /// The device dim that a step moves along: the outermost one whose stride it reaches. Dims of
  /// extent 1 share strides with their neighbours and have no steps.
  std::size_t dim_of(std::int64_t step) const {
    for (std::size_t j = 0; j < device_.device_size.size(); ++j) {
      if (device_.device_size[j] > 1 && device_.device_stride[j] <= step) return j;
    }
    return device_.device_size.size() - 1;
  }

  /// A loop over whole device dims is cut into one loop each.
  void cut(Run run, std::int64_t first, std::vector<Run>& runs) const {
    for (;;) {
      run.device_dim = dim_of(run.device);
      const std::int64_t size = device_.device_size[run.device_dim];
      const bool along = device_.device_stride[run.device_dim] == run.device;
      const bool whole = run.extent > size && run.extent % size == 0;
      if (!along || !whole || first / run.device % size != 0) break;
      runs.push_back({size, run.host, run.device, run.device_dim});
      run = {run.extent / size, run.host * size, run.device * size};
    }
    runs.push_back(run);
  }

  const DeviceLines& device_;
  std::vector<std::int64_t> strides_;
  std::int64_t offset_;
};

}  // namespace
}  // namespace spyre

Result<std::vector<SpyreNest>> transfer_nests(const SpyreLayout& words, const Shape& shape,
                                              DType dtype) {
  return transfer_nests(words, shape, dtype, spyre::whole(shape));
}

Result<std::vector<SpyreNest>> transfer_nests(const SpyreLayout& words, const Shape& shape,
                                              DType dtype, const std::vector<SpyreRange>& part) {
  TESSERA_TRY(const std::vector<std::int64_t> counts, spyre::counts_of(part, shape));
  SpyreLayout undivided = words;
  undivided.cores.clear();
  const spyre::Spans nowhere;
  TESSERA_TRY(const Layout layout, lower(undivided, shape, dtype));
  TESSERA_TRY(const spyre::DeviceLines device,
              spyre::device_lines(undivided, shape, dtype, nowhere));
  TESSERA_TRY(const std::vector<std::int64_t> host, spyre::host_strides(words, shape, nowhere));
  TESSERA_TRY(std::vector<std::int64_t> strides, stride_map_of(undivided, shape, dtype));
  if (std::find(counts.begin(), counts.end(), 0) != counts.end()) return std::vector<SpyreNest>();
  TESSERA_TRY(const Form device_part, spyre::part_of(layout.form(), part, counts));
  TESSERA_TRY(const Form host_part, spyre::part_of(spyre::host_form(shape, host), part, counts));
  TESSERA_TRY(const Refinement refinement, refine(device_part, host_part));
  if (refinement.nests() > spyre::kMaxNests) {
    return Error{ErrorCode::kTooLarge,
                 cat("the transfer takes ", refinement.nests(), " nests, at most ",
                     spyre::kMaxNests, " are listed"),
                 std::nullopt, "transfer a part of the tensor"};
  }
  const spyre::NestWriter writer(device, std::move(strides), words.storage_offset.value_or(0));
  std::vector<SpyreNest> nests;
  for (std::int64_t i = 0; i < refinement.nests(); ++i) {
    nests.push_back(writer.write(refinement.nest(i)));
  }
  return nests;
}

}  // namespace tessera::notation
