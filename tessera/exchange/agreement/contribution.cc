// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement/contribution.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::exchange {
namespace {

constexpr std::array<std::string_view, kSubjects> kSubjectWords = {
    "agrees on an outcome", "sums numbers",   "finds the maximum",
    "compares plans",       "compares plans", "compares plans"};

Error at_odds(const Contribution& mine, int rank, const Contribution& below, int rank_below) {
  const std::string here = cat("rank ", rank);
  const std::string there = cat("rank ", rank_below);
  Error error{ErrorCode::kPlansDiffer, "", std::nullopt,
              "all ranks must call the same collective functions in the same order"};
  if (mine.subject != below.subject) {
    error.message =
        cat(there, " ", kSubjectWords[static_cast<std::size_t>(below.subject)], " where ", here,
            " ", kSubjectWords[static_cast<std::size_t>(mine.subject)]);
  } else {
    const auto all = [](const Contribution& contribution) {
      return contribution.numbers.empty() ? 0 : contribution.numbers.front();
    };
    error.message = cat(there, " contributes ", all(below), " numbers to a reduction where ", here,
                        " contributes ", all(mine));
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
void merge_reports(Contribution& mine, const Contribution& below) {
  for (const std::size_t half : {0, 1}) {
    const std::size_t numbers = mine.numbers.size() / 2;
    const std::size_t texts = mine.texts.size() / 2;
    if (mine.numbers[half * numbers] == 1) continue;
    for (std::size_t i = half * numbers; i < (half + 1) * numbers; ++i) {
      mine.numbers[i] = below.numbers[i];
    }
    for (std::size_t i = half * texts; i < (half + 1) * texts; ++i) mine.texts[i] = below.texts[i];
  }
}

}  // namespace

void Contribution::merge(int rank, const Contribution& below, int rank_below) {
  std::optional<Fault> other = below.fault;
  const bool fits = subject == below.subject &&
                    (below.fault || (numbers.size() == below.numbers.size() &&
                                     texts.size() == below.texts.size() &&
                                     (subject > Subject::kLargest || numbers.empty() ||
                                      numbers.front() == below.numbers.front())));
  if (!other && !fault && !fits) other = Fault{rank_below, at_odds(*this, rank, below, rank_below)};
  if (other && (!fault || other->rank < fault->rank)) fault = std::move(other);
  if (fault) return;
  switch (subject) {
    case Subject::kSettle:
      break;
    case Subject::kSum:
      for (std::size_t i = 1; i + 1 < numbers.size(); i += 2) {
        add_wide(&numbers[i], &below.numbers[i]);
      }
      break;
    case Subject::kLargest:
      for (std::size_t i = 1; i < numbers.size(); ++i) {
        numbers[i] = std::max(numbers[i], below.numbers[i]);
      }
      break;
    case Subject::kVote:
      merge_votes(numbers, below.numbers);
      break;
    case Subject::kCount:
      merge_counts(numbers, below.numbers);
      break;
    case Subject::kReport:
      merge_reports(*this, below);
      break;
  }
}

void write(NoteWriter& note, const Contribution& contribution) {
  note.byte(static_cast<std::uint8_t>(contribution.subject));
  note.byte(contribution.fault ? 1 : 0);
  if (contribution.fault) {  // the rest is ignored then
    note.number(contribution.fault->rank);
    note.error(contribution.fault->error);
    return;
  }
  note.number(static_cast<std::int64_t>(contribution.numbers.size()));
  for (const std::int64_t number : contribution.numbers) note.number(number);
  note.number(static_cast<std::int64_t>(contribution.texts.size()));
  for (const std::string& text : contribution.texts) note.text(text);
}

Contribution read_contribution(NoteReader& reader) {
  Contribution contribution;
  const int subject = reader.byte();
  const int has_fault = reader.byte();
  if (subject >= kSubjects || has_fault > 1) {
    reader.fail();
    return contribution;
  }
  contribution.subject = static_cast<Subject>(subject);
  if (has_fault == 1) {
    const std::int64_t rank = reader.number();
    contribution.fault = Fault{rank, reader.error()};
    return contribution;
  }
  contribution.numbers.resize(static_cast<std::size_t>(reader.count(8)));
  for (std::int64_t& number : contribution.numbers) number = reader.number();
  contribution.texts.resize(static_cast<std::size_t>(reader.count(2)));
  for (std::string& text : contribution.texts) text = reader.text();
  return contribution;
}

}  // namespace tessera::exchange
