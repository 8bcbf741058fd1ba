// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/transfers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/reshard/flows/expand.h"
#include "tessera/reshard/flows/flows.h"
#include "tessera/reshard/flows/walk.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/transfer_parts.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxListed = std::int64_t{1} << 23;
constexpr std::int64_t kMaxTries = std::int64_t{1} << 32;
constexpr std::int64_t kTriesPerStep = 16;

/// True when a pair is selected.
bool wanted(const TransferChoice& choice, const PairAt& pair) {
  const bool local = pair.source.physical == pair.destination.physical;
  if (!(local ? choice.local : choice.messages)) return false;
  if (choice.source && *choice.source != pair.source.physical) return false;
  return !choice.destination || *choice.destination == pair.destination.physical;
}

/// The virtual places that map to one physical place.
std::vector<std::int64_t> places_at(const PlaceMap& map, std::int64_t physical) {
  std::vector<std::int64_t> found;
  const std::int64_t places = map.mesh().elements();
  for (std::int64_t v = 0; v < places; ++v) {
    if (map.physical(v) == physical) found.push_back(v);
  }
  return found;
}

/// Walks what `choice` selects, with as little work as possible.
template <typename Visitor>
bool walk(const ReshardPart& part, const Flows& flows, const TransferChoice& choice,
          Visitor& visitor) {
  GroupWalk<Visitor> groups(flows, visitor);
  if (choice.destination) {
    for (const std::int64_t place : places_at(part.map_b, *choice.destination)) {
      if (!groups.to(place)) return false;
    }
    return true;
  }
  if (choice.source && flows.nearest.trivial()) {
    for (const std::int64_t place : places_at(part.map_a, *choice.source)) {
      if (!groups.from(place)) return false;
    }
    return true;
  }
  return groups.all();
}

/// Limits the total number of searches for the nearest copy.
Status check_tries(const Flows& flows) {
  const std::int64_t tries = flows.nearest.tries();
  if (tries == 1) return ok_status();
  const std::int64_t all = (Checked(flows.choices()) * tries).saturated();
  if (all <= kMaxTries) {
    if (!Work::reserve(all / kTriesPerStep)) return Work::too_large("finding the nearest source");
    return ok_status();
  }
  return Error{
      ErrorCode::kTooLarge,
      cat("finding the nearest source would compare ", all, " distances, more than ", kMaxTries),
      std::nullopt, "keep fewer replicas, or use a device map along rows and columns"};
}

/// Passes transfers on immediately.
struct Stream {
  const TransferChoice& choice;
  const std::function<Status(const Transfer&)>& visit;
  Status outcome = ok_status();

  bool wants(const PairAt& pair) const { return wanted(choice, pair); }
  bool take(const Transfer& transfer) {
    Status visited = visit(transfer);
    if (visited.ok()) return true;
    outcome = std::move(visited);
    return false;
  }
};

/// A transfer that is kept until it can be grouped with the others of its pair.
struct Listed {
  Transfer transfer;
  std::size_t first_loop = 0;
};

/// Keeps transfers until all are listed.
struct Listing {
  const TransferChoice& choice;
  std::vector<Listed> listed = {};
  std::vector<BoxLoop> loops = {};

  bool wants(const PairAt& pair) const { return wanted(choice, pair); }
  bool take(const Transfer& transfer) {
    // Loops take memory too: the same amount when every transfer has four.
    if (static_cast<std::int64_t>(std::max(listed.size(), loops.size() / 4)) >= kMaxListed) {
      return false;
    }
    listed.push_back({transfer, loops.size()});
    loops.insert(loops.end(), transfer.loops.begin(), transfer.loops.end());
    return true;
  }

