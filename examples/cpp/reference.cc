// SPDX-License-Identifier: Apache-2.0
// The snippets of docs/cpp.md, each a function: compiled, run, and checked by the lines after it.
#include <iostream>
#include <numeric>
#include <source_location>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tessera/exchange/exchange.h"
#include "tessera/exchange/resharder.h"
#include "tessera/frontend/eval.h"
#include "tessera/frontend/tensor.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/graph_json.h"
#include "tessera/graph/program.h"
#include "tessera/ops/propagate.h"
#include "tessera/tessera.h"

namespace {

int wrong = 0;

void expect(bool claim, std::source_location at = std::source_location::current()) {
  if (claim) return;
  std::cerr << at.function_name() << ", line " << at.line() << ": not as docs/cpp.md says\n";
  ++wrong;
}

tessera::Status errors() {
  const std::string text = "tensor<53x63xf32, pyflame.Gird(3, 2)>";
  const tessera::Result<tessera::Tensor> tensor = tessera::parse_tensor(text);
  if (!tensor) {
    const tessera::Error& error = tensor.error();
    std::cout << tessera::code_name(error.code) << ": " << error.message << "\n";  // for scripts
    std::cout << tessera::render(error, text);  // for people: the text, a caret, what is right
  }
  expect(!tensor && tensor.error().code == tessera::ErrorCode::kUnknownName);
  return tessera::ok_status();
}

tessera::Result<std::int64_t> slot_of(const std::string& text, const tessera::Index& index) {
  TESSERA_TRY(const tessera::Tensor tensor, tessera::parse_tensor(text));
  TESSERA_TRY(const tessera::Location at, tensor.placement.locate(index));
  return at.slot;
}

tessera::Status read_a_layout() {
  TESSERA_TRY(const tessera::Tensor tensor,
              tessera::parse_tensor("tensor<53x63xf32, pyflame.Grid(3, 2)>"));
  const tessera::Placement& placement = tensor.placement;
  std::cout << placement.shape().to_string() << " on " << placement.places() << " places, "
            << placement.slots() << " slots and " << placement.shard_bytes() << " bytes each\n";
  std::cout << tessera::print_tensor(tensor) << "\n";            // in its own notation
  std::cout << tessera::print_native(tensor.placement) << "\n";  // in the native one
  expect(placement.places() == 6 && placement.slots() == 576);
  return tessera::ok_status();
}

tessera::Status find_an_element() {
  TESSERA_TRY(const tessera::Tensor tensor,
              tessera::parse_tensor("tensor<53x63xf32, pyflame.Grid(3, 2)>"));
  const tessera::Layout& layout = tensor.layout();
  TESSERA_TRY(const tessera::Location at, layout.locate({40, 33}));
  // at.places is {{2, 1}}, at.slot is 129 = 4 * 32 + 1, at.byte is 516.

  TESSERA_TRY(const tessera::Slot held, layout.element_at({2, 1}, 129));
  if (const auto* index = std::get_if<tessera::Index>(&held)) {
    std::cout << "element " << (*index)[0] << ", " << (*index)[1] << "\n";  // 40, 33
  } else {
    std::cout << tessera::cause_name(std::get<tessera::Padding>(held).cause) << "\n";
  }
  expect(at.places == std::vector<tessera::Place>{{2, 1}} && at.slot == 129 && at.byte == 516);
  expect(held == tessera::Slot{tessera::Index{40, 33}});
  return tessera::ok_status();
}

tessera::Status find_many_elements() {
  TESSERA_TRY(const tessera::Tensor tensor,
              tessera::parse_tensor("tensor<53x63xf32, pyflame.Grid(3, 2)>"));
  TESSERA_TRY(const tessera::Lines lines, tessera::canonical(tensor.layout()));
  const tessera::Locator locator(lines);
  const tessera::Index index = {40, 33};
  const tessera::Position position = locator.at(index.data());  // place 5 (row-major), slot 129
  expect(position == tessera::Position{5, 129});
  return tessera::ok_status();
}

tessera::Status build_by_hand() {
  TESSERA_TRY(const tessera::Shape shape, tessera::Shape::make({53, 63}));
  TESSERA_TRY(const tessera::Shape mesh, tessera::Shape::make({3}));
  TESSERA_TRY(const tessera::Layout rows, tessera::Layout::row_major(shape, tessera::DType::kF32));
  TESSERA_TRY(const tessera::Layout columns,
              tessera::Layout::strided(shape, tessera::DType::kF32, {1, 53}));

  // 18 rows on each of 3 places, row-major there: width, count, where it goes, stride.
  tessera::LayoutSpec spec;
  spec.form.shape = shape;
  spec.form.mesh = mesh;
  spec.form.folds = {
      {.terms = {{.dim = 0}},
       .cuts = {{.width = 18, .count = 3, .target = tessera::Target::mesh(0)},
                {.width = 1, .count = 18, .target = tessera::Target::memory(), .stride = 63}}},
      {.terms = {{.dim = 1}},
       .cuts = {{.width = 1, .count = 63, .target = tessera::Target::memory()}}}};
  TESSERA_TRY(const tessera::Layout sharded, tessera::Layout::make(spec));
  expect(rows.locate({40, 33})->slot == 40 * 63 + 33);
  expect(columns.locate({40, 33})->slot == 40 + 33 * 53);
  expect(sharded.locate({40, 33})->places == std::vector<tessera::Place>{{2}});
  expect(sharded.locate({40, 33})->slot == 4 * 63 + 33);
  return tessera::ok_status();
}

tessera::Status views() {
  TESSERA_TRY(const tessera::Shape shape, tessera::Shape::make({4, 6}));
  TESSERA_TRY(const tessera::Layout rows, tessera::Layout::row_major(shape, tessera::DType::kF32));
  const tessera::View whole = tessera::View::of(rows);
  TESSERA_TRY(const tessera::View turned, whole.transpose({1, 0}));           // [6, 4]
  TESSERA_TRY(const tessera::View odd, whole.slice(/*dim=*/1, 1, 3, 2));      // columns 1, 3, 5
  TESSERA_TRY(const tessera::View copies, whole.broadcast(0, /*extent=*/8));  // [8, 4, 6]
  TESSERA_TRY(const tessera::View blocks, whole.split(/*dim=*/1, {2, 3}));    // [4, 2, 3]
  TESSERA_TRY(const tessera::View line, whole.reshape({24}));                 // [24]
  TESSERA_TRY(const tessera::Location at, odd.locate({2, 1}));                // slot 15
  expect(turned.shape().to_string() == "6x4" && copies.shape().to_string() == "8x4x6");
  expect(blocks.shape().to_string() == "4x2x3" && line.shape().to_string() == "24");
  expect(at.slot == 2 * 6 + 3);
  return tessera::ok_status();
}

tessera::Status compare() {
  TESSERA_TRY(const tessera::Tensor a, tessera::parse_tensor("tensor<4x6xf32, strided<[6, 1]>>"));
  TESSERA_TRY(const tessera::Tensor b, tessera::parse_tensor("tensor<4x6xf32, strided<[1, 4]>>"));
  TESSERA_TRY(const tessera::Comparison same, tessera::same_placement(a.placement, b.placement));
  // same.equal is false, same.first_difference is {0, 1}: slot 1 in a, slot 4 in b.
  TESSERA_TRY(const std::int64_t moved, tessera::moved_elements_between(a.placement, b.placement));
  TESSERA_TRY(const bool no_messages, tessera::placed_compatibly(a.placement, b.placement));
  expect(!same.equal && same.first_difference == tessera::Index{0, 1});
  expect(moved == 22 && no_messages);
  return tessera::ok_status();
}

tessera::Status convert() {
  TESSERA_TRY(const tessera::Tensor tensor,
              tessera::parse_tensor("tensor<64x64xf16, pyflame.Grid(2, 2)>"));
  TESSERA_TRY(const tessera::Conversion converted, tessera::convert(tensor, "dtensor"));
  std::cout << converted.text << "\n";
  for (const std::string& fact : converted.lost) std::cout << "not said any more: " << fact << "\n";

  for (const std::string_view notation : tessera::notation_names()) {
    std::cout << notation << "\n";
  }
  expect(converted.text == "tensor<64x64xf16, dtensor<mesh=[2,2], [Shard(0), Shard(1)]>>");
  return tessera::ok_status();
}

tessera::Status padding() {
  TESSERA_TRY(const tessera::Tensor tensor,
              tessera::parse_tensor("tensor<53x63xf32, pyflame.Grid(3, 2)>"));
  TESSERA_TRY(const tessera::PaddingCount count, tessera::padding(tensor.layout()));
  std::cout << count.total << " slots of padding, " << count[tessera::Cause::kGrid]
            << " because the grid does not divide the tensor\n";  // 117 and 117
  TESSERA_CHECK_OK(tessera::padding_regions(tensor.layout(), [](const auto& region) {
    std::cout << region.slots_per_place() << " slots from slot " << region.first_slot << "\n";
    return true;  // go on
  }));
  expect(count.total == 6 * 576 - 53 * 63 && count[tessera::Cause::kGrid] == count.total);
  return tessera::ok_status();
}

tessera::Status runs() {
  TESSERA_TRY(const tessera::Shape shape, tessera::Shape::make({4, 6}));
  TESSERA_TRY(const tessera::Layout rows, tessera::Layout::row_major(shape, tessera::DType::kF32));
  TESSERA_TRY(const tessera::View columns, tessera::View::of(rows).slice(/*dim=*/1, 0, 4));
  TESSERA_TRY(const std::int64_t run, tessera::contiguous_run(columns));  // 4 elements
  TESSERA_TRY(const std::int64_t width,
              tessera::vector_width(columns, columns.atom(), /*max_bytes=*/64));  // 2 elements
  TESSERA_TRY(const auto strides, tessera::strides_of(columns));                  // {6, 1}
  expect(run == 4 && width == 2 && strides == std::vector<std::int64_t>{6, 1});
  return tessera::ok_status();
}

tessera::Status what_a_place_holds() {
  TESSERA_TRY(const tessera::Tensor tensor,
              tessera::parse_tensor("tensor<53x63xf32, pyflame.Grid(3, 2)>"));
  TESSERA_TRY(const tessera::Tile tile, tessera::tile_of(tensor.layout(), {2, 1}));
  // tile.boxes has one box, rows 36 to 53 and columns 32 to 63; tile.elements is 527.
  TESSERA_TRY(const auto classes, tessera::place_classes(tensor.layout()));
  for (const tessera::PlaceClass& like : classes) {
    std::cout << like.places << " places with " << like.elements << " elements each\n";
  }
  expect(tile.boxes == std::vector<tessera::Box>{{{36, 32}, {53, 63}}} && tile.elements == 527);
  expect(classes.size() == 4);
  return tessera::ok_status();
}

tessera::Status relayout() {
  TESSERA_TRY(const tessera::Tensor source,
              tessera::parse_tensor("tensor<53x63xf32, strided<[63, 1]>>"));
  TESSERA_TRY(const tessera::Tensor destination,
              tessera::parse_tensor("tensor<53x63xf32, pyflame.Grid(3, 2)>"));
  TESSERA_TRY(tessera::relayout::Program program,
              tessera::relayout::make_program(source.placement, destination.placement,
                                              tessera::relayout::PaddingRule::kZero));
  TESSERA_TRY(const tessera::relayout::Plan plan,
              tessera::relayout::Plan::make(std::move(program)));

  std::vector<float> from(static_cast<std::size_t>(plan.program().from.elements()));
  std::vector<float> to(static_cast<std::size_t>(plan.program().to.elements()));
  std::iota(from.begin(), from.end(), 0.0F);
  tessera::ThreadPool pool(/*threads=*/2);
  TESSERA_CHECK_OK(
      plan.run(std::as_bytes(std::span(from)), std::as_writable_bytes(std::span(to)), pool));
  // Place 5 of the destination begins at element 5 * 576 of `to`.
  expect(to[5 * 576 + 129] == 40 * 63 + 33);
  return tessera::ok_status();
}

tessera::Status relayout_as_c() {
  TESSERA_TRY(const tessera::Tensor source,
              tessera::parse_tensor("tensor<4x6xf32, strided<[6, 1]>>"));
  TESSERA_TRY(const tessera::Tensor destination,
              tessera::parse_tensor("tensor<4x6xf32, strided<[1, 4]>>"));
  TESSERA_TRY(const tessera::relayout::Program program,
              tessera::relayout::make_program(source.placement, destination.placement));
  TESSERA_TRY(const std::string c_text, tessera::relayout::emit_c(program, "to_columns"));
  TESSERA_TRY(const auto flaws,
              tessera::relayout::verify(program, source.placement, destination.placement,
                                        tessera::relayout::PaddingRule::kPromised));
  expect(c_text.find("void to_columns(") != std::string::npos && flaws.empty());
  return tessera::ok_status();
}

tessera::Status reshard_cost() {
  TESSERA_TRY(const tessera::Tensor source,
              tessera::parse_tensor("tensor<64x64xf32, pyflame.Grid(8, 8)>"));
  TESSERA_TRY(const tessera::Tensor destination,
              tessera::parse_tensor("tensor<64x64xf32, pyflame.Grid(8, 8, dim_to_pe=[1, 0])>"));
  TESSERA_TRY(const tessera::Machine* wafer, tessera::find_machine("wse2"));
  TESSERA_TRY(const auto physical, tessera::reshard::PhysicalMesh::of(*wafer));
  TESSERA_TRY(const auto reshard,
              tessera::reshard::Reshard::make(source.placement, destination.placement, physical));
  TESSERA_TRY(const auto kind, tessera::reshard::kind_of(reshard));
  TESSERA_TRY(const auto cost, tessera::reshard::cost_of(reshard));
  std::cout << tessera::reshard::kind_name(kind) << ": " << cost.bytes << " bytes in "
            << cost.messages << " messages\n";  // TRANSPOSE: 14336 bytes in 56 messages
  if (cost.fabric) std::cout << cost.fabric->cycles << " cycles\n";
  expect(kind == tessera::reshard::ReshardKind::kTranspose);
  expect(cost.bytes == 14336 && cost.messages == 56 && cost.fabric);
  return tessera::ok_status();
}

tessera::Status reshard_transfers() {
  TESSERA_TRY(const tessera::Tensor source,
              tessera::parse_tensor("tensor<64x64xf32, pyflame.Grid(2, 2)>"));
  TESSERA_TRY(const tessera::Tensor destination,
              tessera::parse_tensor("tensor<64x64xf32, pyflame.Grid(4, 1)>"));
  TESSERA_TRY(const auto physical,
              tessera::reshard::PhysicalMesh::around(source.placement, destination.placement));
  TESSERA_TRY(const auto reshard,
              tessera::reshard::Reshard::make(source.placement, destination.placement, physical));
  TESSERA_TRY(const auto pairs, tessera::reshard::pairs_of(reshard, /*most=*/1000));
  for (const tessera::reshard::PairBytes& pair : pairs) {
    std::cout << pair.source << " -> " << pair.destination << ": " << pair.bytes << " bytes\n";
  }
  std::int64_t elements = 0;
  TESSERA_CHECK_OK(tessera::reshard::for_each_transfer(
      reshard, {.messages = true, .local = true}, [&](const tessera::reshard::Transfer& transfer) {
        elements += transfer.elements;  // strided loops over both sides are in transfer.loops
        return tessera::ok_status();
      }));
  expect(!pairs.empty() && elements == 4096);
  return tessera::ok_status();
}

tessera::Status machines() {
  TESSERA_TRY(const tessera::Machine* wafer, tessera::find_machine("wse2"));
  TESSERA_TRY(const tessera::Tensor tensor,
              tessera::parse_tensor("tensor<1024x1024xf32, pyflame.SinglePE()>"));
  TESSERA_TRY(const tessera::target::Fit fit, tessera::target::fits(tensor.layout(), *wafer));
  if (!fit.fits()) {
    for (const auto& reason : fit.reasons) std::cout << reason.message << "\n";
    std::cout << "at least " << fit.needed_places.value_or(0) << " places are needed\n";
  }

  TESSERA_TRY(const tessera::Machine mine, tessera::parse_machine(R"({
    "name": "mine", "mesh": [4, 4], "memory": [{"name": "sram", "bytes": 65536}]})"));
  expect(!fit.fits() && mine.places() == 16);
  return tessera::ok_status();
}

tessera::Status plan_memory() {
  tessera::memory::Problem problem;
  problem.buffers = {{.lower = 0, .upper = 2, .size = 24, .alignment = 8},  // lives in [0, 2)
                     {.lower = 1, .upper = 4, .size = 32, .alignment = 8},
                     {.lower = 3, .upper = 5, .size = 24, .alignment = 8}};
  TESSERA_TRY(const auto solution, tessera::memory::solve(problem, {.capacity = 64}));
  if (solution.outcome == tessera::memory::Outcome::kFits) {
    for (const std::int64_t offset : solution.offsets) std::cout << offset << "\n";
  }
  const std::span<const std::int64_t> offsets(solution.offsets.begin(), solution.offsets.end());
  const auto findings = tessera::memory::validate(problem, offsets, /*capacity=*/64);
  expect(solution.outcome == tessera::memory::Outcome::kFits && solution.peak == 56);
  expect(findings.empty());
  return tessera::ok_status();
}

tessera::Status describe_a_model() {
  tessera::graph::GraphBuilder builder("classifier");
  TESSERA_TRY(const auto x, builder.input("x", {1, 784}));
  TESSERA_TRY(const auto w, builder.parameter("w", {784, 10}));
  TESSERA_TRY(const auto h, builder.add("matmul", {x, w}));
  TESSERA_TRY(const auto p, builder.add("softmax", {h}, {{"axis", -1}}));
  TESSERA_CHECK_OK(builder.output(p));
  const tessera::graph::Graph model = std::move(builder).finish();
  const std::string json = tessera::graph::to_json(model);
  TESSERA_TRY(const tessera::graph::Graph same, tessera::graph::parse_graph(json));
  const tessera::memory::Program program = tessera::graph::program_of(model);
  expect(same == model && program.ops.size() == 2);
  expect(tessera::graph::figures_of(model).parameters == 7840);
  return tessera::ok_status();
}

tessera::Status ask_an_op() {
  TESSERA_TRY(const auto rows,
              tessera::parse_tensor("tensor<2048x768xf32, pyflame.RowPartition(8)>"));
  TESSERA_TRY(const auto copies,
              tessera::parse_tensor("tensor<768x3072xf32, pyflame.Grid(8, 1, dim_to_pe=[-1, 1], "
                                    "replicate=[0])>"));
  const tessera::graph::TensorType x{rows.placement.shape(), tessera::DType::kF32};
  const tessera::graph::TensorType w{copies.placement.shape(), tessera::DType::kF32};
  const std::vector<const tessera::graph::TensorType*> types = {&x, &w};
  const tessera::graph::Attributes none;
  const tessera::graph::Call call(*tessera::graph::Op::find("matmul"), types, none, 1);
  const tessera::ops::Question question{&call, {rows.layout(), copies.layout()}, {}};
  TESSERA_TRY(const tessera::ops::Answer answer, tessera::ops::propagate(question));
  if (!answer.legal) std::cout << answer.reason << "\n";  // answer.alternatives are legal
  for (const tessera::Layout& made : answer.outputs) {
    std::cout << tessera::print_native(made) << "\n";
  }
  expect(answer.legal && answer.outputs.size() == 1);
  return tessera::ok_status();
}

tessera::Status compute_with_tensors() {
  TESSERA_TRY(const auto where, tessera::parse_tensor("tensor<64x48xf32, pyflame.Grid(4, 4)>"));
  TESSERA_TRY(const auto x, tessera::frontend::randn({32, 64}, /*seed=*/1));
  TESSERA_TRY(const auto w,
              tessera::frontend::randn({64, 48}, /*seed=*/2, tessera::DType::kF32, where.layout()));
  TESSERA_TRY(const auto b, tessera::frontend::zeros({48}));
  TESSERA_TRY(const auto y, tessera::frontend::relu(tessera::frontend::matmul(x, w) + b));
  TESSERA_TRY(const tessera::frontend::Evaluation done, tessera::frontend::eval({y}));
  const std::vector<float> numbers = y.elements<float>();
  std::cout << done.ops << " ops on " << done.machine << ": " << numbers.size() << " numbers\n";

  const auto bad = tessera::frontend::matmul(x, b);  // matmul of f32[32, 64] and f32[48]: ..
  expect(done.ops == 3 && numbers.size() == 1536 && !bad);
  return tessera::ok_status();
}

tessera::Status check_mlir() {
  const std::string mlir =
      "#l1 = #tt.memory_space<l1>\n"
      "#shards = #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<17x32xf32, #l1>>\n"
      "func.func private @f(tensor<53x63xf32, #shards>)\n";
  TESSERA_TRY(const tessera::check::CheckReport report, tessera::check::check_mlir(mlir));
  const tessera::check::LineIndex lines(mlir);
  for (const tessera::check::Diagnostic& found : report.diagnostics) {
    std::cout << lines.at(found.span.from).line << ": " << found.message << "\n";
  }
  const std::string right = tessera::check::fixed_text(mlir, report.diagnostics);
  expect(report.diagnostics.size() == 1 && right.find("memref<18x32xf32") != std::string::npos);
  return tessera::ok_status();
}

tessera::Status reshard_on_a_rank(tessera::exchange::Exchange& exchange) {
  TESSERA_TRY(const tessera::Tensor a,
              tessera::parse_tensor("tensor<512x512xf32, dtensor<mesh=[4], [Shard(0)]>>"));
  TESSERA_TRY(const tessera::Tensor b,
              tessera::parse_tensor("tensor<512x512xf32, pyflame.BlockCyclic(2, 2, 64, 64)>"));
  // Place p of either side is the same place, and 4 places go to the ranks in blocks.
  TESSERA_TRY(const auto physical,
              tessera::reshard::PhysicalMesh::in_a_row(a.placement, b.placement));
  TESSERA_TRY(const auto reshard,
              tessera::reshard::Reshard::make(a.placement, b.placement, physical));
  TESSERA_TRY(const auto ranks, tessera::exchange::RankMap::blocks(4, exchange.ranks()));
  TESSERA_TRY(auto resharder, tessera::exchange::Resharder::make(exchange, reshard, ranks, ranks));
  std::vector<std::byte> from(static_cast<std::size_t>(resharder.from().bytes()));
  std::vector<std::byte> to(static_cast<std::size_t>(resharder.to().bytes()));
  return resharder.run(from, to);  // as often as wanted
}

tessera::Status exchange_between_threads() {
  auto ranks = tessera::exchange::in_process_exchange(2);
  tessera::Status other = tessera::ok_status();
  std::thread thread([&] { other = reshard_on_a_rank(*ranks[1]); });
  const tessera::Status outcome = reshard_on_a_rank(*ranks[0]);  // the same on all ranks
  thread.join();
  expect(outcome.ok() && other.ok());
  return outcome;
}

}  // namespace

int main() {
  expect(slot_of("tensor<4x6xf32, strided<[6, 1]>>", {1, 2}).ok());
  for (const auto snippet : {errors,
                             read_a_layout,
                             find_an_element,
                             find_many_elements,
                             build_by_hand,
                             views,
                             compare,
                             convert,
                             padding,
                             runs,
                             what_a_place_holds,
                             relayout,
                             relayout_as_c,
                             reshard_cost,
                             reshard_transfers,
                             machines,
                             plan_memory,
                             describe_a_model,
                             ask_an_op,
                             compute_with_tensors,
                             check_mlir,
                             exchange_between_threads}) {
    const tessera::Status status = snippet();
    if (!status) std::cerr << tessera::render(status.error(), "");
    expect(status.ok());
  }
  return wrong == 0 ? 0 : 1;
}
