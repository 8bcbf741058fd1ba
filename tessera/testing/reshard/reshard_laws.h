// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "tessera/reshard/transfers.h"
#include "tessera/testing/reshard/naive_reshard.h"
#include "tessera/testing/reshard/reshard_pairs.h"

/// The laws of reshard/, each compared with the naive reference. A law returns an empty string when
/// it holds, otherwise what broke.
namespace tessera::test {

/// Reshard::make accepts what has no naive refusal, and refuses anything else for one of the naive
/// reasons.
std::string make_mistake(const ReshardPair& pair);

/// Conservation: the transfers, performed on memories that know which element and share each slot
/// holds, write every slot of B's elements once (or combine it once with every share), from the
/// nearest place that has the element, and touch nothing else. Transfers of a pair are consecutive,
/// the first one is marked, and selecting messages or local copies gives exactly those.
std::string transfer_mistake(const ReshardPair& pair, const NaiveReshard& moves);
/// The same for transfers from another source, such as a list with a mistake in it.
using TransferLister =
    std::function<Status(const reshard::Reshard&, const reshard::TransferChoice&,
                         const std::function<Status(const reshard::Transfer&)>&)>;
std::string list_mistake(const ReshardPair& pair, const NaiveReshard& moves,
                         const TransferLister& list);

/// Asking for one source, or for one destination, gives the messages from or to it, and its local
/// copies.
std::string filter_mistake(const ReshardPair& pair, const NaiveReshard& moves);

/// pairs_of is the naive list, and too many pairs are kTooLarge.
std::string pairs_mistake(const ReshardPair& pair, const NaiveReshard& moves);

/// cost_of is the naive cost field by field.
std::string cost_mistake(const ReshardPair& pair, const NaiveReshard& moves);

/// link_loads is the naive load of every link.
std::string loads_mistake(const ReshardPair& pair, const NaiveReshard& moves);

/// kind_of is the naive kind.
std::string kind_mistake(const ReshardPair& pair, const NaiveReshard& moves);

/// A cost as text, for messages and goldens.
std::string cost_text(const reshard::ReshardCost& cost);

}  // namespace tessera::test
