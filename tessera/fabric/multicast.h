// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"

namespace tessera::fabric {

// =================================================================================================
// What a set of multicasts costs
//
// A multicast leaves its source once and branches on the way: it occupies the union of the routes
// to its receivers. The receivers are places of one device that fill a box (a row, a column, a
// rectangle), in which the source may be, as the networks of such machines demand.
//
// A machine has multicasts if it has one of these mechanisms. n transactions of b bytes, p packets
// each; `there` is the longest route to a receiver, `there and back` the longest with the answer:
//
//   multicast          Every packet reserves its tree, there and back, before the next one starts:
//                        overhead + hop · there and back
//                          + Σ n · p · (issue + 2 · hop · there) + n · b / bytes_per_cycle
//   multicast_linked   Only the last transaction reserves it again:
//                        overhead + hop · there and back + Σ p · 2 · hop · there
//                          + max(Σ (n - 1) · issue, Σ n · b / bytes_per_cycle + a · receiver)
//
// Each Σ is over the multicasts that cross a link, of the link for which it is largest: multicasts
// that share a link take turns. `a` are the acknowledgements that cross it, one per packet and
// receiver. Measured multicasts are fitted to the same formulas (calibration/cycle_model.h).
// =================================================================================================

/// Bytes that go from one place to others, in `transactions` pieces.
struct Multicast {
  std::int32_t source = 0;
  std::vector<std::int32_t> receivers;  ///< increasing, without the source
  std::int64_t bytes = 0;
  std::int64_t transactions = 1;  ///< at least 1
  friend bool operator==(const Multicast&, const Multicast&) = default;
};

/// True if the receivers, or the receivers and the source, are the places of a box on one device.
/// Example: on 4x4 places, {1, 2, 3} is a box with or without source 0, {1, 4, 5} with it.
bool fills_box(const Topology& topology, const Multicast& multicast);

struct MulticastCost {
  double cycles = 0;
  std::int64_t max_link_bytes = 0;  ///< over one link, without headers; ports count
  Term dominated_by = Term::kLatency;
  std::string busiest;  ///< a link_name; empty: latency
};

/// The cycles of multicasts that start together, by the mechanism of `travel`.
/// Law: equal to walking the route of every receiver (multicast_test.cc).
/// Work: O(receivers of all multicasts + lines) on a mesh, torus or ring of up to two axes; else
/// receivers · route.
/// Errors: kOutOfRange as network_cost; kNotSupported where receivers fill no box, or the mechanism
/// is no multicast.
Result<MulticastCost> multicast_cost(const Topology& topology, const Machine& machine,
                                     std::span<const Multicast> multicasts, const Travel& travel);

/// The cheapest mechanism for multicasts; empty if the machine has none, or receivers fill no box.
/// Transactions longer than a packet are cut, as a program would do: each costs an issue, and only
/// the last one reserves the tree again.
struct BestMulticast {
  Travel travel;
  MulticastCost cost;
};
Result<std::optional<BestMulticast>> best_multicast(const Topology& topology,
                                                    const Machine& machine,
                                                    std::span<const Multicast> multicasts);

/// What a set of multicasts puts on links, if all of them carry equally many bytes in equally many
/// transactions: then the sums above are those of one byte, scaled.
struct MulticastPattern {
  /// What crosses a link for one packet of each multicast. Of links that are alike, the first.
  struct Link {
    double hops = 0;         ///< Σ of the longest ways to a receiver
    double answers = 0;      ///< acknowledgements
    std::int64_t trees = 0;  ///< multicasts
    std::int64_t link = 0;
  };
  struct OnNetwork {
    Travel travel;
    std::int64_t latency_steps = 0;  ///< of the longest way there and back
    std::vector<Link> links;
  };
  std::int64_t multicasts = 0;
  std::vector<OnNetwork> networks;  ///< one per mechanism
};

/// The same for many sets of multicasts: keeps its tables of the machine between them, as
/// NetworkPricer does. `topology` and `machine` must outlive it.
class MulticastPricer {
 public:
  MulticastPricer(const Topology& topology, const Machine& machine);
  ~MulticastPricer();
  MulticastPricer(const MulticastPricer&) = delete;
  MulticastPricer& operator=(const MulticastPricer&) = delete;

  Result<std::optional<BestMulticast>> best(std::span<const Multicast> multicasts);

  /// What multicasts have in common whatever they carry; their bytes and transactions are ignored.
  /// Empty as `best` is.
  std::optional<MulticastPattern> pattern(std::vector<Multicast> multicasts);
  /// The cheapest mechanism where every multicast of a pattern carries so many bytes, at least 1.
  /// Law: equal to `best` of these multicasts. Empty where the sum of bytes does not fit an int64.
  std::optional<BestMulticast> best(const MulticastPattern& pattern, std::int64_t bytes,
                                    std::int64_t transactions) const;

 private:
  bool all_fill_boxes(std::span<const Multicast> multicasts) const;

  struct Tables;
  const Topology& topology_;
  const Machine& machine_;
  std::unique_ptr<Tables> tables_;
};

}  // namespace tessera::fabric
