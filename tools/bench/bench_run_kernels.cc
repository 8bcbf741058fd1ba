// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/run/kernels/kernel.h"
#include "tools/bench/bench_relayout.h"
#include "tools/bench/bench_run.h"

namespace tessera::tools {
namespace {

/// An op on dense f32 tensors, each in the next part of a buffer, by one kernel on one thread.
class KernelTask {
 public:
  static Result<std::unique_ptr<KernelTask>> make(std::string_view op,
                                                  const std::vector<Shape>& shapes,
                                                  graph::Attributes attributes) {
    TESSERA_TRY(const graph::Op found, op_of(op));
    auto made = std::make_unique<KernelTask>(found, shapes, std::move(attributes));
    TESSERA_TRY(made->outputs_, graph::infer(made->call_));
    TESSERA_TRY(made->loops_, ops::loops_of(made->call_, made->outputs_));
    TESSERA_TRY(const Shape iterations, made->loops_.iterations());
    std::int64_t bytes = 0;
    for (const Shape& shape : shapes) bytes += room_of(shape);
    TESSERA_TRY(made->inputs_memory_, buffer_of(bytes));
    TESSERA_TRY(made->result_memory_, buffer_of(room_of(made->outputs_[0].shape)));
    made->fill(iterations);
    return made;
  }

  KernelTask(graph::Op op, const std::vector<Shape>& shapes, graph::Attributes attributes)
      : types_(types_of(shapes)),
        pointers_(pointers_to(types_)),
        attributes_(std::move(attributes)),
        call_(op, pointers_, attributes_, 1) {}
  KernelTask(const KernelTask&) = delete;
  KernelTask& operator=(const KernelTask&) = delete;

  Status run() { return run::perform(task_, &used_); }
  std::string_view used() const { return used_; }
  /// Read and written.
  std::int64_t bytes() const {
    std::int64_t sum = outputs_[0].bytes();
    for (const graph::TensorType& type : types_) sum += type.bytes();
    return sum;
  }
  const float* input(std::size_t i) const {
    return reinterpret_cast<const float*>(task_.inputs[i].data);
  }
  const float* result() const { return reinterpret_cast<const float*>(task_.results[0].data); }
  std::int64_t elements() const { return outputs_[0].shape.elements(); }

 private:
  static Result<graph::Op> op_of(std::string_view name) {
    const auto op = graph::Op::find(name);
    if (!op) return Error{ErrorCode::kUnknownName, cat("no op ", name), std::nullopt, ""};
    return *op;
  }
  static Result<std::unique_ptr<BenchBuffer>> buffer_of(std::int64_t bytes) {
    TESSERA_TRY(BenchBuffer buffer, BenchBuffer::make(bytes));
    return std::make_unique<BenchBuffer>(std::move(buffer));
  }
  static std::int64_t room_of(const Shape& shape) { return (shape.elements() * 4 + 4095) & ~4095; }
  static graph::Types types_of(const std::vector<Shape>& shapes) {
    graph::Types types;
    for (const Shape& shape : shapes) types.push_back({shape, DType::kF32});
    return types;
  }
  static std::vector<const graph::TensorType*> pointers_to(const graph::Types& types) {
    std::vector<const graph::TensorType*> list;
    for (const graph::TensorType& type : types) list.push_back(&type);
    return list;
  }
  static run::Tile tile_of(const Shape& shape, std::byte* data) {
    return {data, Box::whole(shape), shape.row_major_strides()};
  }

  void fill(const Shape& iterations) {
    std::byte* at = inputs_memory_->first(1).data();
    for (const graph::TensorType& type : types_) {
      auto* const numbers = reinterpret_cast<float*>(at);
      for (std::int64_t n = 0; n < type.shape.elements(); ++n) {
        numbers[n] = static_cast<float>(n * 7919 % 2003 - 1001) / 500;
      }
      task_.inputs.push_back(tile_of(type.shape, at));
      at += room_of(type.shape);
    }
    task_.call = &call_;
    task_.outputs = &outputs_;
    task_.loops = &loops_;
    task_.blocks = {Box::whole(iterations)};
    task_.results = {tile_of(outputs_[0].shape, result_memory_->first(1).data())};
  }

