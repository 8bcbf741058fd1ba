// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/reshard_laws.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"
#include "tessera/testing/tuples.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

using Position = std::pair<std::int64_t, std::int64_t>;  // place on its own mesh, slot

/// Performs transfers and records the first mistake.
class Witness {
 public:
  Witness(const ReshardPair& pair, const NaiveReshard& moves)
      : pair_(pair), moves_(moves), wanted_(naive_contents(moves.to)) {
    for (std::size_t x = 0; x < moves.from.size(); ++x) {
      const NaiveHome& home = moves.from[x];
      for (std::size_t share = 0; share < home.shares.size(); ++share) {
        for (const NaivePlace& place : home.shares[share]) {
          held_[{place.place, home.slot}].emplace(static_cast<std::int64_t>(x),
                                                  static_cast<std::int64_t>(share));
        }
      }
    }
  }

  void see(const reshard::Transfer& transfer) {
    const std::pair pair = {transfer.source, transfer.destination};
    const bool first = pair != current_;
    if (first && !seen_.insert(pair).second) wrong(transfer, "comes after other pairs");
    if (first != transfer.begins_pair) wrong(transfer, "is wrong about beginning its pair");
    current_ = pair;
    std::vector<std::int64_t> extents;
    std::int64_t elements = 1;
    for (const reshard::BoxLoop& loop : transfer.loops) {
      if (loop.extent < 2) wrong(transfer, "has a loop of fewer than two steps");
      extents.push_back(loop.extent);
      elements *= loop.extent;
    }
    if (elements != transfer.elements) wrong(transfer, "counts its elements wrongly");
    (transfer.is_local() ? local_[transfer.source] : messages_[pair]) += elements;
    if (!mistake_.empty()) return;
    for_each_tuple(extents, [&](const std::vector<std::int64_t>& i) {
      Position source = {transfer.source_virtual, transfer.source_slot};
      Position destination = {transfer.destination_virtual, transfer.destination_slot};
      for (std::size_t k = 0; k < i.size(); ++k) {
        source.second += i[k] * transfer.loops[k].source_stride;
        destination.second += i[k] * transfer.loops[k].destination_stride;
      }
      move(transfer, source, destination);
    });
  }

  /// Called after all transfers that `choice` selects.
  std::string finish(const reshard::TransferChoice& choice) {
    if (mistake_.empty() && choice.messages && messages_ != moves_.messages) {
      mistake_ = "messages are not those of the reference";
    }
    if (mistake_.empty() && choice.local && local_ != moves_.local) {
      mistake_ = "local copies are not those of the reference";
    }
    if (!mistake_.empty() || !choice.messages || !choice.local) return mistake_;
    for (const auto& [position, content] : wanted_) {
      const NaiveHome& from = moves_.from[at(content.element)];
      const NaiveHome& to = moves_.to[at(content.element)];
      std::map<std::int64_t, int> expected;
      if (naive_alike(from, to)) {
        expected[content.share] = 1;
      } else if (content.share == 0) {
        for (std::size_t i = 0; i < from.shares.size(); ++i) {
          expected[static_cast<std::int64_t>(i)] = 1;
        }
      }
      const auto written = written_.find(position);
      if ((written == written_.end() ? std::map<std::int64_t, int>() : written->second) !=
          expected) {
        return cat("place ", position.first, " slot ", position.second, " of B, element ",
                   content.element, " share ", content.share, ": not written once by each of ",
                   expected.size(), " shares");
      }
    }
    return mistake_;
  }

 private:
  void wrong(const reshard::Transfer& transfer, std::string_view what) {
    if (!mistake_.empty()) return;
    mistake_ = cat("the transfer ", transfer.source, " (", transfer.source_virtual, " slot ",
                   transfer.source_slot, ") -> ", transfer.destination, " (",
                   transfer.destination_virtual, " slot ", transfer.destination_slot, "), share ",
                   transfer.share, ", ", transfer.elements, " elements, ", what);
  }

  void move(const reshard::Transfer& transfer, const Position& source,
            const Position& destination) {
    const auto wanted = wanted_.find(destination);
    if (wanted == wanted_.end()) {
      return wrong(transfer, cat("writes slot ", destination.second, ", which has no element"));
    }
    const std::int64_t x = wanted->second.element;
    const auto held = held_.find(source);
    if (held == held_.end() || !held->second.contains({x, transfer.share})) {
      return wrong(transfer, cat("reads slot ", source.second, " for element ", x,
                                 ", whose share is not there"));
    }
    const NaiveHome& from = moves_.from[at(x)];
    const NaiveHome& to = moves_.to[at(x)];
    const std::int64_t into = naive_alike(from, to) ? transfer.share : 0;
    if (wanted->second.share != into) return wrong(transfer, "goes to another share");
    if (transfer.combines != naive_reduces(from, to)) {
      return wrong(transfer, "is wrong about combining");
    }
    if (transfer.source != physical(from, transfer.source_virtual) ||
        transfer.destination != physical(to, transfer.destination_virtual)) {
      return wrong(transfer, "has places that are not where its memories are");
    }
    if (transfer.source !=
        naive_nearest(pair_.physical, from.shares[at(transfer.share)], transfer.destination)) {
      return wrong(transfer, cat("does not take element ", x, " from the nearest place"));
    }
    ++written_[destination][transfer.share];
  }

