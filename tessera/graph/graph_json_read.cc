// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "tessera/base/json_reader.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/graph_json.h"
#include "tessera/graph/graph_json_data.h"
#include "tessera/graph/graph_json_fields.h"
#include "tessera/graph/order.h"

namespace tessera::graph {
namespace {

constexpr std::size_t kMostDepth = 16;

Error bad_graph(std::string message, Span span, std::string help = "") {
  return Error{ErrorCode::kBadGraph, std::move(message), span, std::move(help)};
}

class Reader {
 public:
  explicit Reader(std::string_view text) : json_(text, kMostDepth) {}

  Result<Graph> run() {
    constexpr std::array<std::string_view, 5> kKeys = {"tessera_graph", "name", "values", "nodes",
                                                       "outputs"};
    std::optional<std::int64_t> version;
    TESSERA_CHECK_OK(read_object(json_, kKeys, [&](std::size_t key) -> Status {
      switch (key) {
        case 0: {
          TESSERA_TRY(version, json_.integer());
          if (*version == kGraphFormat) return ok_status();
          return Error{ErrorCode::kNotSupported, cat("a graph of version ", *version), json_.span(),
                       cat("this is version ", kGraphFormat)};
        }
        case 1: {
          TESSERA_TRY(graph_.name, json_.text());
          return ok_status();
        }
        case 2:
          return read_list(json_, [&] { return read_value(); });
        case 3:
          return read_list(json_, [&] { return read_node(); });
        default:
          return read_list(json_, [&] { return read_output(); });
      }
    }));
    TESSERA_CHECK_OK(json_.finish());
    if (!version) {
      return Error{ErrorCode::kSyntax, "the key 'tessera_graph' is missing", Span{0, 1},
                   "a graph begins with \"tessera_graph\": 1"};
    }
    TESSERA_CHECK_OK(resolve());
    TESSERA_CHECK_OK(infer_all());
    return std::move(graph_);
  }

 private:
  /// The value of this name, which may be listed or computed later.
  Result<ValueId> id_of(std::string name, Span span) {
    const auto [at, fresh] =
        ids_.try_emplace(std::move(name), static_cast<ValueId>(values_.size()));
    if (fresh) {
      if (values_.size() == kMaxValues) {
        return Error{ErrorCode::kTooLarge, cat("more than ", kMaxValues, " values"), span};
      }
      values_.push_back({at->first, span});
    }
    return at->second;
  }

  Status read_value() {
    constexpr std::array<std::string_view, 5> kKeys = {"name", "kind", "dtype", "shape", "data"};
    Span span{json_.position(), 0};
    std::optional<std::string> name;
    Value value;
    value.kind = Kind::kComputed;
    std::optional<DType> dtype;
    std::optional<Shape> shape;
    JsonData data;
    TESSERA_CHECK_OK(read_object(json_, kKeys, [&](std::size_t key) -> Status {
      switch (key) {
        case 0: {
          TESSERA_TRY(name, json_.text());
          span = json_.span();
          if (!name->empty()) return ok_status();
          return bad_graph("a value has no name", json_.span());
        }
        case 1: {
          TESSERA_TRY(const std::string word, json_.text());
          for (const Kind kind :
               {Kind::kInput, Kind::kParameter, Kind::kConstant, Kind::kComputed}) {
            if (kind_name(kind) != word) continue;
            value.kind = kind;
            return ok_status();
          }
          return Error{ErrorCode::kUnknownName, cat("unknown kind ", quote_name(word)),
                       json_.span(), "one of input, parameter, constant, computed"};
        }
        case 2: {
          TESSERA_TRY(const std::string word, json_.text());
          dtype = parse_dtype(word);
          if (dtype) return ok_status();
          return Error{ErrorCode::kBadDType, cat("unknown element type ", quote_name(word)),
                       json_.span(), "such as f32, bf16, i64, ui8 or i1"};
        }
        case 3: {
          const std::int64_t from = json_.position();
          TESSERA_TRY(std::vector<std::int64_t> extents, read_integers(json_));
          Result<Shape> made = Shape::make(std::move(extents));
          if (!made) return made.error().at({from, json_.span().to});
          shape = *std::move(made);
          return ok_status();
        }
        default:
          return data.read(json_);
      }
    }));
    span.to = span.to == 0 ? json_.span().to : span.to;
    if (!name || !dtype || !shape) {
      return Error{ErrorCode::kSyntax,
                   cat("a value without its ", !name    ? "name"
                                               : !dtype ? "dtype"
                                                        : "shape"),
                   Span{span.from, json_.span().to}, "a value has a name, a dtype and a shape"};
    }
    value.name = *name;
    value.type = {*std::move(shape), *dtype};
    TESSERA_TRY(value.data, std::move(data).as(value.type));
    TESSERA_TRY(const ValueId id, id_of(*std::move(name), span));
    if (values_[id].listed) {
      return bad_graph(cat("two values have the name ", quote_name(value.name)), span,
                       "names of values are unique");
    }
    values_[id].listed = true;
    values_[id].span = span;
    order_.push_back(id);
    if (listed_.size() <= id) listed_.resize(values_.size());
    listed_[id] = std::move(value);
    return ok_status();
  }

