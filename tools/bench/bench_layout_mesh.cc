// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/measure.h"
#include "tools/command/bug.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kExtent = 8192;
constexpr double kMostSeconds = 100e-6;
constexpr std::int64_t kMostBytes = 1'000'000;

Cut on_mesh(std::int64_t width, std::int64_t count, int axis) {
  return {width, count, Target::mesh(axis), 1, Cause::kGrid};
}
Cut in_memory(std::int64_t width, std::int64_t count, std::int64_t stride) {
  return {width, count, Target::memory(), stride, Cause::kAlignment};
}

Result<LayoutSpec> spec_of(const Shape& mesh, std::vector<Fold> folds) {
  LayoutSpec spec;
  TESSERA_TRY(spec.form.shape, Shape::make({kExtent, kExtent}));
  spec.form.mesh = mesh;
  spec.form.folds = std::move(folds);
  return spec;
}

/// Pieces of rows x columns on the mesh; row-major inside, or column-major.
Result<LayoutSpec> grid(const Shape& mesh, std::int64_t rows, std::int64_t columns,
                        bool column_major) {
  const std::int64_t row_stride = column_major ? 1 : columns;
  const std::int64_t column_stride = column_major ? rows : 1;
  return spec_of(
      mesh, {{{{0, 1}}, 0, {on_mesh(rows, mesh[0], 0), in_memory(1, rows, row_stride)}},
             {{{1, 1}}, 0, {on_mesh(columns, mesh[1], 1), in_memory(1, columns, column_stride)}}});
}

/// The same function as the row-major grid, written as one line over both dims.
Result<LayoutSpec> collapsed_grid(const Shape& mesh, std::int64_t rows, std::int64_t columns) {
  return spec_of(mesh, {{{{0, kExtent}, {1, 1}},
                         0,
                         {on_mesh(rows * kExtent, mesh[0], 0), in_memory(kExtent, rows, columns),
                          on_mesh(columns, mesh[1], 1), in_memory(1, columns, 1)}}});
}

struct Question {
  std::string name;
  std::function<bool()> ask;  ///< false when the answer is wrong
  bool has_goal = false;
};

Status bench_mesh(const Shape& mesh, const MeasureOptions& measure, BenchReport& report) {
  const std::int64_t rows = ceil_div(kExtent, mesh[0]);
  const std::int64_t columns = ceil_div(kExtent, mesh[1]);
  TESSERA_TRY(const LayoutSpec spec, grid(mesh, rows, columns, false));
  TESSERA_TRY(const LayoutSpec transposed_spec, grid(mesh, rows, columns, true));
  TESSERA_TRY(const LayoutSpec wider_spec, grid(mesh, rows + 1, columns + 1, false));
  TESSERA_TRY(const LayoutSpec collapsed_spec, collapsed_grid(mesh, rows, columns));
  TESSERA_TRY(const Layout layout, Layout::make(spec));
  TESSERA_TRY(const Layout transposed, Layout::make(transposed_spec));
  TESSERA_TRY(const Layout wider, Layout::make(wider_spec));
  TESSERA_TRY(const Layout collapsed, Layout::make(collapsed_spec));

  const std::vector<Question> questions = {
      {"same_function_equal",
       [&] {
         const auto answer = same_function(layout, collapsed);
         return answer && answer->equal;
       },
       true},
      {"same_function_different",
       [&] {
         const auto answer = same_function(layout, transposed);
         return answer && !answer->equal;
       },
       true},
      {"padding", [&] { return padding(layout).ok(); }, true},
      {"place_classes", [&] { return place_classes(layout).ok(); }, true},
      {"refine", [&] { return refine(layout, wider).ok(); }},
      {"is_injective",
       [&] {
         const auto answer = is_injective(layout);
         return answer && answer->injective;
       }},
      {"make", [&] { return Layout::make(spec).ok(); }},
      {"canonical", [&] { return canonical(collapsed).ok(); }},
      {"function_hash", [&] { return function_hash(layout).ok(); }},
  };
  for (const Question& question : questions) {
    BenchCase result;
    result.name = cat(question.name, "/", mesh.to_string());
    if (!question.ask()) {
      return Error{ErrorCode::kContradiction, cat(result.name, " has the wrong answer"),
                   std::nullopt, kBugHelp};
    }
    result.peak_bytes = peak_bytes_of([&] { keep(question.ask()); });
    result.seconds =
        median_seconds({{question.name, [&] { keep(question.ask()); }}}, measure).front();
    if (question.has_goal) {
      result.goal = "<= 100 us, 1 MB";
      result.met = result.seconds <= kMostSeconds && *result.peak_bytes <= kMostBytes;
    }
    report.cases.push_back(std::move(result));
  }
  return ok_status();
}

}  // namespace

Status bench_layout_mesh(const BenchOptions& options, BenchReport& report) {
  const MeasureOptions measure = options.quick ? MeasureOptions{3, 1e-5} : MeasureOptions{};
  const std::size_t before = report.cases.size();
  const std::vector<std::vector<std::int64_t>> meshes = {{99, 75}, {331, 250}, {994, 750}};
  for (const auto& extents : meshes) {
    TESSERA_TRY(const Shape mesh, Shape::make(extents));
    TESSERA_CHECK_OK(bench_mesh(mesh, measure, report));
  }
  const std::size_t questions = (report.cases.size() - before) / meshes.size();
  for (std::size_t i = 0; i < questions; ++i) {
    const BenchCase& smallest = report.cases[before + i];
    const BenchCase& largest = report.cases[report.cases.size() - questions + i];
    report.growth.emplace_back(smallest.name.substr(0, smallest.name.find('/')),
                               largest.seconds / smallest.seconds);
  }
  return ok_status();
}

}  // namespace tessera::tools
