// SPDX-License-Identifier: Apache-2.0
#pragma once

/// graph/: what a model is. In: calls of a builder, a JSON text, or an ONNX file through the module
/// of onnx/. Out: a checked graph with the type of every value; its figures, its memory program,
/// and better graphs with the same results. It reads no files and knows no layouts or machines.
///
/// A graph is a list of *values* and a list of *nodes*. A value is a tensor with a name, a type and
/// a kind: an input arrives with each run, parameters and constants are part of the model, and
/// everything else is computed by exactly one node. A node applies an op to values and defines new
/// ones. Nothing else exists: no scopes, no control flow, no shapes that are known only at run
/// time. All of it is plain data, and copies share the elements of parameters.
///
///     x     input      f32[1, 784]
///     w     parameter  f32[784, 10]
///     b     parameter  f32[10]
///     h     computed   f32[1, 10]      h = matmul(x, w)
///     y     computed   f32[1, 10]      y = add(h, b)
///     p     computed   f32[1, 10]      p = softmax(y) {axis=-1}          output
///
/// Here is how a program makes it (builder.h):
///
///     GraphBuilder builder("classifier");
///     TESSERA_TRY(const ValueId x, builder.input("x", {1, 784}));
///     TESSERA_TRY(const ValueId w, builder.parameter("w", {784, 10}));
///     TESSERA_TRY(const ValueId b, builder.parameter("b", {10}));
///     TESSERA_TRY(const ValueId h, builder.add("matmul", {x, w}));
///     TESSERA_TRY(const ValueId y, builder.add("add", {h, b}));
///     TESSERA_TRY(const ValueId p, builder.add("softmax", {y}));
///     builder.output(p);
///     const Graph graph = std::move(builder).finish();
///
/// The law, which `check` decides and everything here keeps:
///   1. names of values are unique and not empty, and all texts are UTF-8; a type's elements and
///      bytes fit an int64;
///   2. a computed value is an output of exactly one node, and no other value is an output of any;
///   3. nodes are in an order in which they can run: a node comes after those it reads from;
///   4. types agree: infer(op, types of the inputs, attributes) are the types of the outputs;
///   5. only parameters and constants have data, and as many bytes as their type says.
///
/// Shapes never depend on data (op.h), so a graph that is checked once can be planned, cut and
/// laid out without looking at a single element.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/data.h"
#include "tessera/graph/op.h"

namespace tessera::graph {

/// A value by its position in Graph::values.
using ValueId = std::uint32_t;
/// Stands in a node's inputs for an optional input that is left out.
inline constexpr ValueId kAbsent = UINT32_MAX;

enum class Kind : std::uint8_t {
  kInput,      ///< arrives with each run
  kParameter,  ///< part of the model; training may change it
  kConstant,   ///< part of the model; never changes
  kComputed,   ///< by one node
};
/// "input", "parameter", "constant", "computed".
std::string_view kind_name(Kind kind);

struct Value {
  std::string name;
  TensorType type = {};
  Kind kind = Kind::kComputed;
  Data data = {};
  friend bool operator==(const Value&, const Value&) = default;
};

struct Node {
  std::string name;  ///< for messages; need not be unique
  Op op;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes = {};
  friend bool operator==(const Node&, const Node&) = default;
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;  ///< what a run returns, in order; a value may occur twice

  /// The values of one kind, in order.
  std::vector<ValueId> of_kind(Kind kind) const;
  /// The same values, nodes and outputs in the same order, with the same names and data.
  friend bool operator==(const Graph&, const Graph&) = default;
};

/// The most values, and the most inputs and outputs of one node.
inline constexpr std::size_t kMaxValues = std::size_t{1} << 24;
inline constexpr std::size_t kMaxOperands = std::size_t{1} << 16;

/// Checks the law above. Errors name the node and the value: kBadGraph for names, definitions and
/// order, kShapeMismatch with both types where rule 4 fails, kContradiction for rule 5, and the
/// errors of `infer`.
Status check(const Graph& graph);

/// The types of one node's outputs, from the types that the graph has for its inputs. Errors begin
/// with the node's name.
Result<Types> infer(const Graph& graph, const Node& node);
/// The arithmetic of one node, saturated at INT64_MAX.
std::int64_t flops_of(const Graph& graph, const Node& node);

/// A text for people, one line for each value that is given and for each node:
///     classifier
///       x: input f32[1, 784]
///       h: f32[1, 10] = matmul(x, w)
///       p: f32[1, 10] = softmax(y) {axis=1}
///       outputs p
std::string to_string(const Graph& graph);

/// "node 'fc1' (matmul)", or "node 3 (matmul)" for one without a name.
std::string node_text(const Graph& graph, const Node& node);

/// 128 bits that identify a graph: names, types, data, nodes, attributes and outputs.
struct ContentHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 hexadecimal digits.
  std::string to_string() const;
  friend bool operator==(const ContentHash&, const ContentHash&) = default;
};

/// The hash of a graph, the same on every machine and in every version of Tessera that has format
/// kGraphFormat. Data in files count by the file's name and offset.
/// Law: a == b gives hash(a) == hash(b). Graphs that differ have different hashes, except by an
/// accident of probability 2^-128 each; the hash is no protection against someone who searches for
/// one.
ContentHash hash(const Graph& graph);

/// What a graph adds up to. Sums that do not fit an int64 are INT64_MAX.
struct Figures {
  std::int64_t nodes = 0;
  std::int64_t values = 0;
  std::int64_t parameters = 0;  ///< elements of parameters
  std::int64_t parameter_bytes = 0;
  std::int64_t flops = 0;        ///< of one run; a multiplication and an addition are two
  std::int64_t bytes = 0;        ///< of all values, each once
  std::int64_t moved_bytes = 0;  ///< what nodes read and write, if nothing stays in a cache;
                                 ///< views move nothing
  std::map<std::string, std::int64_t> ops;  ///< nodes by op
};

/// Example: matmul of f32[2, 3] and a parameter f32[3, 4]: 48 flops, 12 parameters, 104 bytes.
Figures figures_of(const Graph& graph);

}  // namespace tessera::graph
