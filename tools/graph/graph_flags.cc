// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/graph_flags.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/passes/decompose.h"
#include "tools/command/usage.h"
#include "tools/files/mapped_file.h"
#include "tools/graph/onnx_module.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// The parts of a text between separators: {"a", "", "b"} of "a,,b", and {""} of "".
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t to = text.find(separator);
    parts.push_back(text.substr(0, to));
    if (to == std::string_view::npos) return parts;
    text.remove_prefix(to + 1);
  }
}

Status check_source(const Request& request) {
  const bool makes = request.has("make");
  if (request.has("file") == makes) {
    return usage("a graph comes from a FILE or from --make", "give one of them");
  }
  for (const graph::ModelNumber& number : graph::model_numbers()) {
    if (!makes && request.has(number.name)) {
      return usage(cat("--", number.name, " is for models that --make generates"),
                   "as in --make llama");
    }
  }
  if (!makes && request.has("dtype")) {
    return usage("--dtype is for models that --make generates", "as in --make llama");
  }
  for (const std::string_view name : {"dim", "shape"}) {
    if (makes && request.has(name)) {
      return usage(cat("--", name, " is for ONNX files: a generated model has no open dims"),
                   "--batch-size, --sequence and others give its extents");
    }
  }
  return ok_status();
}

Status check_seed(const Request& request) {
  if (!request.has("seed")) return ok_status();
  if (format_of_name(request.text("out")) != GraphFormat::kOnnx) {
    return usage("--seed is for the random weights of an ONNX file", "as in --out model.onnx");
  }
  if (request.number("seed") >= 0) return ok_status();
  return Error{ErrorCode::kOutOfRange, cat("--seed ", request.number("seed")), std::nullopt,
               "a seed is 0 or more"};
}

Status check_output_files(const Request& request) {
  for (const std::string_view name : {"out", "svg"}) {
    if (!request.has(name)) continue;
    const std::string& file = request.text(name);
    if (file.empty() || file == "-") {
      return usage(cat("--", name, " names no file"),
                   name == "svg" ? "as in --svg model.svg" : "as in --out model.json");
    }
    TESSERA_CHECK_OK(check_folder_of(file));
  }
  if (!request.has("svg")) return ok_status();
  if (request.has("out") && is_one_file(request.text("svg"), request.text("out"))) {
    return usage("--svg and --out name the same file", "name two different files");
  }
  if (request.has("file") && is_one_file(request.text("svg"), request.text("file"))) {
    return usage("--svg names the file of the model, which the drawing would overwrite",
                 "name another file for the drawing");
  }
  return ok_status();
}

Result<std::int64_t> read_extent(std::string_view text, std::string_view flag) {
  std::int64_t extent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
  if (error == std::errc() && end == text.data() + text.size() && extent >= 0) return extent;
  return usage(
      cat("--", flag, ": ", quote(text), " is no extent"),
      flag == "dim" ? "as in --dim batch=8,tokens=128" : "as in --shape 'x=1,3,224,224;y=1,10'");
}

/// Reads "a=1<separator>b=2" into a map; `read` reads what is behind the '='.
template <typename Map, typename Read>
Status read_map(const Request& request, std::string_view flag, char separator, Map& map,
                const Read& read) {
  if (!request.has(flag)) return ok_status();
  for (const std::string_view part : split(request.text(flag), separator)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return usage(cat("--", flag, ": ", quote(part), " names nothing"),
                   flag == "dim" ? "write NAME=EXTENT" : "write NAME=EXTENT,EXTENT");
    }
    const std::string name(part.substr(0, equals));
    TESSERA_TRY(auto value, read(part.substr(equals + 1)));
    if (!map.emplace(name, std::move(value)).second) {
      return usage(cat("--", flag, " gives ", quote(name), " twice"), "give each name once");
    }
  }
  return ok_status();
}

Result<std::vector<std::int64_t>> read_shape(std::string_view text) {
  std::vector<std::int64_t> extents;
  if (text.empty()) return extents;
  for (const std::string_view part : split(text, ',')) {
    TESSERA_TRY(const std::int64_t extent, read_extent(part, "shape"));
    extents.push_back(extent);
  }
  return extents;
}

}  // namespace

GraphFormat format_of_name(std::string_view file) {
  const std::string upper = upper_case(file);
  if (upper.ends_with(".ONNX")) return GraphFormat::kOnnx;
  return upper.ends_with(".JSON") ? GraphFormat::kJson : GraphFormat::kUnknown;
}

Status check_graph_flags(const Request& request) {
  TESSERA_CHECK_OK(check_source(request));
  TESSERA_CHECK_OK(check_seed(request));
  TESSERA_CHECK_OK(check_output_files(request));
  // A missing module is better known before the work than after it.
  if (format_of_name(request.text("out")) != GraphFormat::kOnnx) return ok_status();
  TESSERA_CHECK_OK(load_onnx_module());
  return ok_status();
}

Result<graph::ModelOptions> read_model_options(const Request& request) {
  graph::ModelOptions options;
  for (const graph::ModelNumber& number : graph::model_numbers()) {
    if (request.has(number.name)) options.*number.value = request.number(number.name);
  }
  if (!request.has("dtype")) return options;
  const std::optional<DType> dtype = parse_dtype(request.text("dtype"));
  if (!dtype || !graph::is_float(*dtype)) {
    return usage(cat("--dtype ", quote(request.text("dtype")), " is no float type"),
                 "such as f32, bf16 or f16");
  }
  options.dtype = *dtype;
  return options;
}

std::vector<std::string> read_ops_to_decompose(const std::string& text) {
  std::vector<std::string> ops;
  for (const std::string_view op : split(text, ',')) {
    if (op == "all") {
      const std::vector<std::string_view> names = graph::decomposable_ops();
      ops.insert(ops.end(), names.begin(), names.end());
    } else {
      ops.emplace_back(op);
    }
  }
  std::ranges::sort(ops);
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

Result<onnx_import::ImportOptions> read_bindings(const Request& request) {
  onnx_import::ImportOptions options;
  TESSERA_CHECK_OK(read_map(request, "dim", ',', options.dims,
                            [](std::string_view text) { return read_extent(text, "dim"); }));
  TESSERA_CHECK_OK(read_map(request, "shape", ';', options.shapes, read_shape));
  return options;
}

}  // namespace tessera::tools
