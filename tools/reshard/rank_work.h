// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tessera/base/result.h"
#include "tessera/exchange/agreement.h"

namespace tessera::tools {

/// Does `work`, which may take minutes (reading, bringing files to the disk), on a thread of its
/// own while this one answers the ranks that wait: who answers is not taken for silent.
/// The outcome of the work, or the error of the agreement. Memory that cannot be had is kTooLarge.
Status while_answering(exchange::Agreement& agreement, const std::function<Status()>& work);

}  // namespace tessera::tools
