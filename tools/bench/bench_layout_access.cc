// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <random>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/enumerate.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/locator.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/measure.h"
#include "tools/command/bug.h"

namespace tessera::tools {
namespace {

using Indices = std::vector<std::array<std::int64_t, 2>>;
using SumOver = Position (*)(const Indices& indices);

Cut on_mesh(std::int64_t width, std::int64_t count, int axis) {
  return {width, count, Target::mesh(axis), 1, Cause::kGrid};
}
Cut in_memory(std::int64_t width, std::int64_t count, std::int64_t stride) {
  return {width, count, Target::memory(), stride, Cause::kAlignment};
}

Result<Layout> layout_2d(std::int64_t rows, std::int64_t columns, std::vector<std::int64_t> mesh,
                         std::vector<Cut> row_cuts, std::vector<Cut> column_cuts) {
  LayoutSpec spec;
  TESSERA_TRY(spec.form.shape, Shape::make({rows, columns}));
  TESSERA_TRY(spec.form.mesh, Shape::make(std::move(mesh)));
  spec.form.folds = {{{{0, 1}}, 0, std::move(row_cuts)}, {{{1, 1}}, 0, std::move(column_cuts)}};
  return Layout::make(std::move(spec));
}

/// Sums up answers, each of which must exist.
class Sum {
 public:
  void add(Position spot) {
    keep_number(spot.place);
    keep_number(spot.slot);
    sum_ += spot;
  }
  Position value() const { return sum_; }

 private:
  Position sum_;
};

template <typename At>
Position sum_over(const Indices& indices, const At& at) {
  Sum sum;
  for (const auto& index : indices) sum.add(at(index[0], index[1]));
  return sum.value();
}

/// The layouts of both questions, each with the code that one would write by hand for it: divisions
/// by constants that the compiler knows. This is the strongest peer.
struct Subject {
  std::string name;
  Layout layout;
  SumOver by_hand;
};

template <std::int64_t kColumns>
Position row_major_by_hand(const Indices& indices) {
  return sum_over(indices,
                  [](std::int64_t r, std::int64_t c) { return Position{0, r * kColumns + c}; });
}

/// Pieces of kRows x kColumns on a mesh 2 wide, each in row-major 32x32 tiles, kTiles across.
template <std::int64_t kRows, std::int64_t kColumns, std::int64_t kTiles>
Position tiled_by_hand(const Indices& indices) {
  return sum_over(indices, [](std::int64_t r, std::int64_t c) {
    const std::int64_t lr = r % kRows;
    const std::int64_t lc = c % kColumns;
    return Position{r / kRows * 2 + c / kColumns,
                    (lr / 32 * kTiles + lc / 32) * 1024 + lr % 32 * 32 + lc % 32};
  });
}

/// Blocks of kBlock x kBlock distributed over 8x8 places, kLocal columns per place.
template <std::int64_t kBlock, std::int64_t kLocal>
Position cyclic_by_hand(const Indices& indices) {
  return sum_over(indices, [](std::int64_t r, std::int64_t c) {
    const std::int64_t lr = r / (8 * kBlock) * kBlock + r % kBlock;
    const std::int64_t lc = c / (8 * kBlock) * kBlock + c % kBlock;
    return Position{r / kBlock % 8 * 8 + c / kBlock % 8, lr * kLocal + lc};
  });
}

template <std::int64_t kExtent>
Result<Subject> row_major() {
  TESSERA_TRY(Layout layout, layout_2d(kExtent, kExtent, {}, {in_memory(1, kExtent, kExtent)},
                                       {in_memory(1, kExtent, 1)}));
  return Subject{"row_major", std::move(layout), row_major_by_hand<kExtent>};
}

/// On 3x2 places: a chain such as (2731, 32, 1) for the rows, in which nothing divides.
template <std::int64_t kExtent>
Result<Subject> tiled() {
  constexpr std::int64_t kRows = ceil_div(kExtent, 3);
  constexpr std::int64_t kColumns = ceil_div(kExtent, 2);
  constexpr std::int64_t kTilesDown = ceil_div(kRows, 32);
  constexpr std::int64_t kTiles = ceil_div(kColumns, 32);
  TESSERA_TRY(
      Layout layout,
      layout_2d(
          kExtent, kExtent, {3, 2},
          {on_mesh(kRows, 3, 0), in_memory(32, kTilesDown, kTiles * 1024), in_memory(1, 32, 32)},
          {on_mesh(kColumns, 2, 1), in_memory(32, kTiles, 1024), in_memory(1, 32, 1)}));
  return Subject{"tiled_3x2", std::move(layout), tiled_by_hand<kRows, kColumns, kTiles>};
}

template <std::int64_t kExtent, std::int64_t kBlock>
Result<Subject> cyclic() {
  constexpr std::int64_t kTurns = ceil_div(kExtent, 8 * kBlock);
  constexpr std::int64_t kLocal = kTurns * kBlock;
  TESSERA_TRY(Layout layout, layout_2d(kExtent, kExtent, {8, 8},
                                       {in_memory(8 * kBlock, kTurns, kBlock * kLocal),
                                        on_mesh(kBlock, 8, 0), in_memory(1, kBlock, kLocal)},
                                       {in_memory(8 * kBlock, kTurns, kBlock),
                                        on_mesh(kBlock, 8, 1), in_memory(1, kBlock, 1)}));
  return Subject{"block_cyclic_8x8", std::move(layout), cyclic_by_hand<kBlock, kLocal>};
}

Indices random_indices(const Shape& shape, std::int64_t count) {
  std::mt19937_64 random(42);
  Indices indices(static_cast<std::size_t>(count));
  for (auto& index : indices) {
    for (std::size_t dim = 0; dim < 2; ++dim) {
      index[dim] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shape[dim]));
    }
  }
  return indices;
}

