// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/spyre/lines.h"

namespace tessera::notation::spyre {
namespace {

/// Line positions up to `end` that are padding of cause `cause`.
struct Level {
  std::int64_t end;
  Cause cause;
};

/// How a device dim is divided over cores.
struct Division {
  std::int64_t pieces = 1;
  std::int64_t core_stride = 1;  ///< core numbers per piece
  std::int64_t piece = 1;        ///< coordinates per piece
  std::int64_t slot_stride = 1;  ///< slots of a core per coordinate
};

class Lowering {
 public:
  Lowering(const SpyreLayout& words, const DeviceLines& device) : device_(device) {
    const std::size_t rank = device.device_size.size();
    const std::vector<std::int64_t> piece = piece_size(device.device_size, words.cores);
    divisions_.resize(rank);
    std::int64_t stride = 1;
    std::int64_t core_stride = 1;
    for (std::size_t j = rank; j-- > 0;) {
      divisions_[j] = {cores_of(words, j), core_stride, piece[j], stride};
      stride *= std::max<std::int64_t>(piece[j], 1);
      core_stride *= cores_of(words, j);
    }
  }

  Result<Fold> fold(const DeviceLine& line) const {
    Fold fold;
    fold.terms = line.terms;
    std::int64_t bound = line_extent(line.terms, device_.shape);
    for (std::size_t k = 0; k < line.digits.size(); ++k) {
      TESSERA_CHECK_OK(append(line, k, bound, fold.cuts));
      bound = line.digits[k].width;
    }
    return fold;
  }

 private:
  /// The padding of digit k, nearest first: only coordinates past the end of the data reach
  /// positions from `bound` on.
  Result<std::vector<Level>> levels(const DeviceLine& line, std::size_t k,
                                    std::int64_t bound) const {
    const Digit& digit = line.digits[k];
    const Division& division = divisions_[digit.device_dim];
    TESSERA_TRY(const std::int64_t whole,
                (Checked(digit.width) * digit.extent).value("the reach of a device dim"));
    std::vector<Level> result;
    std::int64_t reached = bound;
    const auto reach = [&](std::int64_t end, Cause cause) {
      if (end > reached) result.push_back({reached = end, cause});
    };
    const std::optional<std::size_t> stick = line.stick(device_.device_size.size());
    if (!line.synthetic && stick && *stick >= k) {
      const Digit& inside = line.digits[*stick];
      const std::int64_t span = (Checked(inside.width) * inside.extent).saturated();
      const std::int64_t sticks = (Checked(ceil_div(bound, span)) * span).saturated();
      reach(std::min(sticks, whole), Cause::kStick);
    }
    reach(whole, line.synthetic ? Cause::kSynthetic : Cause::kAlignment);
    if (division.pieces > 1) {
      TESSERA_TRY(const std::int64_t all, (Checked(division.pieces) *
                                           std::max<std::int64_t>(division.piece, 1) * digit.width)
                                              .value("the reach of a divided device dim"));
      reach(all, Cause::kGrid);
    }
    return result;
  }

  /// Appends a digit. Before it, appends a digit that is always 0 for each kind of padding except
  /// the outermost: its width is where that kind ends, so that the cause of a slot is known
  /// (form.h: the innermost failed test gives the cause).
  Status append(const DeviceLine& line, std::size_t k, std::int64_t bound,
                std::vector<Cut>& cuts) const {
    const Digit& digit = line.digits[k];
    const Division& division = divisions_[digit.device_dim];
    TESSERA_TRY(const std::vector<Level> padding, levels(line, k, bound));
    for (std::size_t i = 0; i + 1 < padding.size(); ++i) {
      cuts.push_back({padding[i].end, 1, Target::nothing(), 1, padding[i].cause});
    }
    const Cause cause = padding.empty() ? default_cause(!line.terms.empty(), Target::memory())
                                        : padding.back().cause;
    const std::int64_t stride =
        digit.stride / device_.device_stride[digit.device_dim] * division.slot_stride;
    if (division.pieces == 1) {
      cuts.push_back({digit.width, digit.extent, Target::memory(), stride, cause});
      return ok_status();
    }
    const std::int64_t piece = std::max<std::int64_t>(division.piece, 1);
    TESSERA_TRY(const std::int64_t width, (Checked(digit.width) * piece).value("a core's piece"));
    cuts.push_back({width, division.pieces, Target::mesh(0), division.core_stride, cause});
    if (division.piece != 1) {
      cuts.push_back({digit.width, division.piece, Target::memory(), stride});
    }
    return ok_status();
  }

  const DeviceLines& device_;
  std::vector<Division> divisions_;
};

/// Row-major cores, one axis for all of them.
Result<Shape> mesh_of(const SpyreLayout& words, const Spans& spans) {
  if (words.cores.empty()) return Shape();
  Checked cores = 1;
  for (const std::int64_t pieces : words.cores) cores *= pieces;
  const Result<std::int64_t> count = cores.value("the number of cores");
  if (!count) return spans.blame(Item::kCores, count.error());
  return Shape::make({*count});
}

}  // namespace

std::vector<std::int64_t> piece_size(const std::vector<std::int64_t>& device_size,
                                     const std::vector<std::int64_t>& cores) {
  std::vector<std::int64_t> piece = device_size;
  for (std::size_t j = 0; j < cores.size(); ++j) piece[j] = ceil_div(piece[j], cores[j]);
  return piece;
}

Result<Layout> lower_text(const SpyreLayout& words, const Shape& shape, DType dtype,
                          const Spans& spans) {
  TESSERA_TRY(const DeviceLines device, device_lines(words, shape, dtype, spans));
  LayoutSpec spec;
  spec.form.shape = shape;
  TESSERA_TRY(spec.form.mesh, mesh_of(words, spans));
  spec.dtype = dtype;
  TESSERA_TRY(const DType storage, stick_storage(dtype));
  spec.atom = Atom::scalar(storage);
  const Lowering lowering(words, device);
  for (const DeviceLine& line : device.lines) {
    TESSERA_TRY(Fold fold, lowering.fold(line));
    spec.form.folds.push_back(std::move(fold));
  }
  return Layout::make(std::move(spec));
}

}  // namespace tessera::notation::spyre

namespace tessera::notation {

Result<Layout> lower(const SpyreLayout& words, const Shape& shape, DType dtype) {
  return spyre::lower_text(words, shape, dtype, spyre::Spans());
}

}  // namespace tessera::notation