  Status read_names(std::vector<ValueId>& out, bool may_be_absent) {
    return read_list(json_, [&]() -> Status {
      if (out.size() == kMaxOperands) {
        return Error{ErrorCode::kTooLarge, cat("more than ", kMaxOperands, " names"),
                     Span{json_.position(), json_.position()}};
      }
      if (may_be_absent && json_.peek() == JsonReader::Next::kNull) {
        out.push_back(kAbsent);
        return json_.null();
      }
      TESSERA_TRY(std::string name, json_.text());
      if (name.empty()) return bad_graph("a value has no name", json_.span());
      TESSERA_TRY(const ValueId id, id_of(std::move(name), json_.span()));
      out.push_back(id);
      return ok_status();
    });
  }

  Status read_output() {
    TESSERA_TRY(std::string name, json_.text());
    TESSERA_TRY(const ValueId id, id_of(std::move(name), json_.span()));
    graph_.outputs.push_back(id);
    return ok_status();
  }

  /// The op may come after the attributes, so these are read at the end, from where they begin.
  Status read_node() {
    constexpr std::array<std::string_view, 5> kKeys = {"name", "op", "inputs", "outputs",
                                                       "attributes"};
    const std::int64_t from = json_.position();
    std::string name;
    std::optional<Op> op;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
    std::optional<JsonReader> attributes_at;
    TESSERA_CHECK_OK(read_object(json_, kKeys, [&](std::size_t key) -> Status {
      switch (key) {
        case 0: {
          TESSERA_TRY(name, json_.text());
          return ok_status();
        }
        case 1: {
          TESSERA_TRY(const std::string word, json_.text());
          op = Op::find(word);
          if (op) return ok_status();
          std::vector<std::string_view> names;
          for (const OpRule& rule : all_ops()) names.push_back(rule.name);
          return Error{ErrorCode::kUnknownName, cat("there is no op ", quote_name(word)),
                       json_.span(), did_you_mean(word, names)};
        }
        case 2:
          return read_names(inputs, true);
        case 3:
          return read_names(outputs, false);
        default:
          attributes_at = json_;
          return json_.skip();
      }
    }));
    const Span span{from, json_.span().to};
    if (!op) return Error{ErrorCode::kSyntax, "a node without its op", span, "add \"op\": .."};
    Node node{std::move(name), *op, std::move(inputs), std::move(outputs)};
    if (attributes_at) {
      TESSERA_TRY(node.attributes, read_attributes(*attributes_at, node.op));
    }
    for (const ValueId v : node.outputs) values_[v].computed = true;
    graph_.nodes.push_back(std::move(node));
    node_spans_.push_back(span);
    return ok_status();
  }

