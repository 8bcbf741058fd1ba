// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/refusal.h"

#include <algorithm>

#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

std::string text_of(const Fact& fact, std::string_view form) {
  if (const auto* number = std::get_if<std::int64_t>(&fact.value)) return cat(*number);
  if (const auto* text = std::get_if<std::string>(&fact.value)) return *text;
  const auto& numbers = std::get<std::vector<std::int64_t>>(fact.value);
  if (form.empty()) return bracketed(numbers);
  return join(numbers, form == "x" ? "x" : " and ");
}

/// The words with each "{name}" replaced by the fact of this name.
std::string filled(std::string_view words, const Reason& reason) {
  std::string out;
  while (true) {
    const std::size_t open = std::min(words.find('{'), words.size());
    const std::size_t close = std::min(words.find('}', open), words.size());
    out += words.substr(0, open);
    if (close == words.size()) return out + std::string(words.substr(open));
    const std::string_view hole = words.substr(open + 1, close - open - 1);
    const std::size_t colon = std::min(hole.find(':'), hole.size());
    const std::string_view form = hole.substr(std::min(colon + 1, hole.size()));
    const Fact* const fact = reason.find(hole.substr(0, colon));
    out += fact != nullptr ? text_of(*fact, form) : cat("{", hole, "}");
    words.remove_prefix(close + 1);
  }
}

}  // namespace

Obstacle obstacle(std::string_view reason, std::string_view words, std::vector<Fact> facts) {
  Obstacle what{{}, {reason, std::move(facts)}};
  what.words = filled(words, what.reason);
  return what;
}

Obstacle obstacle_of(const Error& error, std::string_view before) {
  std::string words = cat(before, error.message);
  if (!error.reasons.empty()) return {std::move(words), error.reasons.front()};
  return {std::move(words), {why::kNoText, {fact("code", code_name(error.code))}}};
}

Error as_error(Obstacle what) {
  Error error{ErrorCode::kNotSupported, std::move(what.words)};
  error.reasons.push_back(std::move(what.reason));
  return error;
}

Error cannot_express(std::string_view notation, Obstacle what, std::string_view help) {
  what.words = cat(notation, " cannot express ", what.words);
  Error error = as_error(std::move(what));
  error.help = help;
  return error;
}

}  // namespace tessera::notation