Indices all_indices(const Shape& shape) {
  Indices indices;
  for (std::int64_t r = 0; r < shape[0]; ++r) {
    for (std::int64_t c = 0; c < shape[1]; ++c) indices.push_back({r, c});
  }
  return indices;
}

Position sum_by_locator(const Locator& locator, const Indices& indices) {
  Sum sum;
  for (const auto& index : indices) sum.add(locator.at(index.data()));
  return sum.value();
}

Position sum_by_many(const Locator& locator, const Indices& indices, std::vector<Position>& spots) {
  locator.at_many({indices.data()->data(), 2 * indices.size()}, spots);
  Sum sum;
  for (const Position& spot : spots) sum.add(spot);
  return sum.value();
}

Position sum_by_locate(const Layout& layout, const Indices& indices) {
  Sum sum;
  Index at(2);
  for (const auto& index : indices) {
    at.assign(index.begin(), index.end());
    const Result<Location> location = layout.locate(at);
    if (location) sum.add({layout.mesh().linear(location->places.front()), location->slot});
  }
  return sum.value();
}

Position sum_by_rows(const Layout& layout) {
  Sum sum;
  const Status status = for_each_row(layout, [&](const Row& row) {
    for (const Position& offset : row.offsets) sum.add(row.base + offset);
  });
  return status ? sum.value() : Position{-1, -1};
}

Status check_equal(const Subject& subject, const std::vector<Position>& sums) {
  for (const Position& sum : sums) {
    if (sum == sums.front()) continue;
    return Error{ErrorCode::kContradiction,
                 cat("two ways to find the elements of ", subject.name, " disagree"), std::nullopt,
                 kBugHelp};
  }
  return ok_status();
}

BenchCase random_result(std::string name, std::int64_t count, double seconds, double by_hand,
                        double layout_locate) {
  BenchCase result;
  result.name = std::move(name);
  result.elements = count;
  result.seconds = seconds;
  result.peers = {{"by_hand", by_hand}, {"layout_locate", layout_locate}};
  set_ratio(result);
  return result;
}