  /// "node 'a' (add) reads", for the first that reads a value.
  std::string reader_of(ValueId id) const {
    for (const Node& node : graph_.nodes) {
      if (std::ranges::find(node.inputs, id) == node.inputs.end()) continue;
      return cat(node_text(graph_, node), " reads");
    }
    return "an output is";
  }

  /// Listed values come first and in their order, then the others that nodes compute.
  Status resolve() {
    std::vector<ValueId> final_id(values_.size(), kAbsent);
    for (const ValueId id : order_) {
      final_id[id] = static_cast<ValueId>(graph_.values.size());
      graph_.values.push_back(std::move(listed_[id]));
      spans_.push_back(values_[id].span);
      declared_.push_back(true);
    }
    for (std::size_t id = 0; id < values_.size(); ++id) {
      if (final_id[id] != kAbsent) continue;
      if (!values_[id].computed) {
        return bad_graph(cat(reader_of(static_cast<ValueId>(id)), " ", quote_name(values_[id].name),
                             ", which nothing defines"),
                         values_[id].span, "list it under values, or let a node compute it");
      }
      final_id[id] = static_cast<ValueId>(graph_.values.size());
      graph_.values.push_back({values_[id].name});
      spans_.push_back(values_[id].span);
      declared_.push_back(false);
    }
    const auto rename = [&](std::vector<ValueId>& list) {
      for (ValueId& v : list) v = v == kAbsent ? kAbsent : final_id[v];
    };
    for (Node& node : graph_.nodes) {
      rename(node.inputs);
      rename(node.outputs);
    }
    rename(graph_.outputs);
    values_ = {};
    ids_ = {};
    listed_ = {};
    return ok_status();
  }

  /// Types of values that are not listed, in the order in which nodes run; then the whole law.
  Status infer_all() {
    std::size_t wrong = 0;
    const Result<std::vector<std::size_t>> order = topological_order(graph_, &wrong);
    if (!order) return order.error().at(node_spans_[wrong]);
    for (const std::size_t n : *order) {
      const Node& node = graph_.nodes[n];
      for (const ValueId v : node.outputs) {
        if (declared_[v] || !node.op.is("opaque")) continue;
        return Error{ErrorCode::kBadNode,
                     cat(node_text(graph_, node), " computes ", quote_name(graph_.values[v].name),
                         ", whose type is not listed"),
                     node_spans_[n],
                     "the outputs of an opaque op are listed under values, with shape and dtype"};
      }
      const Result<Types> types = infer(graph_, node);
      if (!types) return types.error().at(node_spans_[n]);
      for (std::size_t i = 0; i < types->size() && i < node.outputs.size(); ++i) {
        Value& value = graph_.values[node.outputs[i]];
        if (!declared_[node.outputs[i]]) value.type = (*types)[i];
        if (value.type == (*types)[i]) continue;
        return Error{ErrorCode::kShapeMismatch,
                     cat(node_text(graph_, node), " computes ", quote_name(value.name), " as ",
                         (*types)[i].to_string(), ", but it is listed as ", value.type.to_string()),
                     spans_[node.outputs[i]]};
      }
    }
    TESSERA_CHECK_OK(sort_nodes(graph_));
    const Status status = check(graph_);
    return status ? status : Status(status.error().at({0, 0}));
  }

  struct Name {
    std::string name;
    Span span;
    bool listed = false;
    bool computed = false;
  };

  JsonReader json_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  std::vector<Name> values_;    ///< every name, in the order in which it was met
  std::vector<Value> listed_;   ///< by the same number
  std::vector<ValueId> order_;  ///< of the listed ones
  std::vector<Span> node_spans_;
  std::vector<Span> spans_;  ///< of the graph's values
  std::vector<bool> declared_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text) {
  if (text.size() > kMaxGraphBytes) {
    return Error{ErrorCode::kTextTooLong, cat("the graph is ", text.size(), " bytes long"),
                 Span{0, 0}, cat("at most ", kMaxGraphBytes, " bytes are read")};
  }
  return Reader(text).run();
}

}  // namespace tessera::graph