  static std::int64_t physical(const NaiveHome& home, std::int64_t place) {
    for (const auto& share : home.shares) {
      for (const NaivePlace& here : share) {
        if (here.place == place) return here.physical;
      }
    }
    return -1;
  }

  const ReshardPair& pair_;
  const NaiveReshard& moves_;
  std::map<Position, NaiveContent> wanted_;
  std::map<Position, std::set<std::pair<std::int64_t, std::int64_t>>> held_;  // (element, share)
  std::map<Position, std::map<std::int64_t, int>> written_;                   // share → times
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> messages_;
  std::map<std::int64_t, std::int64_t> local_;
  std::set<std::pair<std::int64_t, std::int64_t>> seen_;
  std::pair<std::int64_t, std::int64_t> current_ = {-1, -1};
  std::string mistake_;
};

std::string refused(std::string_view what, const Error& error) {
  return cat(what, " refuses: ", code_name(error.code), ": ", error.message);
}

}  // namespace

std::string make_mistake(const ReshardPair& pair) {
  // Empty boxes of pieces intersect nothing, so make() does not check their places.
  if (pair.from.shape().empty() && (pair.from.pieces() || pair.to.pieces())) return "";
  const std::set<ErrorCode> codes = naive_refusals(pair.from, pair.to, pair.physical);
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (reshard.ok() && codes.empty()) return "";
  if (reshard.ok()) return cat("made, in spite of ", code_name(*codes.begin()));
  if (codes.empty() || !codes.contains(reshard.error().code)) {
    return refused("Reshard::make", reshard.error());
  }
  return reshard.error().message.empty() ? "an error without a message" : "";
}

std::string transfer_mistake(const ReshardPair& pair, const NaiveReshard& moves) {
  return list_mistake(pair, moves, reshard::for_each_transfer);
}

std::string list_mistake(const ReshardPair& pair, const NaiveReshard& moves,
                         const TransferLister& list) {
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok()) return refused("Reshard::make", reshard.error());
  constexpr reshard::TransferChoice kChoices[] = {
      {.messages = true, .local = true},
      {.messages = true, .local = false},
      {.messages = false, .local = true},
  };
  for (const reshard::TransferChoice& choice : kChoices) {
    Witness witness(pair, moves);
    std::string stray;
    const Status status = list(*reshard, choice, [&](const reshard::Transfer& transfer) {
      if (!(transfer.is_local() ? choice.local : choice.messages)) stray = "not asked for";
      witness.see(transfer);
      return ok_status();
    });
    if (!status.ok()) return refused("for_each_transfer", status.error());
    if (!stray.empty()) return "a local copy or a message comes without being asked for";
    if (std::string mistake = witness.finish(choice); !mistake.empty()) return mistake;
  }
  return "";
}

std::string filter_mistake(const ReshardPair& pair, const NaiveReshard& moves) {
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok()) return refused("Reshard::make", reshard.error());
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> all = moves.messages;
  for (const auto& [place, elements] : moves.local) all[{place, place}] = elements;
  const std::int64_t places = pair.physical.mesh.elements();
  // One place as a source, another as a destination: these differ from pair to pair.
  for (const bool by_source : {true, false}) {
    const std::int64_t place = (static_cast<std::int64_t>(all.size()) * 7 + by_source) % places;
    reshard::TransferChoice choice;
    (by_source ? choice.source : choice.destination) = place;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> seen;
    const Status status =
        reshard::for_each_transfer(*reshard, choice, [&](const reshard::Transfer& transfer) {
          seen[{transfer.source, transfer.destination}] += transfer.elements;
          return ok_status();
        });
    if (!status.ok()) return refused("for_each_transfer", status.error());
    auto expected = all;
    std::erase_if(expected, [&](const auto& entry) {
      return (by_source ? entry.first.first : entry.first.second) != place;
    });
    if (seen != expected) {
      return cat("transfers ", by_source ? "from" : "to", " place ", place,
                 " are not those of the reference");
    }
  }
  return "";
}

std::string pairs_mistake(const ReshardPair& pair, const NaiveReshard& moves) {
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok()) return refused("Reshard::make", reshard.error());
  std::vector<reshard::PairBytes> expected;
  for (const auto& [ends, elements] : moves.messages) {
    expected.push_back({ends.first, ends.second, elements, naive_bytes(pair.from, elements)});
  }
  const auto count = static_cast<std::int64_t>(expected.size());
  const Result<std::vector<reshard::PairBytes>> pairs = reshard::pairs_of(*reshard, count);
  if (!pairs.ok()) return refused("pairs_of", pairs.error());
  if (*pairs != expected) return "pairs_of is not the list of messages";
  if (count == 0) return "";
  const Result<std::vector<reshard::PairBytes>> fewer = reshard::pairs_of(*reshard, count - 1);
  if (fewer.ok() || fewer.error().code != ErrorCode::kTooLarge) {
    return cat("pairs_of lists ", count, " where at most ", count - 1, " are wanted");
  }
  return "";
}

}  // namespace tessera::test
