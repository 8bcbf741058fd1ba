// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tessera/exchange/exchange.h"

namespace tessera::exchange {

/// `ranks` ranks inside this process, which share memory and are each used by a separate thread:
/// for tests, for many places in one process, and as the model of any other exchange. A rank may be
/// destroyed before the others; ranks that wait for it then run into their timeout.
std::vector<std::unique_ptr<Exchange>> in_process_exchange(int ranks);

}  // namespace tessera::exchange
