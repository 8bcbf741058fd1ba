// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/run/run_law.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/notation/tensor.h"
#include "tessera/run/elements.h"
#include "tessera/run/kernels/kernel.h"
#include "tessera/testing/ops/propagate_law.h"

namespace tessera::test {

Machine small_machine(const std::vector<std::int64_t>& mesh, std::int64_t bytes) {
  const Result<Machine> machine = parse_machine(
      cat("{\"name\": \"small\", \"mesh\": ", bracketed(mesh),
          ", \"memory\": [{\"name\": \"sram\", \"bytes\": ", bytes, ", \"align_bytes\": 16}]}"));
  return *machine;
}

Machine machine_with_banks(const std::vector<std::int64_t>& mesh, std::int64_t bytes) {
  const Result<Machine> machine = parse_machine(
      cat("{\"name\": \"small\", \"mesh\": ", bracketed(mesh),
          ", \"memory\": [{\"name\": \"sram\", \"bytes\": ", bytes,
          ", \"align_bytes\": 16}, {\"name\": \"dram\", \"per\": \"bank\", \"banks\": 3, "
          "\"bytes\": ",
          bytes, ", \"align_bytes\": 32}]}"));
  return *machine;
}

OneNode graph_of(const OpCase& made) {
  graph::GraphBuilder builder("one");
  OneNode one;
  std::vector<graph::ValueId> inputs;
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    if (!made.inputs[i]) {
      inputs.push_back(graph::kAbsent);
      continue;
    }
    const std::string name = cat("x", i);
    const graph::TensorType& type = made.inputs[i]->type;
    inputs.push_back(*builder.input(name, type.shape.extents(), type.dtype));
    one.inputs[name] = *made.inputs[i];
  }
  std::vector<std::string> outputs;
  for (std::size_t o = 0; o < made.outputs; ++o) outputs.push_back(cat("y", o));
  const auto results = *builder.add_node("node", made.op.name(), inputs, outputs, made.attributes);
  for (const graph::ValueId v : results) (void)builder.output(v);
  one.graph = std::move(builder).finish();
  return one;
}

run::HostTensor host_tensor(const NaiveTensor& tensor) {
  const DType dtype = tensor.type.dtype;
  const DType compute = run::compute_type(dtype);
  const auto count = static_cast<std::int64_t>(tensor.elements.size());
  std::vector<std::byte> numbers(static_cast<std::size_t>(count * 8));
  for (std::size_t i = 0; i < tensor.elements.size(); ++i) {
    std::byte* const at =
        numbers.data() + i * static_cast<std::size_t>(run::compute_bytes(compute));
    const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    if (compute == DType::kF32) {
      put(static_cast<float>(tensor.elements[i]));
    } else if (compute == DType::kF64) {
      put(static_cast<double>(tensor.elements[i]));
    } else if (compute == DType::kU64) {
      put(static_cast<std::uint64_t>(tensor.elements[i]));
    } else {
      put(static_cast<std::int64_t>(tensor.elements[i]));
    }
  }
  run::HostTensor host{tensor.type, {}};
  host.bytes.resize(static_cast<std::size_t>(tensor.type.bytes()));
  (void)run::from_compute(numbers.data(), dtype, std::as_writable_bytes(std::span(host.bytes)),
                          count);
  return host;
}

NaiveTensor naive_of(const run::HostTensor& tensor) {
  return naive_tensor(tensor.type, graph::Data::of_bytes(tensor.bytes))
      .value_or(NaiveTensor{tensor.type, {}});
}

