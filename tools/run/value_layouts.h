// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/layout/layout.h"

/// tools/run/: the verb that carries out a model. Files of models, layouts and elements come in;
/// files of results and a report go out. What is done is decided by tessera/run.
namespace tessera::tools {

/// The layouts of a file, one per value of the graph, empty where no line names the value. A line
/// is NAME: LAYOUT, where NAME may have * for any characters and LAYOUT is the layout part of a
/// tensor in any notation; the first line that matches a value counts, and two lines with the whole
/// name of a value have to agree. Empty lines and lines that begin with # are left out.
///
///     # the first layer over 16 x 32 places
///     x:          pyflame.Grid(16, 32)
///     *.weight:   pyflame.Grid(32, 16)
///
/// Errors name the file and the line: kSyntax, kUnknownName for a name that no value has,
/// kContradiction for two lines that give a value different layouts, those of parse_tensor,
/// kNotSupported for a placement that is no layout.
Result<std::vector<std::optional<Layout>>> read_value_layouts(std::string_view text,
                                                              const std::string& file,
                                                              const graph::Graph& graph);

}  // namespace tessera::tools
