// SPDX-License-Identifier: Apache-2.0
// Well-known models on the default layouts of machines: every op against the same op on whole
// tensors, the same bits with 1, 2 and 8 threads, and a decoder with a cache against a longer
// prompt.
//   models_sweep --quick [MACHINE]   narrow models
//   models_sweep --full [MACHINE]    besides, ResNet-50 on an image of 64x64, BERT-base (2 layers)
//                                    and a decoder of width 512
// on wse2, wormhole and spyre, or on one of them. Prints a line for each run. Returns 1 if one
// differs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/models/models.h"
#include "tessera/graph/random_weights.h"
#include "tessera/run/default_layouts.h"
#include "tessera/run/execute.h"
#include "tessera/run/reference.h"

namespace tessera::run {
namespace {

using Given = std::map<std::string, HostTensor>;

template <typename Element>
HostTensor tensor_of(const graph::TensorType& type, const std::vector<Element>& elements) {
  HostTensor tensor{type, std::string(elements.size() * sizeof(Element), '\0')};
  std::memcpy(tensor.bytes.data(), elements.data(), tensor.bytes.size());
  return tensor;
}

std::vector<float> floats_of(const HostTensor& tensor) {
  std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
  return numbers;
}

/// Compares the results of every op with the op on whole tensors, as --check does.
class AgainstReference : public Observer {
 public:
  AgainstReference(const graph::Graph& graph, const Given& given) : graph_(graph) {
    values_.resize(graph.values.size());
    readers_.resize(graph.values.size());
    for (const graph::Node& node : graph.nodes) {
      for (const graph::ValueId v : node.inputs) {
        if (v != graph::kAbsent) ++readers_[v];
      }
    }
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      const graph::Value& value = graph.values[v];
      const auto found = given.find(value.name);
      if (found != given.end()) {
        values_[v] = found->second;
      } else if (value.data.bytes) {
        values_[v] = HostTensor{value.type, *value.data.bytes};
      }
    }
  }

  Status after(const StepReport& report,
               const std::function<Result<HostTensor>(graph::ValueId)>& value) override {
    const graph::Node& node = graph_.nodes[report.node];
    std::vector<const HostTensor*> inputs;
    for (const graph::ValueId v : node.inputs) {
      inputs.push_back(v == graph::kAbsent ? nullptr : &*values_[v]);
    }
    TESSERA_TRY(const std::vector<HostTensor> expected, evaluate_node(graph_, node, inputs));
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      TESSERA_TRY(HostTensor found, value(node.outputs[o]));
      const DType dtype = found.type.dtype;
      TESSERA_TRY(const double apart, largest_difference(found, expected[o], dtype));
      most = std::max(most, apart);
      if (apart > tolerance_of(dtype) && mistake.empty()) {
        mistake = cat(graph::node_text(graph_, node), " differs by ", std::to_string(apart));
      }
      values_[node.outputs[o]] = std::move(found);
    }
    for (const graph::ValueId v : node.inputs) {
      if (v != graph::kAbsent && --readers_[v] == 0) values_[v].reset();
    }
    return ok_status();
  }

  double most = 0;
  std::string mistake = {};

 private:
  const graph::Graph& graph_;
  std::vector<std::optional<HostTensor>> values_ = {};
  std::vector<std::size_t> readers_ = {};
};

/// Runs a model once with a check of every op, and with other numbers of threads.
class Sweep {
 public:
  bool has_failed() const { return failures_ > 0; }

