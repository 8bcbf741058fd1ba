// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/figures.h"
#include "tessera/graph/graph_json.h"
#include "tessera/graph/hash.h"
#include "tessera/graph/models/models.h"
#include "tessera/graph/passes/decompose.h"
#include "tessera/graph/passes/fuse.h"
#include "tools/command/command.h"
#include "tools/files/mapped_file.h"
#include "tools/files/text_file.h"
#include "tools/graph/read_graph.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Error usage(std::string message, std::string help) {
  return Error{ErrorCode::kUsage, std::move(message), std::nullopt, std::move(help)};
}

Json value_json(const graph::Value& value) {
  Json json;
  json["name"] = value.name;
  json["shape"] = value.type.shape.extents();
  json["dtype"] = dtype_name(value.type.dtype);
  return json;
}

Json groups_json(const graph::Graph& graph, const std::vector<graph::Group>& groups) {
  Json json = Json::array();
  const auto names = [&](const std::vector<graph::ValueId>& values) {
    Json list = Json::array();
    for (const graph::ValueId v : values) list.push_back(graph.values[v].name);
    return list;
  };
  for (const graph::Group& group : groups) {
    Json each;
    each["kind"] = graph::group_kind_name(group.kind);
    each["nodes"] = Json::array();
    each["ops"] = Json::array();
    for (const std::size_t n : group.nodes) {
      each["nodes"].push_back(static_cast<std::int64_t>(n));
      each["ops"].push_back(graph.nodes[n].op.name());
    }
    each["inputs"] = names(group.inputs);
    each["outputs"] = names(group.outputs);
    json.push_back(std::move(each));
  }
  return json;
}

/// The groups by kind, and how many nodes they hold: "contraction 3 (9 nodes)".
std::string groups_text(const std::vector<graph::Group>& groups) {
  std::map<std::string_view, std::pair<std::int64_t, std::int64_t>> kinds;
  for (const graph::Group& group : groups) {
    auto& [count, nodes] = kinds[graph::group_kind_name(group.kind)];
    ++count;
    nodes += std::ssize(group.nodes);
  }
  std::string out = "groups\n";
  for (const auto& [kind, counts] : kinds) {
    out += cat("  ", kind, " ", counts.first, " (", count_of(counts.second, "node"), ")\n");
  }
  return out;
}

/// The ops of --decompose: names with commas between them, or all.
std::vector<std::string> ops_to_decompose(const std::string& text) {
  if (text == "all") {
    const std::vector<std::string_view> names = graph::decomposable_ops();
    return {names.begin(), names.end()};
  }
  std::vector<std::string> ops;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    ops.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return ops;
}

std::string answer_json(const ReadGraph& read, bool fuses) {
  const graph::Figures figures = graph::figures_of(read.graph);
  Json json;
  json["name"] = read.graph.name;
  json["nodes"] = figures.nodes;
  json["values"] = figures.values;
  json["parameters"] = figures.parameters;
  json["parameter_bytes"] = figures.parameter_bytes;
  json["flops"] = figures.flops;
  json["bytes"] = figures.bytes;
  json["moved_bytes"] = figures.moved_bytes;
  json["ops"] = Json::object();
  for (const auto& [op, count] : figures.ops) json["ops"][op] = count;
  json["unsupported"] = Json::array();
  for (const onnx_import::Unsupported& each : read.unsupported) {
    json["unsupported"].push_back({{"node", each.node}, {"op", each.op}, {"reason", each.reason}});
  }
  json["inputs"] = Json::array();
  for (const graph::ValueId v : read.graph.of_kind(graph::Kind::kInput)) {
    json["inputs"].push_back(value_json(read.graph.values[v]));
  }
  json["outputs"] = Json::array();
  for (const graph::ValueId v : read.graph.outputs) {
    json["outputs"].push_back(value_json(read.graph.values[v]));
  }
  if (fuses) json["groups"] = groups_json(read.graph, graph::fuse(read.graph));
  json["hash"] = graph::hash(read.graph).to_string();
  return dump(json);
}

