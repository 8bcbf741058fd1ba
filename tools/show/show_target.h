// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/notation/notation.h"
#include "tessera/target/fit.h"
#include "tools/json/json.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// What `tessera show --target` adds to its answer.
struct TargetFit {
  std::string name;  ///< the machine's own
  target::Fit fit;
};

/// Asks whether a tensor fits the machine that `--target` names. Two facts come from the notation's
/// text alone: that a TTNN tensor is interleaved, and the span of a Spyre core.
Result<TargetFit> fit_on_target(const Tensor& tensor, const std::string& target);

/// {name, fits, space, layout_space, shard_bytes, held_bytes, capacity_bytes, usable_bytes,
///  share_percent, needed_places, reasons: [{code, message}]}; what is unknown is null.
Json target_json(const TargetFit& target);

/// "does not fit wse2: 4 MB > 48 KB a place (36 KB for data)", one line per reason.
std::string target_text(const TargetFit& target, const Terminal& terminal);

}  // namespace tessera::tools
