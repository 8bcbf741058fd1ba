// SPDX-License-Identifier: Apache-2.0
#include "tools/run/value_layouts.h"

#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/tensor.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return "";
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

/// Whether a name matches a pattern in which * stands for any characters.
bool matches(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  const std::string_view rest = pattern.substr(star + 1);
  if (rest.empty()) return true;
  for (std::size_t from = 0; from <= name.size(); ++from) {
    if (matches(name.substr(from), rest)) return true;
  }
  return false;
}

Result<Layout> layout_of(const graph::Value& value, std::string_view text) {
  std::string tensor_text(text);
  if (!text.starts_with("tensor<")) {
    tensor_text = "tensor<";
    for (const std::int64_t extent : value.type.shape.extents()) tensor_text += cat(extent, "x");
    tensor_text += cat(dtype_name(value.type.dtype), ", ", text, ">");
  }
  Result<Tensor> tensor = parse_tensor(tensor_text);
  if (!tensor) {
    Error error = tensor.error();
    error.span.reset();  // of a text that no file has
    error.message = cat("value '", value.name, "': ", error.message);
    return error;
  }
  if (tensor->placement.layout() != nullptr) return *tensor->placement.layout();
  const Piecewise* const pieces = tensor->placement.pieces();
  if (pieces == nullptr) {
    return Error{
        ErrorCode::kNotSupported,
        cat("value '", value.name,
            "': elements share slots in this layout, but each needs its own to be written"),
        std::nullopt, "use a layout without strides of 0 and overlaps"};
  }
  return Error{ErrorCode::kNotSupported,
               cat("value '", value.name, "': this layout has ",
                   count_of(std::ssize(pieces->pieces()), "box", "boxes"),
                   " with rules of their own, which cannot be run"),
               std::nullopt,
               "use one rule for the whole tensor: blocks of one size, or blocks in turn"};
}

}  // namespace

Result<std::vector<std::optional<Layout>>> read_value_layouts(std::string_view text,
                                                              const std::string& file,
                                                              const graph::Graph& graph) {
  std::vector<std::optional<Layout>> layouts(graph.values.size());
  std::vector<std::int64_t> named(graph.values.size());  // the line that has its whole name
  std::int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const auto wrong = [&](Error error) {
      error.message = cat(quote(file), ":", number, ": ", error.message);
      return error;
    };
    std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) colon = line.find(":\t");
    if (colon == std::string_view::npos) {
      return wrong({ErrorCode::kSyntax, "expected NAME: LAYOUT", std::nullopt,
                    "as in x: pyflame.Grid(4, 4)"});
    }
    const std::string_view pattern = trimmed(line.substr(0, colon));
    const std::string_view layout_text = trimmed(line.substr(colon + 1));
    bool any = false;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      if (!matches(graph.values[v].name, pattern)) continue;
      any = true;
      const bool is_named = graph.values[v].name == pattern;
      const bool is_named_again = is_named && named[v] > 0;
      if (layouts[v] && !is_named_again) continue;
      Result<Layout> layout = layout_of(graph.values[v], layout_text);
      if (!layout) return wrong(layout.error());
      if (layouts[v] && *layout != *layouts[v]) {
        return wrong({ErrorCode::kContradiction,
                      cat("line ", named[v], " gives ", quote(pattern), " another layout"),
                      std::nullopt, "leave one of the two lines"});
      }
      layouts[v] = *std::move(layout);
      if (is_named) named[v] = number;
    }
    if (any) continue;
    std::vector<std::string_view> names;
    for (const graph::Value& value : graph.values) names.push_back(value.name);
    return wrong({ErrorCode::kUnknownName, cat("no value is named ", quote(pattern)), std::nullopt,
                  did_you_mean(pattern, names, "tessera graph MODEL lists inputs and outputs")});
  }
  return layouts;
}

}  // namespace tessera::tools
