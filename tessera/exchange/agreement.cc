// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/exchange/agreement/agreement_state.h"

namespace tessera::exchange {
namespace {

using std::chrono::steady_clock;

/// The number of values that fit in a note beside the rest of a contribution.
constexpr std::size_t kNumbersInNote = 500;

/// `high` · 2^64 + `low` in decimal.
std::string wide_text(std::int64_t high, std::uint64_t low) {
  const bool negative = high < 0;
  auto top = static_cast<std::uint64_t>(high);
  if (negative) {
    low = ~low + 1;
    top = ~top + (low == 0 ? 1 : 0);
  }
  std::string digits;
  while (top != 0 || low != 0) {
    // Long division by 10, 32 bits at a time.
    std::uint64_t rest = 0;
    std::uint64_t quotient[4] = {};
    const std::uint64_t parts[4] = {top >> 32, top & 0xffffffff, low >> 32, low & 0xffffffff};
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t part = (rest << 32) | parts[i];
      quotient[i] = part / 10;
      rest = part % 10;
    }
    top = (quotient[0] << 32) | quotient[1];
    low = (quotient[2] << 32) | quotient[3];
    digits += static_cast<char>('0' + rest);
  }
  if (digits.empty()) digits = "0";
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace

Agreement::Agreement(Exchange& exchange, Timeouts timeouts) : exchange_(exchange) {
  std::shared_ptr<AgreementMemory>& memory = exchange.agreement_memory();
  if (!memory) memory = std::make_shared<AgreementMemory>();
  state_ = std::make_unique<State>(State{exchange, timeouts, memory});
}

Agreement::~Agreement() = default;

Error Agreement::numbered(Error error) const {
  if (ranks() > 1) error.message = cat("rank ", rank(), ": ", error.message);
  return error;
}

Status Agreement::settle(const Status& mine) {
  Contribution contribution{Subject::kSettle, std::nullopt, {}, {}};
  if (!mine) contribution.fault = Fault{rank(), numbered(mine.error())};
  TESSERA_TRY([[maybe_unused]] const Contribution outcome, state_->decide(std::move(contribution)));
  return ok_status();
}

Result<std::vector<std::int64_t>> Agreement::sums(std::span<const std::int64_t> mine) {
  std::vector<std::int64_t> sums;
  sums.reserve(mine.size());
  do {
    Contribution contribution{
        Subject::kSum, std::nullopt, {static_cast<std::int64_t>(mine.size())}, {}};
    const std::size_t count = std::min(mine.size() - sums.size(), kNumbersInNote / 2);
    for (const std::int64_t number : mine.subspan(sums.size(), count)) {
      contribution.numbers.push_back(number < 0 ? -1 : 0);
      contribution.numbers.push_back(number);
    }
    TESSERA_TRY(const Contribution outcome, state_->decide(std::move(contribution)));
    for (std::size_t i = 1; i + 1 < outcome.numbers.size(); i += 2) {
      const std::int64_t high = outcome.numbers[i];
      const std::int64_t low = outcome.numbers[i + 1];
      if (high != (low < 0 ? -1 : 0)) {
        return Error{ErrorCode::kOverflow,
                     cat("the sum of number ", sums.size() + 1, " of ", mine.size(), " over ",
                         ranks(), " ranks is ", wide_text(high, static_cast<std::uint64_t>(low)),
                         ", which does not fit a signed 64-bit integer"),
                     std::nullopt, "use smaller extents, or fewer ranks"};
      }
      sums.push_back(low);
    }
  } while (sums.size() < mine.size());
  return sums;
}

Result<std::vector<std::int64_t>> Agreement::largest(std::span<const std::int64_t> mine) {
  std::vector<std::int64_t> largest;
  largest.reserve(mine.size());
  do {
    Contribution contribution{
        Subject::kLargest, std::nullopt, {static_cast<std::int64_t>(mine.size())}, {}};
    const auto part = mine.subspan(largest.size());
    const auto few = part.first(std::min(part.size(), kNumbersInNote - 1));
    contribution.numbers.insert(contribution.numbers.end(), few.begin(), few.end());
    TESSERA_TRY(const Contribution outcome, state_->decide(std::move(contribution)));
    largest.insert(largest.end(), outcome.numbers.begin() + 1, outcome.numbers.end());
  } while (largest.size() < mine.size());
  return largest;
}

Status Agreement::wait(int on, steady_clock::time_point since) {
  exchange_.idle();
  // Without progress the calls follow each other closely, and every fourth is sufficient.
  const bool same = state_->memory->waiting.since == since;
  if (same && ++state_->calls_of_wait % 4 != 0) return ok_status();
  return state_->listen_waiting({on, since});
}

Error Agreement::give_up(const Error& error) {
  const std::optional<FinalError>& final_error = state_->memory->final_error;
  if (!final_error) state_->announce(numbered(error));
  return final_error->error;
}

bool Agreement::is_over() const { return state_->memory->final_error.has_value(); }

bool Agreement::speaks() const {
  const std::optional<FinalError>& final_error = state_->memory->final_error;
  return rank() == (final_error ? final_error->speaker : 0);
}

}  // namespace tessera::exchange
