// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <numeric>

#include "tessera/base/text.h"
#include "tessera/layout/enumerate.h"
#include "tessera/layout/form.h"
#include "tessera/layout/locator.h"
#include "tessera/layout/runs.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::string position_text(Position position) { return cat(position.place, "/", position.slot); }

/// The first place (as a number in `mesh`) and slot of every index, row-major.
std::vector<Position> naive_positions(const Form& form, const Shape& mesh) {
  std::vector<Position> positions;
  for (const NaivePosition& position : naive_map(form)) {
    positions.push_back({mesh.linear(position.first), position.slot});
  }
  return positions;
}

/// Row-major numbers of all indices, walked with the dims nested in `order`.
std::vector<std::int64_t> walk_of(const Shape& shape, const std::vector<int>& order) {
  std::vector<std::int64_t> extents;
  for (const int dim : order) extents.push_back(shape[at(dim)]);
  const Shape turned = *Shape::make(extents);
  std::vector<std::int64_t> walk;
  for (std::int64_t i = 0; i < turned.elements(); ++i) {
    const Index turned_index = turned.delinear(i);
    Index index(shape.rank(), 0);
    for (std::size_t k = 0; k < order.size(); ++k) index[at(order[k])] = turned_index[k];
    walk.push_back(shape.linear(index));
  }
  return walk;
}

/// Every order of the dims up to rank 4; for more dims the rotations, forwards and backwards. The
/// natural order comes first.
std::vector<std::vector<int>> orders_of(const Form& form) {
  std::vector<int> order(form.shape.rank());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> orders = {order};
  if (order.size() <= 4) {
    while (std::next_permutation(order.begin(), order.end())) orders.push_back(order);
    return orders;
  }
  for (std::size_t i = 0; i < form.shape.rank(); ++i) {
    std::rotate(order.begin(), order.begin() + 1, order.end());
    orders.push_back(order);
    orders.emplace_back(order.rbegin(), order.rend());
  }
  return orders;
}

Failure check_lines(const Lines& lines, const Form& form, const Shape& mesh) {
  const std::vector<Position> positions = naive_positions(form, mesh);
  for (std::int64_t i = 0; i < form.shape.elements(); ++i) {
    const Position position = lines.position(form.shape.delinear(i));
    if (position != positions[at(i)]) {
      return cat("canonical puts ", bracketed(form.shape.delinear(i)), " at ",
                 position_text(position), ", expected ", position_text(positions[at(i)]));
    }
  }
  for (const Line& line : lines.lines) {
    for (std::size_t k = 1; k < line.cuts.size(); ++k) {
      if (line.cuts[k].width >= line.cuts[k - 1].width) return "widths of a line do not fall";
    }
    if (line.cuts.empty() || line.cuts.back().width != 1) return "a line does not end in width 1";
    for (std::size_t t = 1; t < line.terms.size(); ++t) {
      if (std::abs(line.terms[t].coef) > std::abs(line.terms[t - 1].coef)) {
        return "terms of a line are not sorted";
      }
    }
    if (line.terms.empty()) return "a constant line was not moved into the base";
  }
  const bool separable = std::all_of(lines.lines.begin(), lines.lines.end(),
                                     [](const Line& line) { return line.terms.size() <= 1; });
  if (lines.separable() != separable) return "separable is wrong";
  return "";
}

/// Numbers n of the walk that are not in the slot right after n-1 on the same place.
std::vector<std::int64_t> breaks_of(const std::vector<Position>& positions,
                                    const std::vector<std::int64_t>& walk) {
  std::vector<std::int64_t> breaks;
  for (std::size_t n = 1; n < walk.size(); ++n) {
    if (positions[at(walk[n])] != positions[at(walk[n - 1])] + Position{0, 1}) {
      breaks.push_back(static_cast<std::int64_t>(n));
    }
  }
  return breaks;
}

std::int64_t naive_run(const std::vector<Position>& positions,
                       const std::vector<std::int64_t>& walk) {
  const std::vector<std::int64_t> breaks = breaks_of(positions, walk);
  if (breaks.empty()) return static_cast<std::int64_t>(walk.size());
  std::int64_t run = 0;
  for (const std::int64_t n : breaks) run = std::gcd(run, n);
  return run;
}

std::int64_t naive_vector_width(const std::vector<Position>& positions, std::int64_t bits,
                                std::int64_t max_bytes) {
  const auto whole_groups = [&](std::int64_t width) {
    if (width * bits > max_bytes * 8 || positions.size() % at(width) != 0) return false;
    for (std::size_t n = 0; n < positions.size(); ++n) {
      const auto lane = static_cast<std::int64_t>(n) % width;
      if (lane == 0 ? positions[n].slot % width != 0
                    : positions[n] != positions[n - 1] + Position{0, 1}) {
        return false;
      }
    }
    return true;
  };
  std::int64_t width = 1;
  while (whole_groups(width * 2)) width *= 2;
  return width;
}

}  // namespace

Failure law_canonical(const Form& form) {
  const Result<Lines> lines = canonical(form);
  if (!lines.ok()) return cat("canonical: ", why(lines));
  std::vector<std::int64_t> larger = form.mesh.extents();
  for (std::size_t axis = 0; axis < larger.size(); ++axis) {
    larger[axis] += static_cast<std::int64_t>(axis) + 1;
  }
  const Shape larger_mesh = *Shape::make(larger);
  const Result<Lines> wider = canonical(form, larger_mesh);
  if (!wider.ok()) return cat("canonical in a larger mesh: ", why(wider));
  Laws laws;
  laws << check_lines(*lines, form, form.mesh) << check_lines(*wider, form, larger_mesh);
  return laws.failure();
}

