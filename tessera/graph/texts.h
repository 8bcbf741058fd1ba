// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"

namespace tessera::graph {

/// Every text of a graph is UTF-8, so that JSON, ONNX and drawings can have it. kBadGraph, with the
/// text, for one that is not.
Status check_text(std::string_view text);
/// The texts of a node.
Status check_texts(std::string_view name, const Attributes& attributes);

}  // namespace tessera::graph
