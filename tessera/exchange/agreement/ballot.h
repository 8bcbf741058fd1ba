// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/exchange/agreement/note.h"

namespace tessera::exchange {

/// What a decision is about. Ranks whose decisions of one number are about different things are at
/// different points of the program.
enum class Motion : std::uint8_t {
  kSettle,   ///< whether all are fine
  kSum,      ///< {how many in all, high and low 64 bits of each}
  kLargest,  ///< {how many in all, each}
  kVote,     ///< which hash most have: see Vote
  kCount,    ///< who has which: see Count
  kTestify,  ///< two ranks tell all the others: see testimony() in same.cc
};
inline constexpr int kMotions = 6;

/// An error, and the rank that it is about.
struct Fault {
  std::int64_t rank = 0;
  Error error;
};

/// What a rank, and then all ranks below it in the tree together, have to say to a decision.
/// A fault outweighs the rest: of two the one of the lower rank.
struct Ballot {
  Motion motion = Motion::kSettle;
  std::optional<Fault> fault;
  std::vector<std::int64_t> numbers;
  std::vector<std::string> words;

  /// Takes in what the ranks at and below `rank_below` say, all higher than `rank`.
  /// Law: what comes out at the root does not depend on the shape of the tree (of a vote: whether
  /// there is a majority). Where the two do not fit together, that is the fault of `rank_below`.
  void merge(int rank, const Ballot& below, int rank_below);
};

void write(NoteWriter& note, const Ballot& ballot);
/// reader.good() says whether there was one.
Ballot read_ballot(NoteReader& reader);

/// Numbers of a ballot for kVote: `hash` has `weight` more votes than all others together can take
/// from it, which finds the majority where there is one (R. S. Boyer and J S. Moore, "MJRTY: A Fast
/// Majority Vote Algorithm", 1991); merging two votes takes the lighter weight from the heavier.
struct Vote {
  enum : std::size_t { kHash, kWeight, kAlike, kHashOfLowest, kNumbers };
};
/// Numbers of a ballot for kCount, once all know which hash had the vote: how many ranks have it,
/// the lowest of them, the lowest that has another, and the lowest that has another than rank 0.
struct Count {
  enum : std::size_t { kHaving, kFirst, kDiffers, kDiffersFromRoot, kNumbers };
  static constexpr std::int64_t kNobody = INT64_MAX;
};

}  // namespace tessera::exchange
