// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tessera/base/mutex.h"
#include "tessera/fabric/multicast.h"
#include "tessera/fabric/networks/listed_loads.h"
#include "tessera/fabric/topology.h"
#include "tessera/moves/round_patterns.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// Tables of one machine that prices of moves fill and clear, and what they found out about rounds
/// of collectives. For one price at a time.
struct PriceTables {
  /// What a place sends and receives.
  struct PlaceLoad {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    bool listed = false;
  };
  PriceTables(const Machine& machine, const fabric::Topology& routes)
      : network(routes, machine), multicasts(routes, machine), places(machine.places()) {}

  fabric::NetworkPricer network;
  fabric::MulticastPricer multicasts;
  fabric::ListedLoads<PlaceLoad> places;
  RoundPatterns rounds;
};

/// Keeps the tables of a machine between prices, as many as are priced at the same time: those of a
/// wafer are large, and a price uses little of them.
class PriceTablesPool {
 public:
  /// Tables for one price, which go back when this ends. `machine` and `routes` must be the same
  /// for all of a pool, and outlive it.
  class Lease {
   public:
    Lease(PriceTablesPool& pool, const Machine& machine, const fabric::Topology& routes)
        : pool_(pool), tables_(pool.take()) {
      if (!tables_) tables_ = std::make_unique<PriceTables>(machine, routes);
    }
    ~Lease() { pool_.put_back(std::move(tables_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    PriceTables& operator*() const { return *tables_; }
    PriceTables* operator->() const { return tables_.get(); }

   private:
    PriceTablesPool& pool_;
    std::unique_ptr<PriceTables> tables_;
  };

 private:
  /// Null if all are in use.
  std::unique_ptr<PriceTables> take() {
    const std::lock_guard<Mutex> lock(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<PriceTables> tables = std::move(idle_.back());
    idle_.pop_back();
    return tables;
  }
  void put_back(std::unique_ptr<PriceTables> tables) {
    const std::lock_guard<Mutex> lock(mutex_);
    idle_.push_back(std::move(tables));
  }
  Mutex mutex_;
  std::vector<std::unique_ptr<PriceTables>> idle_;
};

}  // namespace tessera::moves