  /// The outputs, or nothing after a mistake.
  std::optional<std::vector<HostTensor>> run(const std::string& name, const Machine& machine,
                                             const graph::Graph& graph, const Given& given) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string title = cat(name, " on ", machine.name);
    const Result<Execution> execution = compile_with_defaults(graph, machine, {});
    if (!execution) return failed(title, execution.error().message);
    std::vector<HostTensor> outputs;
    double most = 0;
    for (const int threads : {2, 1, 8}) {
      ThreadPool pool(threads);
      const bool is_first = outputs.empty();
      const auto device = device_for(*execution, /*checked=*/is_first);
      if (!device) return failed(title, device.error().message);
      AgainstReference reference(execution->graph, given);
      const Result<RunResult> result =
          execute(*execution, **device, given, pool, is_first ? &reference : nullptr);
      if (!result) return failed(title, result.error().message);
      if (!reference.mistake.empty()) return failed(title, reference.mistake);
      if (is_first) {
        outputs = result->outputs;
        most = reference.most;
      }
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (outputs[o].bytes == result->outputs[o].bytes) continue;
        return failed(title, cat("other bits with ", threads, " threads"));
      }
    }
    std::int64_t panels = 0;
    for (const Step& step : execution->steps) panels += step.panels ? 1 : 0;
    std::int64_t peak = 0;
    for (const SpaceNeed& need : execution->spaces) {
      if (need.space == machine.data_space) peak = need.peak_bytes;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf(
        "%s: %zu ops on %s places, %lld in panels, %lld bytes a place, error %.1e, %.1f s\n",
        title.c_str(), execution->steps.size(), execution->mesh.to_string().c_str(),
        static_cast<long long>(panels), static_cast<long long>(peak), most, seconds.count());
    (void)std::fflush(stdout);
    return outputs;
  }

  std::nullopt_t failed(const std::string& title, const std::string& what) {
    ++failures_;
    std::printf("%s: %s\n", title.c_str(), what.c_str());
    (void)std::fflush(stdout);
    return std::nullopt;
  }

 private:
  int failures_ = 0;
};

std::optional<graph::Graph> model(const std::string& name, const graph::ModelOptions& options) {
  const Result<graph::Graph> made = graph::make_model(name, options);
  if (!made) return std::nullopt;
  Result<graph::Graph> weighted = graph::with_random_weights(*made, 1);
  return weighted ? std::optional(*std::move(weighted)) : std::nullopt;
}

/// Random numbers in [-1, 1), and words below `words`.
Given random_inputs(const graph::Graph& graph, std::int64_t words) {
  Given given;
  for (const graph::ValueId v : graph.of_kind(graph::Kind::kInput)) {
    const graph::Value& value = graph.values[v];
    std::mt19937_64 random(graph::random_stream(value.name));
    const auto count = static_cast<std::size_t>(value.type.shape.elements());
    if (value.type.dtype == DType::kI64) {
      const std::int64_t below = value.name == "ids" ? words : 2;
      std::vector<std::int64_t> numbers;
      for (std::size_t i = 0; i < count; ++i) {
        numbers.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below)));
      }
      given[value.name] = tensor_of(value.type, numbers);
      continue;
    }
    std::vector<float> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      numbers.push_back(static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1));
    }
    given[value.name] = tensor_of(value.type, numbers);
  }
  return given;
}

/// Tokens [first, first + count) of a fixed text, and the rotations of their positions.
Given tokens(const graph::Graph& graph, std::int64_t first, std::int64_t words) {
  Given given;
  for (const graph::ValueId v : graph.of_kind(graph::Kind::kInput)) {
    const graph::Value& value = graph.values[v];
    const Shape& shape = value.type.shape;
    if (value.name == "ids") {
      std::vector<std::int64_t> ids;
      for (std::int64_t t = 0; t < shape[1]; ++t) ids.push_back((first + t) * 37 % words);
      given[value.name] = tensor_of(value.type, ids);
    } else if (value.name == "cos" || value.name == "sin") {
      std::vector<float> turns;
      for (std::int64_t t = 0; t < shape[0]; ++t) {
        for (std::int64_t i = 0; i < shape[1]; ++i) {
          const std::int64_t pair = i % (shape[1] / 2);
          const double speed =
              std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(shape[1]));
          const double angle = static_cast<double>(first + t) * speed;
          turns.push_back(
              static_cast<float>(value.name == "cos" ? std::cos(angle) : std::sin(angle)));
        }
      }
      given[value.name] = tensor_of(value.type, turns);
    }
  }
  return given;
}

