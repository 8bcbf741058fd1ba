// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/result.h"

namespace tessera::tools {

/// What a file of a sharded tensor holds.
enum class ShardKey : std::uint8_t {
  kWhole,  ///< the only place
  kPlace,  ///< one place: its row-major number on the tensor's own mesh
  kRank,   ///< all places of one rank, by increasing number
};

/// The names of the files of a sharded tensor, from one pattern.
///
/// `{place}` stands for the number of a place and `{rank}` for that of a rank; `{place:5}` has at
/// least 5 digits. Law: different numbers have different names.
/// Example: the file of place 3 of "x.{place:2}.npy" is "x.03.npy".
class ShardNames {
 public:
  /// `flag` ("--in") is used in messages, `places` is the number of places of the tensor: only a
  /// tensor of one place may omit the number. Errors: kUsage for no number or two, kSyntax for a
  /// '{' that is not closed, kUnknownName for any other word in braces, kBadNumber for an invalid
  /// number of digits.
  static Result<ShardNames> parse(std::string_view pattern, std::string_view flag,
                                  std::int64_t places);

  ShardKey key() const { return key_; }
  /// The file of a place or rank; the number is ignored where there is one file.
  std::string of(std::int64_t number) const;
  const std::string& pattern() const { return pattern_; }

 private:
  ShardNames() = default;
  std::string pattern_;
  std::string before_;
  std::string after_;
  ShardKey key_ = ShardKey::kWhole;
  std::int64_t digits_ = 0;
};

}  // namespace tessera::tools
