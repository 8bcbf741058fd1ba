// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/run/host_tensor.h"

namespace tessera::tools {

/// The files of the outputs in a folder: NAME.npy, with characters other than letters, digits, '.',
/// '-' and '_' replaced by '_', and numbers where names would be equal.
std::vector<std::string> output_files(const graph::Graph& graph, const std::string& folder);

/// Writes the outputs to these files. Every file is whole before the first gets its name, so that a
/// full disk leaves none. Types without a NumPy name are raw integers with a sidecar.
Status write_outputs(const graph::Graph& graph, const std::vector<run::HostTensor>& outputs,
                     const std::vector<std::string>& files);

}  // namespace tessera::tools
