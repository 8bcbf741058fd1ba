// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "tessera/reshard/transfers.h"
#include "tessera/testing/reshard/naive_reshard.h"
#include "tessera/testing/reshard/reshard_pairs.h"

/// The laws of reshard/, each against the naive reference. A law answers an empty string when it
/// holds, else what broke.
namespace tessera::test {

/// Reshard::make accepts what has no naive refusal, and refuses anything else for one of its
/// reasons.
std::string make_mistake(const ReshardPair& pair);

/// Conservation: the transfers, carried out on memories that know which element and share each
/// slot holds, write every slot of B's elements once (or combine it once with every share), from
/// the nearest place that has the element, and touch nothing else. Transfers of a pair stay
/// together, its first one says so, and choosing messages or local copies gives just those.
std::string transfer_mistake(const ReshardPair& pair, const NaiveReshard& moves);
/// The same of transfers that come from elsewhere, such as a list with a mistake in it.
using TransferLister =
    std::function<Status(const reshard::Reshard&, const reshard::TransferChoice&,
                         const std::function<Status(const reshard::Transfer&)>&)>;
std::string list_mistake(const ReshardPair& pair, const NaiveReshard& moves,
                         const TransferLister& list);

/// Asking for one source, or for one destination, gives what crosses from or to it, and what it
/// copies.
std::string filter_mistake(const ReshardPair& pair, const NaiveReshard& moves);

/// pairs_of is the naive list, and too many are kTooLarge.
std::string pairs_mistake(const ReshardPair& pair, const NaiveReshard& moves);

/// cost_of is the naive cost field by field.
std::string cost_mistake(const ReshardPair& pair, const NaiveReshard& moves);

/// link_loads is the naive load of every link.
std::string loads_mistake(const ReshardPair& pair, const NaiveReshard& moves);

/// kind_of is the naive kind.
std::string kind_mistake(const ReshardPair& pair, const NaiveReshard& moves);

/// A cost in words, for messages and goldens.
std::string cost_text(const reshard::ReshardCost& cost);

}  // namespace tessera::test
