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
///   `// tessera: allow(waste, empty_cores)`  these codes on its line; if it is alone on its line,
///                                            also on the next line that is not such a comment
///   `// tessera: allow`                      every code
///   `// tessera: allow-file(waste)`          these codes (or every code) in the whole file
///
/// Text after the closing parenthesis is ignored: `allow(waste): measured, fine`.
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
  /// Reads the codes after `word`; false if the remark does not begin with `word`.
  static bool read(std::string_view remark, std::string_view word, Codes& codes);

  std::string_view text_;
  mutable std::optional<LineIndex> index_;  // made on first use: most files have no such comment
  Codes file_;
  std::unordered_map<std::int64_t, Codes> lines_;
};

}  // namespace tessera::check