/// A prompt, then eight tokens one by one with the cache of those before: the logits of the last
/// are those of a prompt with all tokens, up to rounding.
void decode(Sweep& sweep, const Machine& machine, graph::ModelOptions options,
            std::int64_t prompt) {
  constexpr std::int64_t kSteps = 8;
  const std::int64_t words = options.vocabulary.value_or(1);
  options.past = 0;
  options.sequence = prompt;
  std::optional<graph::Graph> graph = model("llama", options);
  if (!graph) return;
  auto made = sweep.run("llama, prompt", machine, *graph, tokens(*graph, 0, words));
  options.sequence.reset();
  for (std::int64_t step = 0; step < kSteps && made; ++step) {
    Given cache;
    for (std::size_t o = 0; o + 1 < made->size(); ++o) {
      // "layer0.keys" becomes "layer0.past_keys".
      std::string name = graph->values[graph->outputs[o]].name;
      name.insert(name.find('.') + 1, "past_");
      cache[name] = (*made)[o];
    }
    options.past = prompt + step;
    graph = model("llama", options);
    if (!graph) return;
    cache.merge(tokens(*graph, prompt + step, words));
    made = sweep.run(cat("llama, step ", step + 1), machine, *graph, cache);
  }
  if (!made) return;
  const std::vector<float> found = floats_of(made->back());
  options.past = 0;
  options.sequence = prompt + kSteps;
  graph = model("llama", options);
  if (!graph) return;
  const auto whole = sweep.run("llama, all tokens", machine, *graph, tokens(*graph, 0, words));
  if (!whole) return;
  const std::vector<float> all = floats_of(whole->back());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const float expected = all[all.size() - found.size() + i];
    if (std::fabs(found[i] - expected) <= 1e-3F * (1 + std::fabs(expected))) continue;
    (void)sweep.failed(cat("llama on ", machine.name),
                       "the cache gives other logits than a prompt with all tokens");
    return;
  }
}

void run_bert(Sweep& sweep, const Machine& machine, const graph::ModelOptions& options) {
  const auto graph = model("bert-base", options);
  if (!graph) return;
  const std::int64_t words = options.vocabulary.value_or(30522);
  (void)sweep.run("bert-base", machine, *graph, random_inputs(*graph, words));
}

int sweep_all(bool quick, const std::string& only) {
  Sweep sweep;
  for (const char* const name : {"wse2", "wormhole", "spyre"}) {
    if (!only.empty() && only != name) continue;
    const Result<const Machine*> found = find_machine(name);
    if (!found) return 1;
    const Machine& machine = **found;
    run_bert(sweep, machine,
             {.layers = 2, .sequence = 16, .hidden = 64, .heads = 4, .vocabulary = 128});
    decode(sweep, machine,
           {.layers = 4, .hidden = 64, .heads = 4, .kv_heads = 2, .vocabulary = 128}, 6);
    if (quick) continue;
    if (const auto graph = model("resnet50", {.image = 64})) {
      (void)sweep.run("resnet50", machine, *graph, random_inputs(*graph, 2));
    }
    run_bert(sweep, machine, {.layers = 2});
    decode(sweep, machine,
           {.layers = 4, .hidden = 512, .heads = 8, .kv_heads = 2, .vocabulary = 8192}, 16);
  }
  return sweep.has_failed() ? 1 : 0;
}

}  // namespace
}  // namespace tessera::run

int main(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) words.emplace_back(argv[i]);
  const bool is_asked = words.size() == 1 || words.size() == 2;
  const bool quick = is_asked && words[0] == "--quick";
  if (quick || (is_asked && words[0] == "--full")) {
    return tessera::run::sweep_all(quick, words.size() == 2 ? words[1] : "");
  }
  std::fprintf(stderr, "usage: %s --quick | --full [MACHINE]\n", argv[0]);
  return 2;
}