std::vector<Layout> random_layouts(Dice& dice, const graph::Graph& graph, const Shape& mesh) {
  std::vector<Layout> layouts;
  for (const graph::Value& value : graph.values) {
    const Layout layout = random_division(dice, value.type, mesh);
    LayoutSpec spec = layout.spec();
    const DType dtype = value.type.dtype;
    const bool can_combine = dtype == DType::kF32 || dtype == DType::kI64;
    for (Fill& fill : spec.form.fills) {
      if (fill.kind == Fill::Kind::kReplicate && can_combine && dice.chance(15)) {
        fill = Fill::partial(fill.axis, fill.count, Reduction::kSum);
      }
    }
    const bool is_whole = std::ranges::none_of(
        spec.form.fills, [](const Fill& fill) { return fill.kind == Fill::Kind::kPartial; });
    if (is_whole && dice.chance(15)) spec.space = "dram";
    Result<Layout> changed = Layout::make(std::move(spec));
    layouts.push_back(changed ? *std::move(changed) : layout);
  }
  return layouts;
}

Tolerance tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {1e-9L, 1e-9L};
    case DType::kF32:
      return {1e-5L, 1e-4L};
    case DType::kF16:
      return {1e-2L, 1e-2L};
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return {1.0L / 16, 1.0L / 16};
    default:
      return {};
  }
}

std::string apart(const NaiveTensor& found, const NaiveTensor& wanted, Tolerance tolerance) {
  if (!(found.type == wanted.type)) {
    return cat(found.type.to_string(), " instead of ", wanted.type.to_string());
  }
  if (found.elements.size() != wanted.elements.size()) return "other numbers of elements";
  for (std::size_t e = 0; e < wanted.elements.size(); ++e) {
    const long double a = found.elements[e];
    const long double b = wanted.elements[e];
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                      std::fabs(a - b) <= tolerance.absolute + tolerance.relative * std::fabs(b);
    if (same) continue;
    return cat("element ", e, " is ", std::to_string(static_cast<double>(a)), ", expected ",
               std::to_string(static_cast<double>(b)));
  }
  return "";
}

std::string run_law(Dice& dice, const graph::Graph& graph,
                    const std::map<std::string, NaiveTensor>& inputs,
                    const std::vector<std::int64_t>& mesh, const run::CompileOptions& options,
                    int* cut) {
  const auto expected = naive_evaluate(graph, inputs);
  if (!expected) return "the evaluator does not know the graph";
  const Machine machine = machine_with_banks(mesh);
  const std::vector<Layout> layouts = random_layouts(dice, graph, machine.shape());
  std::string texts;
  for (std::size_t v = 0; v < layouts.size(); ++v) {
    texts += cat("\n  ", graph.values[v].name, ": ", print_native(Placement(layouts[v])));
  }
  const Result<run::Execution> execution = run::compile(graph, machine, layouts, options);
  if (!execution) return cat("compile: ", execution.error().message, texts);
  for (const run::Step& step : execution->steps) {
    if (cut != nullptr && step.panels) ++*cut;
  }
  std::map<std::string, run::HostTensor> given;
  for (const auto& [name, tensor] : inputs) given[name] = host_tensor(tensor);
  std::vector<run::HostTensor> first;
  for (const int threads : {1, 2, 8}) {
    ThreadPool pool(threads);
    const auto device = run::device_for(*execution, true);
    if (!device) return cat("device: ", device.error().message);
    const Result<run::RunResult> result = run::execute(*execution, **device, given, pool);
    if (!result) return cat("run: ", result.error().message, texts);
    if (first.empty()) {
      for (std::size_t o = 0; o < expected->size(); ++o) {
        const NaiveTensor& wanted = (*expected)[o];
        const std::string wrong =
            apart(naive_of(result->outputs[o]), wanted, tolerance_of(wanted.type.dtype));
        if (!wrong.empty()) return cat("output ", o, ": ", wrong, texts);
      }
      first = result->outputs;
    }
    for (std::size_t o = 0; o < first.size(); ++o) {
      if (first[o].bytes != result->outputs[o].bytes) {
        return cat("output ", o, " has other bits with ", threads, " threads", texts);
      }
    }
  }
  return "";
}

}  // namespace tessera::test
