// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hwy/targets.h"
#include "tessera/relayout/casts/cast.h"

/// What the tests of casts share.
namespace tessera::cast_test {

using Bytes = std::vector<std::byte>;

/// The content of a destination before a cast.
inline constexpr std::byte kCanary{0xA5};

/// Runs `body` for each instruction set that this machine has.
template <typename Body>
void for_each_target(const Body& body) {
  static const std::int64_t all = hwy::SupportedTargets();
  static const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  for (const std::int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(all);
}

/// Every type but i8 .. i64, which are aliases of si8 .. si64.
inline std::vector<DType> different_types() {
  std::vector<DType> types;
  for (const DType type : all_dtypes()) {
    if (type < DType::kI64 || type > DType::kI8) types.push_back(type);
  }
  return types;
}

inline relayout::Cast cast_of(DType from, DType to, relayout::Rounding rounding) {
  Result<relayout::Cast> cast = relayout::Cast::make(from, to, rounding);
  EXPECT_TRUE(cast.ok());
  return *cast;
}

inline std::int64_t bytes_of(DType type, std::int64_t elements) {
  return *dtype_bytes(type, elements);
}

/// Space for elements, filled with canaries.
inline Bytes blank(DType type, std::int64_t elements) {
  return Bytes(static_cast<std::size_t>(bytes_of(type, elements)), kCanary);
}

}  // namespace tessera::cast_test
