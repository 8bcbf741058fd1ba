// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/schedules/program.h"

#include <algorithm>
#include <iterator>

namespace tessera::reshard {

void LegMaker::add(std::int64_t elements, std::span<const std::int32_t> to) {
  // The item occupies the words from `first` to before `end`. It may share its first word with
  // items before it.
  const auto [numerator, denominator] = rate_;
  std::int64_t first = elements_ * numerator / denominator;
  elements_ += elements;
  const std::int64_t end = rate_.of(elements_);
  if (!legs_.empty() && first < legs_.back().first_word + legs_.back().words) {
    Leg shared{first, 1, {}};
    std::set_union(legs_.back().to.begin(), legs_.back().to.end(), to.begin(), to.end(),
                   std::back_inserter(shared.to));
    if (--legs_.back().words == 0) legs_.pop_back();
    legs_.push_back(std::move(shared));
    ++first;
  }
  if (first == end) return;
  if (!legs_.empty() &&
      std::equal(to.begin(), to.end(), legs_.back().to.begin(), legs_.back().to.end())) {
    legs_.back().words += end - first;
  } else {
    legs_.push_back({first, end - first, {to.begin(), to.end()}});
  }
}

RoundTraffic traffic_of(const Round& round) {
  RoundTraffic made;
  std::int64_t words = 0;
  for (std::uint32_t s = 0; s < round.sends.size(); ++s) {
    const Send& send = round.sends[s];
    made.first_words.push_back(words);
    for (const Leg& leg : send.legs) {
      made.traffic.add(send.source, leg.to, words + leg.first_word, leg.words, {});
      made.traffic.messages.back().colour = send.colour;
      made.sends.push_back(s);
    }
    if (!send.legs.empty()) words += send.legs.back().first_word + send.legs.back().words;
  }
  made.traffic.payload.assign(static_cast<std::size_t>(words), 0);
  return made;
}

}  // namespace tessera::reshard
