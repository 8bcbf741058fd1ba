// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/size_text.h"

#include <array>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::target {

std::string size_text(std::int64_t bytes) {
  constexpr std::array kUnits = {std::pair{30, std::string_view("GB")},
                                 std::pair{20, std::string_view("MB")},
                                 std::pair{10, std::string_view("KB")}};
  for (const auto& [power, unit] : kUnits) {
    const std::int64_t size = std::int64_t{1} << power;
    if (bytes != 0 && bytes % size == 0) return cat(bytes / size, " ", unit);
  }
  return cat(bytes, bytes == 1 ? " byte" : " bytes");
}

}  // namespace tessera::target