  graph::Types types_;
  std::vector<const graph::TensorType*> pointers_;
  graph::Attributes attributes_;
  graph::Call call_;
  graph::Types outputs_;
  ops::Loops loops_;
  std::unique_ptr<BenchBuffer> inputs_memory_;
  std::unique_ptr<BenchBuffer> result_memory_;
  run::Task task_;
  std::string_view used_;
};

struct MemoryCase {
  std::string_view op;
  std::vector<Shape> shapes;
  double goal = 0;  ///< of memcpy's bandwidth
  graph::Attributes attributes = {};
};

/// Ops on more memory than the caches have.
std::vector<MemoryCase> memory_cases(std::int64_t rows) {
  const auto shape = [](std::vector<std::int64_t> extents) {
    return *Shape::make(std::move(extents));
  };
  const Shape x = shape({rows, 1024});
  const Shape row = shape({1024});
  constexpr double kSimple = 0.7;
  constexpr double kFunction = 0.4;
  return {{"add", {x, x}, kSimple},
          {"mul", {x, x}, kSimple},
          {"relu", {x}, kSimple},
          {"exp", {x}, kFunction},
          {"tanh", {x}, kFunction},
          {"sigmoid", {x}, kFunction},
          {"gelu", {x}, kFunction},
          {"softmax", {x}, kFunction},
          {"layer_norm", {x, row, row}, kFunction},
          {"rms_norm", {x, row}, kFunction},
          {"reduce_sum", {x}, kFunction, {{"axes", std::vector<std::int64_t>{1}}}},
          {"reduce_max", {x}, kFunction, {{"axes", std::vector<std::int64_t>{0}}}}};
}

Status bench_memory_case(const MemoryCase& one, const BenchOptions& options, BenchReport& report) {
  BenchCase result;
  result.name = cat("kernel/", one.op, "/", one.shapes[0][0], "x", one.shapes[0][1]);
  if (!is_chosen(options, result.name)) return ok_status();
  TESSERA_TRY(const std::unique_ptr<KernelTask> task,
              KernelTask::make(one.op, one.shapes, one.attributes));
  // As many bytes read and written.
  const auto copied = static_cast<std::size_t>(task->bytes() / 2);
  TESSERA_TRY(const BenchBuffer from, BenchBuffer::make(static_cast<std::int64_t>(copied)));
  TESSERA_TRY(const BenchBuffer to, BenchBuffer::make(static_cast<std::int64_t>(copied)));
  const auto source = from.first(static_cast<std::int64_t>(copied));
  const auto destination = to.first(static_cast<std::int64_t>(copied));
  TESSERA_CHECK_OK(task->run());
  const std::vector<double> seconds =
      median_seconds({{result.name, [&] { keep(task->run().ok()); }},
                      {"memcpy",
                       [&] {
                         std::memcpy(destination.data(), source.data(), copied);
                         keep(destination[0]);
                       }}},
                     rounds_of(options));
  result.seconds = seconds[0];
  result.elements = task->elements();
  result.outcome = task->used();
  compare(result, "memcpy", seconds[1], one.goal, options);
  report.cases.push_back(std::move(result));
  return ok_status();
}

/// A way of a peer to do the same work; 0 on success.
struct PeerCall {
  std::string name;
  std::function<int(const float* a, const float* b, float* result)> run;
};

/// Whether results agree up to rounding.
bool agree(const float* ours, const std::vector<float>& theirs) {
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const float scale = std::max(1.0F, std::fabs(theirs[i]));
    if (!(std::fabs(ours[i] - theirs[i]) <= 1e-2F * scale)) return false;
  }
  return true;
}

/// An op of two operands with `multiplications`, against all ways of the peers, whose results must
/// agree. The peer to compare with is the fastest of them. A goal of 0 is none.
Status bench_product(BenchCase result, KernelTask& task, const std::vector<PeerCall>& calls,
                     double multiplications, double goal, const BenchOptions& options,
                     BenchReport& report) {
  TESSERA_CHECK_OK(task.run());
  std::vector<float> theirs(static_cast<std::size_t>(task.elements()));
  std::vector<Contender> contenders = {{result.name, [&] { keep(task.run().ok()); }}};
  for (const PeerCall& call : calls) {
    if (call.run(task.input(0), task.input(1), theirs.data()) != 0) continue;
    if (!agree(task.result(), theirs)) {
      return Error{ErrorCode::kContradiction, cat(result.name, " differs from that of ", call.name),
                   std::nullopt, ""};
    }
    contenders.push_back(
        {call.name, [&] { keep(call.run(task.input(0), task.input(1), theirs.data())); }});
  }
  std::vector<double> seconds = median_seconds(contenders, rounds_of(options));
  result.seconds = seconds[0];
  result.elements = task.elements();
  result.outcome = task.used();
  result.figures.emplace_back("gflop_per_second",
                              std::round(2 * multiplications / result.seconds / 1e9));
  for (std::size_t i = 2; i < contenders.size(); ++i) {
    if (seconds[i] >= seconds[1]) continue;
    std::swap(seconds[1], seconds[i]);
    std::swap(contenders[1], contenders[i]);
  }
  if (contenders.size() > 1) {
    compare(result, contenders[1].name, seconds[1], goal, options);
    for (std::size_t i = 2; i < contenders.size(); ++i) {
      result.peers.emplace_back(contenders[i].name, seconds[i]);
    }
  }
  report.cases.push_back(std::move(result));
  return ok_status();
}

/// Products of square matrices.
Status bench_matmul(std::int64_t n, const BenchOptions& options, BenchReport& report) {
  BenchCase result;
  result.name = cat("kernel/matmul/", n, "x", n, "x", n);
  if (!is_chosen(options, result.name)) return ok_status();
  constexpr double kGoal = 0.85;
  const Shape shape = *Shape::make({n, n});
  TESSERA_TRY(const std::unique_ptr<KernelTask> task,
              KernelTask::make("matmul", {shape, shape}, {}));
  std::vector<PeerCall> calls;
  for (const MatmulPeer& peer : load_peers().matmuls) {
    calls.push_back({peer.name, [n, multiply = peer.run](const float* a, const float* b, float* c) {
                       return multiply(n, a, b, c);
                     }});
  }
  return bench_product(std::move(result), *task, calls, static_cast<double>(n * n * n), kGoal,
                       options, report);
}

/// A convolution that leaves images as large as they are.
Status bench_conv(const ConvSizes& sizes, const BenchOptions& options, BenchReport& report) {
  BenchCase result;
  result.name = cat("kernel/conv/", sizes.channels, "x", sizes.rows, "x", sizes.columns, "/",
                    sizes.filters, "x", sizes.window, "x", sizes.window);
  if (!is_chosen(options, result.name)) return ok_status();
  TESSERA_TRY(const Shape x, Shape::make({sizes.batch, sizes.channels, sizes.rows, sizes.columns}));
  TESSERA_TRY(const Shape weights,
              Shape::make({sizes.filters, sizes.channels, sizes.window, sizes.window}));
  TESSERA_TRY(const std::unique_ptr<KernelTask> task,
              KernelTask::make("conv", {x, weights},
                               {{"pads", std::vector<std::int64_t>(4, sizes.padding)}}));
  std::vector<PeerCall> calls;
  for (const ConvPeer& peer : load_peers().convs) {
    calls.push_back({peer.name, [&, convolve = peer.run](const float* a, const float* b, float* c) {
                       return convolve(&sizes, a, b, c);
                     }});
  }
  const auto multiplications =
      static_cast<double>(x.elements() * sizes.filters * sizes.window * sizes.window);
  return bench_product(std::move(result), *task, calls, multiplications, /*goal=*/0, options,
                       report);
}

}  // namespace

Status bench_run_kernels(const BenchOptions& options, BenchReport& report) {
  for (const std::int64_t n :
       options.quick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{256, 2048}) {
    TESSERA_CHECK_OK(bench_matmul(n, options, report));
  }
  const std::int64_t side = options.quick ? 8 : 56;
  const std::int64_t channels = options.quick ? 4 : 64;
  for (const std::int64_t window : {1, 3}) {
    TESSERA_CHECK_OK(bench_conv({.batch = 1,
                                 .channels = channels,
                                 .rows = side,
                                 .columns = side,
                                 .filters = channels,
                                 .window = window,
                                 .padding = window / 2},
                                options, report));
  }
  for (const MemoryCase& one : memory_cases(options.quick ? 16 : 16384)) {
    TESSERA_CHECK_OK(bench_memory_case(one, options, report));
  }
  return ok_status();
}

}  // namespace tessera::tools
