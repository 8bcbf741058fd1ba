// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/decimal.h"

#include <algorithm>

namespace tessera {

std::string decimal(__int128 number) {
  if (number < 0) return "-" + decimal(-number);
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(number % 10)));
    number /= 10;
  } while (number > 0);
  std::ranges::reverse(digits);
  return digits;
}

}  // namespace tessera
