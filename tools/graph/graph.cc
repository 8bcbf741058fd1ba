// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/graph_json.h"
#include "tessera/graph/models/models.h"
#include "tessera/graph/passes/decompose.h"
#include "tools/command/command.h"
#include "tools/files/mapped_file.h"
#include "tools/files/replace_file.h"
#include "tools/files/text_file.h"
#include "tools/graph/graph_print.h"
#include "tools/graph/graph_svg.h"
#include "tools/graph/onnx_module.h"
#include "tools/graph/read_graph.h"
#include "tools/graph/write_onnx.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Error usage(std::string message, std::string help) {
  return Error{ErrorCode::kUsage, std::move(message), std::nullopt, std::move(help)};
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

bool is_onnx_name(const std::string& file) { return std::string_view(file).ends_with(".onnx"); }

/// Checks what can be wrong with the output files before any work.
Status check_output_files(const Request& request) {
  const bool has_out = request.has("out");
  if (request.has("seed") && !(has_out && is_onnx_name(request.text("out")))) {
    return usage("--seed is for the random weights of an ONNX file", "as in --out model.onnx");
  }
  for (const std::string_view name : {"out", "svg"}) {
    if (!request.has(name)) continue;
    const std::string& file = request.text(name);
    if (file.empty() || file == "-") {
      return usage(cat("--", name, " names no file"),
                   name == "svg" ? "as in --svg model.svg" : "as in --out model.json");
    }
    TESSERA_CHECK_OK(check_folder_of(file));
  }
  if (request.has("svg") && has_out && is_one_file(request.text("svg"), request.text("out"))) {
    return usage("--svg and --out name the same file", "name two different files");
  }
  if (request.has("svg") && request.has("file") &&
      is_one_file(request.text("svg"), request.text("file"))) {
    return usage("--svg names the file of the model, which the drawing would overwrite",
                 "name another file for the drawing");
  }
  // A missing module is better known before the work than after it.
  if (has_out && is_onnx_name(request.text("out"))) TESSERA_CHECK_OK(load_onnx_module());
  return ok_status();
}

/// The graph of FILE or of --make. nullopt after an error that was reported with its position.
Result<std::optional<ReadGraph>> read(const Request& request, Console& console) {
  ReadGraph read;
  if (request.has("make")) {
    TESSERA_TRY(read.graph, make(request));
    return std::optional(std::move(read));
  }
  TESSERA_TRY(onnx_import::ImportOptions options,
              read_bindings(request.text("dim"), request.text("shape")));
  const std::string& file = request.text("file");
  const bool is_standard_input = file == "-";
  options.folder = folder_of(file);
  TESSERA_TRY(const std::string bytes, is_standard_input
                                           ? read_text_stream(console.in, graph::kMaxGraphBytes)
                                           : read_text_file(file, graph::kMaxGraphBytes));
  Result<ReadGraph> found = read_graph(bytes, options);
  if (found) return std::optional(*std::move(found));
  report_in(is_standard_input ? "<stdin>" : file, bytes, found.error(), console);
  return std::optional<ReadGraph>();
}

Result<Verdict> run(const Request& request, Console& console) {
  if (request.has("file") == request.has("make")) {
    return usage("a graph comes from a FILE or from --make", "give one of them");
  }
  TESSERA_CHECK_OK(check_output_files(request));
  TESSERA_TRY(std::optional<ReadGraph> found, read(request, console));
  if (!found) return Verdict::kBadInput;
  GraphAnswer answer{*std::move(found), request.has("fuse")};
  graph::Graph& graph = answer.read.graph;
  if (request.has("decompose")) {
    TESSERA_TRY(graph,
                graph::with_decomposed_ops(graph, ops_to_decompose(request.text("decompose"))));
  }
  if (request.has("out") && is_onnx_name(request.text("out"))) {
    const std::int64_t seed = request.has("seed") ? request.number("seed") : 0;
    TESSERA_TRY(answer.random_weights, write_onnx(graph, request.text("out"), seed));
  } else if (request.has("out")) {
    TESSERA_CHECK_OK(write_whole(request.text("out"), graph::to_json(graph)));
  }
  if (request.has("svg")) {
    TESSERA_CHECK_OK(write_whole(request.text("svg"), graph_svg(graph)));
  }
  console.out << (console.json ? graph_json(answer) + "\n" : graph_text(answer, console.terminal));
  return answer.read.unsupported.empty() ? Verdict::kYes : Verdict::kNo;
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
      "lists the groups of nodes that can run as one. --out writes the graph: as ONNX if the name "
      "ends in .onnx, else as JSON. ONNX needs the elements of weights; those that the graph does "
      "not have are random, and above 1 GiB they go to NAME.onnx.data. What ONNX cannot express is "
      "all listed, and nothing is written. "
      "--svg draws the graph, repeated layers once.\n\n"
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
      {"out", ValueKind::kText, "FILE", "write the graph: NAME.onnx as ONNX, others as JSON"},
      {"svg", ValueKind::kText, "FILE", "draw the graph"},
      {"seed", ValueKind::kNumber, "N", "with --out NAME.onnx: of the random weights, default 0"}};
  verb.examples = {"tessera graph --make resnet50 --out resnet50.json",
                   "tessera graph --make mlp --out mlp.onnx", "tessera graph resnet50.json --json",
                   "tessera graph --make llama --layers 32 --past 1000 --dtype bf16"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
