// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/exchange/agreement/note.h"

namespace tessera::exchange {

/// The subject of a decision. If ranks have different subjects for the same decision number, they
/// are at different points of the program.
enum class Subject : std::uint8_t {
  kSettle,   ///< whether all ranks succeed
  kSum,      ///< {total number of entries, high and low 64 bits of each}
  kLargest,  ///< {total number of entries, each}
  kVote,     ///< which hash the most ranks have: see Vote
  kCount,    ///< which ranks have which hash: see Count
  kReport,   ///< two ranks send their facts to all others: see report() in same.cc
};
inline constexpr int kSubjects = 6;

/// An error, and the rank that it is about.
struct Fault {
  std::int64_t rank = 0;
  Error error;
};

/// The contribution of a rank, and then of the whole subtree below it, to a decision. A fault takes
/// precedence over everything else; of two faults, the one of the lower rank wins.
struct Contribution {
  Subject subject = Subject::kSettle;
  std::optional<Fault> fault;
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;

  /// Merges the contribution of the subtree at `rank_below`, whose ranks are all higher than
  /// `rank`.
  /// Law: the result at the root does not depend on the shape of the tree (for a vote: whether
  /// there is a majority). If the two do not match, that is a fault of `rank_below`.
  void merge(int rank, const Contribution& below, int rank_below);
};

void write(NoteWriter& note, const Contribution& contribution);
/// reader.good() tells whether there was a valid one.
Contribution read_contribution(NoteReader& reader);

/// Numbers of a contribution for kVote. `hash` has `weight` more votes than all others together can
/// take from it, which finds the majority if there is one (R. S. Boyer and J S. Moore, "MJRTY: A
/// Fast Majority Vote Algorithm", 1991). Merging two votes subtracts the lighter weight from the
/// heavier.
struct Vote {
  enum : std::size_t { kHash, kWeight, kAlike, kHashOfLowest, kNumbers };
};
/// Numbers of a contribution for kCount, after all ranks know which hash won the vote: how many
/// ranks have it, the lowest of them, the lowest rank with another hash, and the lowest rank whose
/// hash differs from that of rank 0.
struct Count {
  enum : std::size_t { kHaving, kFirst, kDiffers, kDiffersFromRoot, kNumbers };
  static constexpr std::int64_t kNobody = INT64_MAX;
};

}  // namespace tessera::exchange
