// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

/// onnx/: ONNX models to graphs. In: the bytes of a model, and what its open dims are. Out: a
/// checked graph, or the list of what is not supported. It is a library and a loaded module of its
/// own, because it needs libonnx and protobuf; nothing else does. libonnx throws: model_shim.cc is
/// the only file that is compiled with exceptions, and none leaves it.
namespace tessera::onnx_import {

/// The elements of an input that is made a constant.
struct BoundInput {
  graph::TensorType type;
  graph::Data data;
};

struct ImportOptions {
  std::map<std::string, std::int64_t> dims;                 ///< extents of symbolic dims: batch = 8
  std::map<std::string, std::vector<std::int64_t>> shapes;  ///< shapes of inputs
  std::map<std::string, BoundInput> values;                 ///< inputs that become constants
  std::string folder;                                       ///< of external data
};

/// A node that was not imported, and why.
struct Unsupported {
  std::string node;  ///< its name, or that of its first output
  std::string op;    ///< as the model has it, with its domain if that is not ONNX's own
  std::string reason;
  std::string needs;  ///< the value that would have to be a constant, if that is the reason
};

struct Imported {
  graph::Graph graph;                       ///< without the nodes below and those that need them
  std::vector<Unsupported> unsupported;     ///< all of them; empty if the graph is the model
  std::map<std::string, std::int64_t> ops;  ///< of the model, after functions were inlined
  std::int64_t nodes = 0;
};

inline constexpr std::size_t kMaxModelBytes = (std::size_t{1} << 31) - 1;  ///< what protobuf reads
inline constexpr std::size_t kMaxModelNodes = std::size_t{1} << 22;        ///< after inlining

/// The graph of a model: checked by libonnx, functions inlined, what depends on shapes alone folded
/// to constants. Initializers of float types are parameters, others constants, unless a note of
/// export_onnx says otherwise.
///
/// Opsets 7 to 17; of older ones, what has the same meaning today. Ops that the table of ops does
/// not have are expanded by the function that libonnx defines for them, if there is one.
///
/// Errors: kSyntax for bytes that are no model, kBadGraph for what libonnx's checker refuses and
/// for symbolic dims that `options` does not bind (all of them are named), kUnknownName for dims
/// and inputs of `options` that the model does not have, kIo for external data that are absent or
/// too short, kTooLarge beyond the limits above. Law: the types of the outputs are those that a run
/// of the model gives.
Result<Imported> import_onnx(std::string_view bytes, const ImportOptions& options);

/// A tensor file (.pb), such as ONNX's test data have.
Result<BoundInput> read_tensor(std::string_view bytes);

}  // namespace tessera::onnx_import