/// Random indices, one per call and many per call.
Result<std::vector<BenchCase>> random_cases(const Subject& subject, std::int64_t count,
                                            const MeasureOptions& measure) {
  const Indices indices = random_indices(subject.layout.shape(), count);
  std::vector<Position> spots(indices.size());
  TESSERA_TRY(const Lines lines, canonical(subject.layout));
  const Locator locator(lines);
  TESSERA_CHECK_OK(check_equal(
      subject, {subject.by_hand(indices), sum_by_locator(locator, indices),
                sum_by_many(locator, indices, spots), sum_by_locate(subject.layout, indices)}));
  const std::vector<double> seconds =
      median_seconds({{"locator", [&] { keep(sum_by_locator(locator, indices)); }},
                      {"many", [&] { keep(sum_by_many(locator, indices, spots)); }},
                      {"by_hand", [&] { keep(subject.by_hand(indices)); }},
                      {"layout_locate", [&] { keep(sum_by_locate(subject.layout, indices)); }}},
                     measure);
  BenchCase one =
      random_result(cat("random_locate/", subject.name), count, seconds[0], seconds[2], seconds[3]);
  one.goal = "ratio <= 3";
  one.met = one.ratio && *one.ratio <= 3;
  return std::vector<BenchCase>{
      std::move(one), random_result(cat("random_locate_many/", subject.name), count, seconds[1],
                                    seconds[2], seconds[3])};
}

Result<BenchCase> bulk_case(const Subject& subject, const MeasureOptions& measure) {
  const Indices indices = all_indices(subject.layout.shape());
  TESSERA_TRY(const Lines lines, canonical(subject.layout));
  const Locator locator(lines);
  TESSERA_CHECK_OK(check_equal(
      subject, {subject.by_hand(indices), sum_by_rows(subject.layout),
                sum_by_locator(locator, indices), sum_by_locate(subject.layout, indices)}));
  const std::vector<double> seconds =
      median_seconds({{"for_each_row", [&] { keep(sum_by_rows(subject.layout)); }},
                      {"layout_locate", [&] { keep(sum_by_locate(subject.layout, indices)); }},
                      {"locator", [&] { keep(sum_by_locator(locator, indices)); }}},
                     measure);
  BenchCase result;
  result.name = cat("bulk/", subject.name);
  result.elements = subject.layout.shape().elements();
  result.seconds = seconds[0];
  result.peers = {{"layout_locate", seconds[1]}, {"locator", seconds[2]}};
  set_ratio(result);
  result.goal = "ratio <= 0.1";
  result.met = result.ratio && *result.ratio <= 0.1;
  return result;
}

}  // namespace

Status bench_layout_access(const BenchOptions& options, BenchReport& report) {
  const MeasureOptions measure = options.quick ? MeasureOptions{3, 1e-5} : MeasureOptions{};
  const std::int64_t count = options.quick ? 1000 : 1'000'000;
  std::vector<double> ratios;
  for (const auto& make : {row_major<4096>, tiled<8192>, cyclic<8192, 100>}) {
    TESSERA_TRY(const Subject subject, make());
    TESSERA_TRY(const std::vector<BenchCase> results, random_cases(subject, count, measure));
    ratios.push_back(results.front().ratio.value_or(1));
    report.cases.insert(report.cases.end(), results.begin(), results.end());
  }
  report.geometric_means.emplace_back("random_locate", geometric_mean(ratios));
  ratios.clear();
  // A million elements each, so that the slowest peer can walk them all as well.
  using Make = Result<Subject> (*)();
  const std::vector<Make> subjects =
      options.quick ? std::vector<Make>{row_major<64>, tiled<64>, cyclic<64, 3>}
                    : std::vector<Make>{row_major<1024>, tiled<1024>, cyclic<1024, 12>};
  for (const Make make : subjects) {
    TESSERA_TRY(const Subject subject, make());
    TESSERA_TRY(BenchCase result, bulk_case(subject, measure));
    ratios.push_back(result.ratio.value_or(1));
    report.cases.push_back(std::move(result));
  }
  report.geometric_means.emplace_back("bulk", geometric_mean(ratios));
  return ok_status();
}

}  // namespace tessera::tools
