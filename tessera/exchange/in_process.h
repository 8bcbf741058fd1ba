// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tessera/exchange/exchange.h"

namespace tessera::exchange {

/// `ranks` ranks inside this process, which share memory and are each used by a thread of their
/// own: for tests, for many places in one process, and as the model of any other exchange.
/// A rank may be dropped before the others, which then wait for it in vain.
std::vector<std::unique_ptr<Exchange>> in_process_exchange(int ranks);

}  // namespace tessera::exchange
