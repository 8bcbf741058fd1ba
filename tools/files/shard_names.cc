// SPDX-License-Identifier: Apache-2.0
#include "tools/files/shard_names.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tessera/base/text.h"
#include "tools/command/arguments.h"
#include "tools/command/usage.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kMostDigits = 18;
constexpr std::array<std::string_view, 2> kWords = {"place", "rank"};

/// The text between '{' and '}'.
struct Field {
  ShardKey key = ShardKey::kPlace;
  std::int64_t digits = 0;
};

Result<Field> read_field(std::string_view text, std::string_view flag) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  if (std::find(kWords.begin(), kWords.end(), word) == kWords.end()) {
    return Error{
        ErrorCode::kUnknownName, cat(flag, ": there is no ", quote(cat("{", text, "}"))),
        std::nullopt,
        did_you_mean(word, kWords, "a name has {place} or {rank}, also as {place:5} for 5 digits")};
  }
  Field field;
  field.key = word == "place" ? ShardKey::kPlace : ShardKey::kRank;
  if (colon == std::string_view::npos) return field;
  const Result<std::int64_t> digits = parse_number(text.substr(colon + 1));
  if (!digits || *digits < 1 || *digits > kMostDigits) {
    return Error{ErrorCode::kBadNumber,
                 cat(flag, ": ", quote(text.substr(colon + 1)), " is not a valid number of digits"),
                 std::nullopt, cat("use 1 to ", kMostDigits, ", as in {", word, ":5}")};
  }
  field.digits = *digits;
  return field;
}

}  // namespace

Result<ShardNames> ShardNames::parse(std::string_view pattern, std::string_view flag,
                                     std::int64_t places) {
  if (pattern.empty()) {
    return usage(cat(flag, " names no file"), cat("name them: ", flag, " 'x.{place}.npy'"));
  }
  ShardNames names;
  names.pattern_ = pattern;
  const std::size_t open = pattern.find('{');
  names.before_ = pattern.substr(0, open);
  if (open == std::string_view::npos) {
    if (places == 1) return names;
    return usage(
        cat(flag, " ", quote(pattern), " is a single name for the files of ", places, " places"),
        cat("put the number of the place into the name: ", flag,
            " 'x.{place}.npy', or use one file per rank: 'x.{rank}.npy'"));
  }
  const std::size_t close = pattern.find('}', open);
  if (close == std::string_view::npos) {
    return Error{ErrorCode::kSyntax, cat(flag, " ", quote(pattern), " has a '{' without a '}'"),
                 std::nullopt, "write {place} or {rank}"};
  }
  TESSERA_TRY(const Field field, read_field(pattern.substr(open + 1, close - open - 1), flag));
  names.key_ = field.key;
  names.digits_ = field.digits;
  names.after_ = pattern.substr(close + 1);
  if (names.after_.find('{') != std::string::npos) {
    return usage(cat(flag, " ", quote(pattern), " has more than one '{'"),
                 "a name has one number: {place} or {rank}");
  }
  return names;
}

std::string ShardNames::of(std::int64_t number) const {
  if (key_ == ShardKey::kWhole) return before_;
  std::string digits = std::to_string(number);
  const auto wanted = static_cast<std::size_t>(digits_);
  if (digits.size() < wanted) digits.insert(0, wanted - digits.size(), '0');
  return cat(before_, digits, after_);
}

}  // namespace tessera::tools
