// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement/ballot.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::exchange {
namespace {

constexpr std::array<std::string_view, kMotions> kMotionWords = {
    "settles an outcome", "adds up numbers", "seeks the largest",
    "compares plans",     "compares plans",  "compares plans"};

Error at_odds(const Ballot& mine, int rank, const Ballot& below, int rank_below) {
  const std::string here = cat("rank ", rank);
  const std::string there = cat("rank ", rank_below);
  Error error{ErrorCode::kPlansDiffer, "", std::nullopt,
              "all ranks must call the same collective functions in the same order"};
  if (mine.motion != below.motion) {
    error.message = cat(there, " ", kMotionWords[static_cast<std::size_t>(below.motion)], " where ",
                        here, " ", kMotionWords[static_cast<std::size_t>(mine.motion)]);
  } else {
    const auto all = [](const Ballot& ballot) {
      return ballot.numbers.empty() ? 0 : ballot.numbers.front();
    };
    error.message = cat(there, " brings ", all(below), " numbers to a decision where ", here,
                        " brings ", all(mine));
  }
  return error;
}

/// a + b of two 128-bit numbers; no number of ranks can overflow them.
void add_wide(std::int64_t* a, const std::int64_t* b) {
  const auto low = static_cast<std::uint64_t>(a[1]) + static_cast<std::uint64_t>(b[1]);
  const std::uint64_t carry = low < static_cast<std::uint64_t>(b[1]) ? 1 : 0;
  const auto high = static_cast<std::uint64_t>(a[0]) + static_cast<std::uint64_t>(b[0]) + carry;
  a[0] = static_cast<std::int64_t>(high);
  a[1] = static_cast<std::int64_t>(low);
}

void merge_votes(std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  if (a[Vote::kHash] == b[Vote::kHash]) {
    a[Vote::kWeight] = (Checked(a[Vote::kWeight]) + b[Vote::kWeight]).saturated();
  } else if (a[Vote::kWeight] >= b[Vote::kWeight]) {
    a[Vote::kWeight] -= std::max<std::int64_t>(b[Vote::kWeight], 0);
  } else {
    a[Vote::kHash] = b[Vote::kHash];
    a[Vote::kWeight] = b[Vote::kWeight] - std::max<std::int64_t>(a[Vote::kWeight], 0);
  }
  const bool alike = a[Vote::kHashOfLowest] == b[Vote::kHashOfLowest];
  a[Vote::kAlike] = a[Vote::kAlike] == 1 && b[Vote::kAlike] == 1 && alike ? 1 : 0;
}

void merge_counts(std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  a[Count::kHaving] = (Checked(a[Count::kHaving]) + b[Count::kHaving]).saturated();
  for (std::size_t i = Count::kFirst; i < Count::kNumbers; ++i) a[i] = std::min(a[i], b[i]);
}

/// Each half of the numbers and of the texts comes from one rank, which marks it with a leading 1.
void merge_testimony(Ballot& mine, const Ballot& below) {
  for (const std::size_t half : {0, 1}) {
    const std::size_t numbers = mine.numbers.size() / 2;
    const std::size_t words = mine.words.size() / 2;
    if (mine.numbers[half * numbers] == 1) continue;
    for (std::size_t i = half * numbers; i < (half + 1) * numbers; ++i) {
      mine.numbers[i] = below.numbers[i];
    }
    for (std::size_t i = half * words; i < (half + 1) * words; ++i) mine.words[i] = below.words[i];
  }
}

}  // namespace

void Ballot::merge(int rank, const Ballot& below, int rank_below) {
  std::optional<Fault> other = below.fault;
  const bool fits =
      motion == below.motion && (below.fault || (numbers.size() == below.numbers.size() &&
                                                 words.size() == below.words.size() &&
                                                 (motion > Motion::kLargest || numbers.empty() ||
                                                  numbers.front() == below.numbers.front())));
  if (!other && !fault && !fits) other = Fault{rank_below, at_odds(*this, rank, below, rank_below)};
  if (other && (!fault || other->rank < fault->rank)) fault = std::move(other);
  if (fault) return;
  switch (motion) {
    case Motion::kSettle:
      break;
    case Motion::kSum:
      for (std::size_t i = 1; i + 1 < numbers.size(); i += 2) {
        add_wide(&numbers[i], &below.numbers[i]);
      }
      break;
    case Motion::kLargest:
      for (std::size_t i = 1; i < numbers.size(); ++i) {
        numbers[i] = std::max(numbers[i], below.numbers[i]);
      }
      break;
    case Motion::kVote:
      merge_votes(numbers, below.numbers);
      break;
    case Motion::kCount:
      merge_counts(numbers, below.numbers);
      break;
    case Motion::kTestify:
      merge_testimony(*this, below);
      break;
  }
}

void write(NoteWriter& note, const Ballot& ballot) {
  note.byte(static_cast<std::uint8_t>(ballot.motion));
  note.byte(ballot.fault ? 1 : 0);
  if (ballot.fault) {  // the rest is ignored then
    note.number(ballot.fault->rank);
    note.error(ballot.fault->error);
    return;
  }
  note.number(static_cast<std::int64_t>(ballot.numbers.size()));
  for (const std::int64_t number : ballot.numbers) note.number(number);
  note.number(static_cast<std::int64_t>(ballot.words.size()));
  for (const std::string& text : ballot.words) note.text(text);
}

Ballot read_ballot(NoteReader& reader) {
  Ballot ballot;
  const int motion = reader.byte();
  const int has_fault = reader.byte();
  if (motion >= kMotions || has_fault > 1) {
    reader.fail();
    return ballot;
  }
  ballot.motion = static_cast<Motion>(motion);
  if (has_fault == 1) {
    const std::int64_t rank = reader.number();
    ballot.fault = Fault{rank, reader.error()};
    return ballot;
  }
  ballot.numbers.resize(static_cast<std::size_t>(reader.count(8)));
  for (std::int64_t& number : ballot.numbers) number = reader.number();
  ballot.words.resize(static_cast<std::size_t>(reader.count(2)));
  for (std::string& text : ballot.words) text = reader.text();
  return ballot;
}

}  // namespace tessera::exchange