  Status visit_all(const std::function<Status(const Transfer&)>& visit) {
    std::vector<std::size_t> order(listed.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto pair = [&](std::size_t i) {
      return std::pair(listed[i].transfer.source, listed[i].transfer.destination);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
      return pair(x) != pair(y) ? pair(x) < pair(y) : x < y;
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      Transfer& transfer = listed[order[i]].transfer;
      transfer.begins_pair = i == 0 || pair(order[i - 1]) != pair(order[i]);
      transfer.loops = {loops.data() + listed[order[i]].first_loop, transfer.loops.size()};
      TESSERA_CHECK_OK(visit(transfer));
    }
    return ok_status();
  }
};

Error too_many_listed(std::int64_t most) {
  return Error{ErrorCode::kTooLarge,
               cat("putting the transfers of each pair together would list more than ", most),
               std::nullopt, "ask for one destination at a time, or use placements of one piece"};
}

/// Adds up the elements of the selected pairs.
class PairList {
 public:
  PairList(std::int64_t most, const TransferChoice& choice) : most_(most), choice_(choice) {}
  void enter(std::size_t, const SegmentGroup&) {}
  bool leave(const PairAt& pair) {
    if (!wanted(choice_, pair)) return true;
    pairs_.push_back({pair.source.physical, pair.destination.physical, pair.elements, 0});
    if (static_cast<std::int64_t>(pairs_.size()) < limit_) return true;
    join();
    limit_ = std::max(limit_, 2 * static_cast<std::int64_t>(pairs_.size()));
    return static_cast<std::int64_t>(pairs_.size()) <= most_;
  }
  /// Sorts, and merges what several boxes or shares send from one place to another.
  void join() {
    std::sort(pairs_.begin(), pairs_.end(), [](const PairBytes& x, const PairBytes& y) {
      return std::pair(x.source, x.destination) < std::pair(y.source, y.destination);
    });
    std::size_t kept = 0;
    for (const PairBytes& pair : pairs_) {
      if (kept > 0 && pairs_[kept - 1].source == pair.source &&
          pairs_[kept - 1].destination == pair.destination) {
        pairs_[kept - 1].elements += pair.elements;
      } else {
        pairs_[kept++] = pair;
      }
    }
    pairs_.resize(kept);
  }
  std::vector<PairBytes>& pairs() { return pairs_; }

 private:
  const std::int64_t most_;
  const TransferChoice& choice_;
  std::int64_t limit_ = std::int64_t{1} << 20;
  std::vector<PairBytes> pairs_;
};

}  // namespace

namespace {

/// One part of what is chosen; a choice of one place has only one part.
Status list_part(const Reshard& reshard, const TransferChoice& choice, const TransferPart& wanted,
                 const std::function<Status(const Transfer&)>& visit) {
  Listing listing{choice};
  for (const ReshardPart& part : reshard.parts()) {
    TESSERA_TRY(const Flows flows, flows_of(part, reshard.physical()));
    TESSERA_CHECK_OK(check_tries(flows));
    if (reshard.parts().size() == 1 && flows.distinct) {
      Stream stream{choice, visit};
      Expansion<Stream> expansion(flows, stream);
      if (wanted.parts > 1) {
        GroupWalk<Expansion<Stream>>(flows, expansion).part(wanted.number, wanted.parts);
      } else {
        walk(part, flows, choice, expansion);
      }
      return stream.outcome;
    }
    if (wanted.number > 0) return ok_status();
    Expansion<Listing> expansion(flows, listing);
    if (!walk(part, flows, choice, expansion)) return too_many_listed(kMaxListed);
  }
  return listing.visit_all(visit);
}

}  // namespace

Status for_each_transfer(const Reshard& reshard, const TransferChoice& choice,
                         const std::function<Status(const Transfer&)>& visit) {
  return list_part(reshard, choice, {}, visit);
}

Status for_each_transfer_of(const Reshard& reshard, const TransferPart& part,
                            const std::function<Status(const Transfer&)>& visit) {
  return list_part(reshard, {}, part, visit);
}

Result<std::vector<PairBytes>> pairs_of(const Reshard& reshard, std::int64_t most,
                                        const TransferChoice& choice) {
  PairList list(most, choice);
  bool fits = true;
  for (const ReshardPart& part : reshard.parts()) {
    TESSERA_TRY(const Flows flows, flows_of(part, reshard.physical()));
    TESSERA_CHECK_OK(check_tries(flows));
    fits = fits && walk(part, flows, choice, list);
  }
  list.join();
  if (!fits || static_cast<std::int64_t>(list.pairs().size()) > most) {
    return Error{ErrorCode::kTooLarge, cat("there are more than ", most, " messages or copies"),
                 std::nullopt, "use their sums instead, or raise the limit"};
  }
  for (PairBytes& pair : list.pairs()) pair.bytes = reshard.bytes(pair.elements);
  return std::move(list.pairs());
}

}  // namespace tessera::reshard