/// 4089284608 is "4.09 G".
std::string short_number(std::int64_t number) {
  constexpr std::string_view kUnits = " KMGTPE";
  std::size_t unit = 0;
  double value = static_cast<double>(number);
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return std::to_string(number);
  const std::int64_t hundredths = std::llround(value * 100);
  const std::string fraction = std::to_string(100 + hundredths % 100).substr(1);
  return cat(hundredths / 100, ".", fraction, " ", kUnits[unit]);
}

std::string answer_text(const ReadGraph& read, const Terminal& terminal, bool fuses) {
  const graph::Figures figures = graph::figures_of(read.graph);
  std::string out =
      paint(terminal, Paint::kHeading,
            cat(read.graph.name.empty() ? "graph" : printable(read.graph.name), ": ",
                count_of(figures.nodes, "node"), ", ", count_of(figures.values, "value")));
  out += cat("\n  ", short_number(figures.parameters), " parameters in ",
             short_number(figures.parameter_bytes), "B, ", short_number(figures.flops),
             " operations, ", short_number(figures.bytes), "B of values, ",
             short_number(figures.moved_bytes), "B read and written\n");
  const auto list = [&](std::string_view title, const std::vector<graph::ValueId>& values) {
    constexpr std::size_t kMost = 12;
    if (!values.empty()) out += cat(title, "\n");
    for (std::size_t i = 0; i < std::min(values.size(), kMost); ++i) {
      const graph::Value& value = read.graph.values[values[i]];
      out += cat("  ", printable(value.name), "  ", value.type.to_string(), "\n");
    }
    if (values.size() > kMost) out += cat("  and ", values.size() - kMost, " more\n");
  };
  list("inputs", read.graph.of_kind(graph::Kind::kInput));
  list("outputs", read.graph.outputs);
  if (!figures.ops.empty()) out += "ops\n";
  std::string ops;
  for (const auto& [op, count] : figures.ops) ops += cat(ops.empty() ? "" : ", ", op, " ", count);
  if (!ops.empty()) out += wrap(ops, terminal, "  ", "  ");
  if (fuses) out += groups_text(graph::fuse(read.graph));
  if (!read.unsupported.empty()) {
    out += paint(terminal, Paint::kError,
                 cat("not supported: ",
                     count_of(static_cast<std::int64_t>(read.unsupported.size()), "node")));
    out += "\n";
    for (const onnx_import::Unsupported& each : read.unsupported) {
      out +=
          wrap(cat(printable(each.node), " (", printable(each.op), "): ", printable(each.reason)),
               terminal, "  ", "    ");
    }
  }
  return out;
}

Result<graph::Graph> make(const Request& request) {
  graph::ModelOptions options;
  const auto number = [&](std::string_view name, std::int64_t& out) {
    if (request.has(name)) out = request.number(name);
  };
  number("batch", options.batch);
  number("layers", options.layers);
  number("sequence", options.sequence);
  number("past", options.past);
  number("hidden", options.hidden);
  number("heads", options.heads);
  number("image", options.image);
  if (request.has("dtype")) {
    const std::optional<DType> dtype = parse_dtype(request.text("dtype"));
    if (!dtype || !graph::is_float(*dtype)) {
      return usage(cat("--dtype ", quote(request.text("dtype")), " is no float type"),
                   "such as f32, bf16 or f16");
    }
    options.dtype = *dtype;
  }
  return graph::make_model(request.text("make"), options);
}

/// Reports an error with its position in the file.
Verdict report_in(const std::string& name, std::string_view text, const Error& error,
                  Console& console) {
  if (console.json) {
    Json json = error_json(error);
    json["error"]["file"] = name;
    console.out << dump(json) << '\n';
  } else {
    console.err << render(error, error.span ? text : "", name);
  }
  return Verdict::kBadInput;
}

