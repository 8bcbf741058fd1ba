// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {

/// One of several parts of a list of transfers.
struct TransferPart {
  std::int64_t number = 0;
  std::int64_t parts = 1;
};

/// Calls `visit` for one part of what for_each_transfer lists, so that several threads can list a
/// reshard. Law: all parts in their order list the same transfers in the same order. Parts have
/// about equally many where the first factor of the product form has many groups (shares, copies of
/// B, then dims); a list that has to be put in order is all in part 0.
Status for_each_transfer_of(const Reshard& reshard, const TransferPart& part,
                            const std::function<Status(const Transfer&)>& visit);

}  // namespace tessera::reshard