Failure law_locator(const Form& form) {
  const Result<Lines> lines = canonical(form);
  if (!lines.ok()) return cat("canonical: ", why(lines));
  auto original = std::make_unique<Locator>(*lines);
  const Locator locator = *original;  // a copy must not refer to its original
  original.reset();
  const std::vector<Position> positions = naive_positions(form, form.mesh);
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < form.shape.elements(); ++i) {
    const Index index = form.shape.delinear(i);
    indices.insert(indices.end(), index.begin(), index.end());
    const Position position = locator.at(index.data());
    if (position != positions[at(i)]) {
      return cat("Locator puts ", bracketed(index), " at ", position_text(position), ", expected ",
                 position_text(positions[at(i)]));
    }
  }
  std::vector<Position> many(positions.size(), Position{-1, -1});
  locator.at_many(indices, many);
  if (many != positions) return "Locator::at_many differs from at";
  return "";
}

Failure law_rows(const Form& form) {
  const std::vector<Position> positions = naive_positions(form, form.mesh);
  for (const std::vector<int>& order : orders_of(form)) {
    const std::vector<std::int64_t> walk = walk_of(form.shape, order);
    std::size_t n = 0;
    Failure failure;
    const auto visit = [&](const Row& row) {
      if (row.dim != (order.empty() ? -1 : order.back())) failure = "a row along the wrong dim";
      for (std::size_t i = 0; i < row.offsets.size(); ++i, ++n) {
        if (n >= walk.size()) {
          failure = "rows visit too many elements";
          return;
        }
        Index index = row.index;
        if (row.dim >= 0) index[at(row.dim)] += static_cast<std::int64_t>(i);
        if (!form.shape.contains(index) || form.shape.linear(index) != walk[n]) {
          failure = cat("element ", n, " of the walk is ", bracketed(index));
        } else if (row.base + row.offsets[i] != positions[at(walk[n])]) {
          failure =
              cat("a row puts ", bracketed(index), " at ", position_text(row.base + row.offsets[i]),
                  ", expected ", position_text(positions[at(walk[n])]));
        }
      }
    };
    const Status status = for_each_row(form, order, visit);
    if (!status.ok()) return cat("for_each_row: ", why(status));
    if (!failure.empty()) return cat("for_each_row: ", failure);
    if (n != walk.size()) return cat("rows visit ", n, " of ", walk.size(), " elements");
  }
  return "";
}

Failure law_runs(const Form& form) {
  const std::vector<Position> positions = naive_positions(form, form.mesh);
  const std::vector<std::vector<int>> orders = orders_of(form);
  const std::vector<std::int64_t> row_major = walk_of(form.shape, orders.front());
  const Result<std::int64_t> plain = contiguous_run(form);
  if (!plain.ok() || *plain != naive_run(positions, row_major)) {
    return cat("contiguous_run says ", plain.ok() ? cat(*plain) : why(plain), ", expected ",
               naive_run(positions, row_major));
  }
  for (const std::vector<int>& order : orders) {
    const std::int64_t expected = naive_run(positions, walk_of(form.shape, order));
    const Result<std::int64_t> run = contiguous_run(form, order);
    if (!run.ok() || *run != expected) {
      return cat("contiguous_run in another order says ", run.ok() ? cat(*run) : why(run),
                 ", expected ", expected);
    }
  }
  const Result<bool> contiguous = is_contiguous(form);
  if (!contiguous.ok() || *contiguous != breaks_of(positions, row_major).empty()) {
    return "is_contiguous is wrong";
  }
  for (const DType dtype : {DType::kF32, DType::kI8, DType::kI4}) {
    for (const std::int64_t max_bytes : {1, 4, 16, 64}) {
      const Result<std::int64_t> width = vector_width(form, Atom::scalar(dtype), max_bytes);
      if (!width.ok()) return cat("vector_width: ", why(width));
      const std::int64_t expected = naive_vector_width(positions, *dtype_bits(dtype), max_bytes);
      if (!positions.empty() && *width != expected) {
        return cat("vector_width of ", dtype_name(dtype), " in ", max_bytes, " bytes says ", *width,
                   ", expected ", expected);
      }
      if (*width < 1) return "vector_width is below 1";
    }
  }
  // Strides by differences of neighbours, then the formula on every element.
  std::vector<std::int64_t> strides(form.shape.rank(), 0);
  const std::vector<std::int64_t> steps = form.shape.row_major_strides();
  bool strided = true;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const Index index = form.shape.delinear(static_cast<std::int64_t>(i));
    std::int64_t slot = positions.front().slot;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (form.shape[d] > 1) strides[d] = positions[at(steps[d])].slot - positions.front().slot;
      slot += strides[d] * index[d];
    }
    strided = strided && positions[i] == Position{positions.front().place, slot};
  }
  const Result<bool> says_strided = is_strided(form);
  const Result<std::vector<std::int64_t>> says_strides = strides_of(form);
  if (!says_strided.ok()) return cat("is_strided: ", why(says_strided));
  if (form.replicas() > 1) return "";  // more than a single place: laws of one place do not apply
  if (*says_strided != strided) return cat("is_strided says ", *says_strided);
  if (says_strides.ok() != strided) return cat("strides_of says ", why(says_strides));
  if (strided && *says_strides != strides) {
    return cat("strides_of says ", bracketed(*says_strides), ", expected ", bracketed(strides));
  }
  if (!strided && says_strides.error().code != ErrorCode::kNotSupported) {
    return cat("strides_of says ", why(says_strides));
  }
  return "";
}

Failure form_laws(const Form& form) {
  Laws laws;
  laws << law_injective(form) << law_canonical(form) << law_locator(form) << law_rows(form)
       << law_runs(form) << law_refine(form, form) << law_same_function(form, form);
  return about(form, laws.failure());
}

}  // namespace tessera::test
