// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/array.h"
#include "tessera/base/result.h"
#include "tessera/base/text.h"
#include "tessera/memory/problem.h"

namespace tessera::memory {

/// No sum of sizes, and no given offset, may exceed this.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;
inline constexpr std::size_t kMostBuffers = std::size_t{1} << 30;

/// Makes error messages about buffers, with the names that the caller gave them.
class Complaints {
 public:
  explicit Complaints(const std::vector<std::string>& names) : names_(names) {}

  std::string name(std::size_t buffer) const {
    return buffer < names_.size() ? printable(names_[buffer]) : cat("buffer ", buffer);
  }
  Error about(std::size_t buffer, ErrorCode code, std::string_view message,
              std::string help) const {
    const auto at = static_cast<std::int64_t>(buffer);
    return Error{code, cat(name(buffer), " ", message), Span{at, at + 1}, std::move(help)};
  }
  Error bad(std::size_t buffer, std::string_view message, std::string help) const {
    return about(buffer, ErrorCode::kBadBuffer, message, std::move(help));
  }
  Error too_many_bytes(std::size_t buffer) const {
    return about(buffer, ErrorCode::kOverflow,
                 "brings the bytes of all buffers, with their alignments, above 2^61",
                 "use smaller sizes, offsets and alignments");
  }

 private:
  const std::vector<std::string>& names_;
};

/// Buffers that share memory, as one range.
struct Group {
  std::int64_t lower = INT64_MAX;
  std::int64_t upper = INT64_MIN;
  std::int64_t bytes = 0;
  std::int64_t alignment = 1;
  std::int64_t fixed = -1;
  std::int64_t hint = -1;
  std::int32_t fixed_by = -1;  // the buffer that fixes the offset
};

/// Which buffers share memory.
struct AliasGroups {
  Array<std::int32_t> root;   ///< for each buffer: the outermost buffer that it is a part of
  Array<std::int64_t> delta;  ///< bytes from the root's start to its own
  Array<Group> groups;        ///< by root; empty for other buffers
};

/// Checks every buffer separately and together with those that share its memory.
Status join_aliases(const Problem& problem, const Complaints& complaints, AliasGroups& aliases);

}  // namespace tessera::memory
