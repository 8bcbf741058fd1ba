// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/models/models.h"
#include "tessera/onnx/onnx_import.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// How a file has a graph: by the end of its name, in upper or lower case.
enum class GraphFormat : std::uint8_t { kJson, kOnnx, kUnknown };
GraphFormat format_of_name(std::string_view file);

/// Checks which flags go together and what can be wrong with the output files, before any work: a
/// flag that would be ignored is kUsage.
Status check_graph_flags(const Request& request);

/// What the flags of --make say about the model. kUsage for a --dtype that is no float type.
Result<graph::ModelOptions> read_model_options(const Request& request);

/// The ops of --decompose: names with commas between them; `all` stands for all that can be
/// decomposed.
std::vector<std::string> read_ops_to_decompose(const std::string& text);

/// The values of --dim and --shape: "batch=8,seq=128" and "x=1,3,224,224;y=2". kUsage for others.
Result<onnx_import::ImportOptions> read_bindings(const Request& request);

}  // namespace tessera::tools
