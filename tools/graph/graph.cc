// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/graph.h"

#include <atomic>
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
#include "tools/graph/graph_flags.h"
#include "tools/graph/graph_print.h"
#include "tools/graph/graph_svg.h"
#include "tools/graph/read_graph.h"
#include "tools/graph/write_onnx.h"
#include "tools/json/json.h"
#include "tools/terminal/progress.h"

namespace tessera::tools {
namespace {

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

/// The graph of FILE or of --make. nullopt after an error that was reported with its position;
/// `line` is removed before.
Result<std::optional<ReadGraph>> read(const Request& request, Console& console,
                                      std::optional<LiveLine>& line) {
  ReadGraph read;
  if (request.has("make")) {
    TESSERA_TRY(const graph::ModelOptions options, read_model_options(request));
    TESSERA_TRY(read.graph, graph::make_model(request.text("make"), options));
    return std::optional(std::move(read));
  }
  TESSERA_TRY(onnx_import::ImportOptions options, read_bindings(request));
  const std::string& file = request.text("file");
  const bool is_standard_input = file == "-";
  options.folder = folder_of(file);
  TESSERA_TRY(const std::string bytes, is_standard_input
                                           ? read_text_stream(console.in, graph::kMaxGraphBytes)
                                           : read_text_file(file, graph::kMaxGraphBytes));
  const GraphFormat format = is_standard_input ? GraphFormat::kUnknown : format_of_name(file);
  Result<ReadGraph> found = read_graph(bytes, format, options);
  if (found) return std::optional(*std::move(found));
  if (found.error().code == ErrorCode::kUsage) return found.error();
  line.reset();
  report_in(is_standard_input ? "<stdin>" : file, bytes, found.error(), console);
  return std::optional<ReadGraph>();
}

/// Decomposes ops, and counts the nodes that are written with others by op.
Status decompose(const std::string& text, GraphAnswer& answer) {
  const std::vector<std::string> ops = read_ops_to_decompose(text);
  graph::Graph& graph = answer.read.graph;
  const auto before = graph::figures_of(graph).ops;
  TESSERA_TRY(graph, graph::with_decomposed_ops(graph, ops));
  const auto after = graph::figures_of(graph).ops;
  const auto count = [](const auto& counts, const std::string& op) {
    const auto at = counts.find(op);
    return at == counts.end() ? 0 : at->second;
  };
  answer.decomposed.emplace();
  for (const std::string& op : ops) {
    const std::int64_t gone = count(before, op) - count(after, op);
    if (gone > 0) answer.decomposed->emplace(op, gone);
  }
  return ok_status();
}

/// Writes what --out and --svg name. A graph without the nodes that are not supported would be
/// another model, so --out does not write it.
Status write_files(const Request& request, GraphAnswer& answer) {
  const graph::Graph& graph = answer.read.graph;
  const std::string& file = request.text("out");
  if (request.has("out") && !answer.read.unsupported.empty()) {
    answer.not_written = file;
  } else if (request.has("out")) {
    if (format_of_name(file) == GraphFormat::kOnnx) {
      const std::int64_t seed = request.has("seed") ? request.number("seed") : 0;
      TESSERA_TRY(answer.random_weights, write_onnx(graph, file, seed));
    } else {
      TESSERA_CHECK_OK(write_whole(file, graph::to_json(graph)));
    }
    answer.written.push_back(file);
    if (answer.random_weights && !answer.random_weights->file.empty()) {
      answer.written.push_back(answer.random_weights->file);
    }
  }
  if (request.has("svg")) {
    TESSERA_CHECK_OK(write_whole(request.text("svg"), graph_svg(graph)));
    answer.written.push_back(request.text("svg"));
  }
  return ok_status();
}

Result<Verdict> run(const Request& request, Console& console) {
  TESSERA_CHECK_OK(check_graph_flags(request));
  // Graphs of some million nodes take seconds.
  std::atomic<const char*> work = request.has("make") ? "making the model" : "reading the model";
  std::optional<LiveLine> line(
      std::in_place, console.err, console.terminal.shows_progress,
      [&](double seconds) { return cat(work.load(), "  ", static_cast<int>(seconds), " s"); });
  TESSERA_TRY(std::optional<ReadGraph> found, read(request, console, line));
  if (!found) return Verdict::kBadInput;
  GraphAnswer answer{*std::move(found), request.has("fuse")};
  work = "decomposing ops";
  if (request.has("decompose")) {
    TESSERA_CHECK_OK(decompose(request.text("decompose"), answer));
  }
  work = "writing files";
  TESSERA_CHECK_OK(write_files(request, answer));
  work = "adding up";
  const std::string text =
      console.json ? graph_json(answer) + "\n" : graph_text(answer, console.terminal);
  line.reset();
  console.out << text;
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
      "by --dim and --shape. If nodes are not supported, all of them are listed with the reasons, "
      "the exit status is 1, and --out writes nothing. With --make, a well-known model is "
      "generated instead: mlp, resnet50, mobilenet-v2, bert-base, llama, unet-block, mlp-mixer. "
      "--decompose replaces ops by simpler ones: softmax, layer_norm, gelu, attention and others, "
      "or all of these. --fuse lists the groups of nodes that can run as one. --out writes the "
      "graph: as ONNX if the name ends in .onnx, else as JSON. ONNX needs the elements of weights; "
      "those that the graph does not have are random, and above 1 GiB they go to NAME.onnx.data. "
      "If ONNX cannot express the graph, all reasons are listed and nothing is written. --svg "
      "draws the graph, repeated layers once.\n\n"
      "parameters counts elements; flops counts a multiplication and an addition as two; bytes is "
      "the size of all values together; moved_bytes is what nodes read and write if nothing stays "
      "in a cache.";
  verb.positionals = {{"file", Positional::Kind::kFile, "a model; - is standard input", {}, true}};
  verb.flags = {
      {"dim", ValueKind::kText, "NAMES", "extents of symbolic dims: batch=8,tokens=128"},
      {"shape", ValueKind::kText, "SHAPES", "shapes of inputs: 'x=1,3,224,224;y=1,10'"},
      {"make", ValueKind::kText, "MODEL", "generate this model instead of reading one"},
      {"batch-size", ValueKind::kNumber, "N", "with --make: the batch size"},
      {"layers", ValueKind::kNumber, "N", "with --make: blocks of bert-base, llama, mlp-mixer"},
      {"sequence", ValueKind::kNumber, "N", "with --make: tokens of bert-base and llama"},
      {"past", ValueKind::kNumber, "N",
       "with --make llama: tokens in the cache, which is returned; 0 for the prompt"},
      {"hidden", ValueKind::kNumber, "N",
       "with --make: the width of bert-base, llama, mlp-mixer, unet-block"},
      {"heads", ValueKind::kNumber, "N", "with --make: heads of bert-base and llama"},
      {"kv-heads", ValueKind::kNumber, "N", "with --make llama: heads of keys and values"},
      {"vocabulary", ValueKind::kNumber, "N",
       "with --make: size of the vocabulary of bert-base and llama"},
      {"image", ValueKind::kNumber, "N", "with --make: rows and columns of images"},
      {"dtype", ValueKind::kText, "T", "with --make: the type of weights and activations"},
      {"decompose", ValueKind::kText, "OPS",
       "replace these ops by simpler ones: softmax,gelu or all"},
      {"fuse", ValueKind::kSwitch, "", "list the groups of nodes that can run as one"},
      {"out", ValueKind::kText, "FILE", "write the graph: NAME.onnx as ONNX, others as JSON"},
      {"svg", ValueKind::kText, "FILE", "draw the graph"},
      {"seed", ValueKind::kNumber, "N",
       "with --out NAME.onnx: seed of the random weights; default 0"}};
  verb.examples = {"tessera graph --make resnet50 --out resnet50.json",
                   "tessera graph --make mlp --out mlp.onnx", "tessera graph resnet50.json --json",
                   "tessera graph --make llama --layers 32 --past 1000 --dtype bf16"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
