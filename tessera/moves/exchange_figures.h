// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tessera/fabric/topology.h"
#include "tessera/moves/rates.h"
#include "tessera/moves/way.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// Which figures of a machine an exchange uses, and which it would use and the machine lacks. They
/// are recorded in Rates, or in the way that they belong to.
class ExchangeFigures {
 public:
  ExchangeFigures(const Machine& machine, const Ends& ends, Rates& rates)
      : machine_(machine), ends_(ends), rates_(rates) {}

  /// Names the bandwidths of memories that the machine does not give, and the networks that are
  /// left out. An exchange is priced without them: they limit nothing then.
  void name_missing(const fabric::Topology& routes);
  /// Names the figures that a mechanism lacks. They count as 0, or as those of a link, so a way
  /// that was not chosen would only be longer with them.
  void name_missing(const fabric::Travel& travel, Way& way) const;
  /// The memory without a router that the move uses.
  std::string unreached() const;

  /// The figures of the memories that an exchange reads from and writes to.
  void use_memories();
  /// The links between devices, if a message uses them.
  void use_links_between_devices(const fabric::Topology& routes,
                                 std::span<const fabric::Message> messages);
  /// A network of the innermost level.
  void use_network(std::size_t network);
  /// A network and a mechanism.
  void use_travel(const fabric::Travel& travel);

 private:
  const Machine& machine_;
  const Ends& ends_;
  Rates& rates_;
};

}  // namespace tessera::moves
