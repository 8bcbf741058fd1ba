// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tessera/base/result.h"
#include "tessera/exchange/agreement.h"

namespace tessera::tools {

/// Runs `work`, which may take minutes (reading, flushing files to the disk), on a separate thread
/// while this thread answers waiting ranks, so that they do not consider this rank silent. Returns
/// the outcome of the work, or the error of the agreement. A failed allocation is kOutOfMemory.
Status while_answering(exchange::Agreement& agreement, const std::function<Status()>& work);

}  // namespace tessera::tools
