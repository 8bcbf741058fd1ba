// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/check/check.h"
#include "tessera/check/mlir_scan.h"

namespace tessera::check {

/// What the comments of a file allow.
///
///   `// tessera: allow(waste, empty_cores)`   these codes on its line; alone on a line, on the
///   next
///                                             line that is not such a comment as well
///   `// tessera: allow`                       every code
///   `// tessera: allow-file(waste)`           these codes (or every code) in all of the file
///
/// What follows the closing parenthesis is for people: `allow(waste): measured, fine`.
class Allowance {
 public:
  Allowance(std::string_view text, const std::vector<MlirRemark>& remarks);

  /// Whether the code is allowed on the line of this byte.
  bool allows(std::string_view code, std::int64_t byte) const;
  std::int64_t line_of(std::int64_t byte) const;

 private:
  struct Codes {
    bool all = false;
    std::vector<std::string_view> codes;
    bool has(std::string_view code) const;
    void add(const Codes& more);
  };
  /// The codes behind `word`, or none at all when the remark says something else.
  static bool read(std::string_view remark, std::string_view word, Codes& codes);

  std::string_view text_;
  mutable std::optional<LineIndex> index_;  // made when first needed: most files are silent
  Codes file_;
  std::unordered_map<std::int64_t, Codes> lines_;
};

}  // namespace tessera::check
