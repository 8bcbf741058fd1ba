// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

namespace tessera::onnx_import {

inline constexpr int kWrittenOpset = 17;

struct ExportOptions {
  std::string folder = ".";  ///< where the model will be, for data that stay in files
};

/// The bytes of an ONNX model of opset kWrittenOpset that computes what the graph computes.
///
/// Ops that ONNX lacks are written with others: attention, gelu, group_norm and rms_norm as
/// graph/passes/decompose.h has them, rsqrt as Sqrt and Reciprocal, embedding as Gather. Where an
/// op of ONNX does not accept an element type, the operands are cast to a wider one that it does
/// accept, and the result is cast back. What decides a shape is an input in ONNX: a constant. Fills
/// stay fills, and data in files stay there. Attributes that are reals become f32. ONNX has no
/// parameters and constants, so a note on the tensor tells import what is not its default.
///
/// Law: the model is one that `import_onnx` reads, its results for any inputs are those of the
/// graph up to rounding, and from the second trip on graphs are equal:
///     g1 = import(export(g)), g2 = import(export(g1)), g3 = import(export(g2)) give g2 == g3.
///
/// Errors: kNotSupported for all that ONNX cannot express, with a reason "not_in_onnx" (node, op,
/// because) for each node or value; kTooLarge beyond kMaxModelBytes; the errors of
/// with_decomposed_ops.
Result<std::string> export_onnx(const graph::Graph& graph, const ExportOptions& options);

}  // namespace tessera::onnx_import
