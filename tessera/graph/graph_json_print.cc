// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tessera/base/json.h"
#include "tessera/base/text.h"
#include "tessera/graph/base64.h"
#include "tessera/graph/graph_json.h"

namespace tessera::graph {
namespace {

constexpr std::int64_t kMostNumbers = 64;  ///< longer data are base64

/// Texts that the reader understands where JSON has no number: "nan", "inf" and "-inf".
Json real_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json attribute_json(const Attribute& attribute) {
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) return *integer;
  if (const auto* real = std::get_if<double>(&attribute)) return real_json(*real);
  if (const auto* text = std::get_if<std::string>(&attribute)) return *text;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute)) return *list;
  Json reals = Json::array();
  for (const double value : *std::get_if<std::vector<double>>(&attribute)) {
    reals.push_back(real_json(value));
  }
  return reals;
}

/// Elements as numbers where these read back as the same bytes.
std::optional<Json> numbers_json(const Data& data, const TensorType& type) {
  if (const auto integers = integers_of(data, type.shape, type.dtype, kMostNumbers)) {
    return Json(*integers);
  }
  if (type.dtype != DType::kF32 && type.dtype != DType::kF64) return std::nullopt;
  const auto reals = reals_of(data, type.shape, type.dtype, kMostNumbers);
  if (!reals || bytes_of(*reals, type.dtype) != *data.bytes) return std::nullopt;
  for (const double value : *reals) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return Json(*reals);
}

Json data_json(const Value& value) {
  const Data& data = value.data;
  Json json;
  switch (data.form) {
    case Data::Form::kNone:
      break;
    case Data::Form::kBytes:
      if (const std::optional<Json> numbers = numbers_json(data, value.type)) {
        json["numbers"] = *numbers;
      } else {
        json["base64"] = to_base64(*data.bytes);
      }
      break;
    case Data::Form::kFill: {
      const TensorType element{Shape(), value.type.dtype};
      const std::optional<Json> number = numbers_json(Data::of_bytes(*data.bytes), element);
      json["fill"] = number ? (*number)[std::size_t{0}] : Json(to_base64(*data.bytes));
      break;
    }
    case Data::Form::kFile:
      json["file"] = data.file;
      json["offset"] = data.offset;
      break;
  }
  return json;
}

Json value_json(const Value& value) {
  Json json;
  json["name"] = value.name;
  json["kind"] = kind_name(value.kind);
  json["dtype"] = dtype_name(value.type.dtype);
  json["shape"] = value.type.shape.extents();
  if (value.data.form != Data::Form::kNone) json["data"] = data_json(value);
  return json;
}

Json names_json(const Graph& graph, const std::vector<ValueId>& values) {
  Json json = Json::array();
  for (const ValueId v : values) json.push_back(v == kAbsent ? Json() : graph.values[v].name);
  return json;
}

Json node_json(const Graph& graph, const Node& node) {
  Json json;
  if (!node.name.empty()) json["name"] = node.name;
  json["op"] = node.op.name();
  json["inputs"] = names_json(graph, node.inputs);
  json["outputs"] = names_json(graph, node.outputs);
  if (!node.attributes.empty()) {
    Json attributes = Json::object();
    for (const auto& [name, value] : node.attributes) attributes[name] = attribute_json(value);
    json["attributes"] = attributes;
  }
  return json;
}

}  // namespace

std::string to_json(const Graph& graph) {
  std::string out = cat("{\"tessera_graph\": ", kGraphFormat, ",\n \"name\": ");
  dump(Json(graph.name), out);
  out += ",\n \"values\": [";
  const char* before = "\n  ";
  for (const Value& value : graph.values) {
    out += before;
    dump(value_json(value), out);
    before = ",\n  ";
  }
  out += "],\n \"nodes\": [";
  before = "\n  ";
  for (const Node& node : graph.nodes) {
    out += before;
    dump(node_json(graph, node), out);
    before = ",\n  ";
  }
  out += "],\n \"outputs\": ";
  dump(names_json(graph, graph.outputs), out);
  return out + "}\n";
}

}  // namespace tessera::graph