Result<Verdict> run(const Request& request, Console& console) {
  if (request.has("file") == request.has("make")) {
    return usage("a graph comes from a FILE or from --make", "give one of them");
  }
  if (request.has("out")) TESSERA_CHECK_OK(check_folder_of(request.text("out")));
  ReadGraph read;
  if (request.has("make")) {
    TESSERA_TRY(read.graph, make(request));
  } else {
    TESSERA_TRY(onnx_import::ImportOptions options,
                read_bindings(request.text("dim"), request.text("shape")));
    const std::string& file = request.text("file");
    const bool is_standard_input = file == "-";
    const std::size_t slash = file.rfind('/');
    options.folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
    TESSERA_TRY(const std::string bytes, is_standard_input
                                             ? read_text_stream(console.in, graph::kMaxGraphBytes)
                                             : read_text_file(file, graph::kMaxGraphBytes));
    Result<ReadGraph> found = read_graph(bytes, options);
    if (!found)
      return report_in(is_standard_input ? "<stdin>" : file, bytes, found.error(), console);
    read = *std::move(found);
  }
  if (request.has("decompose")) {
    TESSERA_TRY(read.graph, graph::with_decomposed_ops(
                                read.graph, ops_to_decompose(request.text("decompose"))));
  }
  if (request.has("out")) {
    TESSERA_CHECK_OK(write_whole(request.text("out"), graph::to_json(read.graph)));
  }
  console.out << (console.json ? answer_json(read, request.has("fuse")) + "\n"
                               : answer_text(read, console.terminal, request.has("fuse")));
  return read.unsupported.empty() ? Verdict::kYes : Verdict::kNo;
}

}  // namespace

Verb graph_verb() {
  Verb verb;
  verb.name = "graph";
  verb.is_question = false;  // reading a model is not one
  verb.summary = "what a model is: ops, shapes, parameters, arithmetic, and what is unsupported";
  verb.description =
      "Reads a model as JSON (docs/graph.md) or ONNX (docs/onnx.md), infers the type of every "
      "value and prints what the model consists of. Dims that an ONNX model leaves open are bound "
      "by --dim and --shape. Nodes that are not supported are all listed, with the reasons; the "
      "exit status is then 1. With --make, a well-known model is generated instead: mlp, resnet50, "
      "mobilenet-v2, bert-base, llama, unet-block, mlp-mixer. --decompose writes ops "
      "with simpler ones: softmax, layer_norm, gelu, attention and others, or all of these. --fuse "
      "lists the groups of nodes that can run as one. --out writes the graph as JSON.\n\n"
      "parameters counts elements; flops counts a multiplication and an addition as two; bytes is "
      "the size of all values together; moved_bytes is what nodes read and write if nothing stays "
      "in a cache.";
  verb.positionals = {{"file", Positional::Kind::kFile, "a model; - is standard input", {}, true}};
  verb.flags = {
      {"dim", ValueKind::kText, "NAMES", "extents of symbolic dims: batch=8,tokens=128"},
      {"shape", ValueKind::kText, "SHAPES", "shapes of inputs: 'x=1,3,224,224;y=1,10'"},
      {"make", ValueKind::kText, "MODEL", "generate this model instead of reading one"},
      {"batch", ValueKind::kNumber, "N", "with --make: the batch"},
      {"layers", ValueKind::kNumber, "N", "with --make: blocks of bert-base, llama, mlp-mixer"},
      {"sequence", ValueKind::kNumber, "N", "with --make: tokens of bert-base and llama"},
      {"past", ValueKind::kNumber, "N", "with --make llama: tokens in the cache, for decoding"},
      {"hidden", ValueKind::kNumber, "N", "with --make: the width"},
      {"heads", ValueKind::kNumber, "N", "with --make: heads of bert-base and llama"},
      {"image", ValueKind::kNumber, "N", "with --make: rows and columns of images"},
      {"dtype", ValueKind::kText, "T", "with --make: the type of weights and activations"},
      {"decompose", ValueKind::kText, "OPS",
       "write these ops with simpler ones: softmax,gelu or all"},
      {"fuse", ValueKind::kSwitch, "", "list the groups of nodes that can run as one"},
      {"out", ValueKind::kText, "FILE", "write the graph as JSON"}};
  verb.examples = {"tessera graph --make resnet50 --out resnet50.json",
                   "tessera graph resnet50.json --json",
                   "tessera graph --make llama --layers 32 --past 1000 --dtype bf16"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
