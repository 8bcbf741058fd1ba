// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/number_text.h"

#include <array>
#include <charconv>

namespace tessera::target {

std::string number_text(double number) {
  if (number == 0) return "0";  // not -0
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  std::string text(buffer.data(), end);
  // to_chars writes at least two digits of exponent, and its plus sign: 1.4e+10, 8e-07.
  std::size_t at = text.find('e');
  if (at == std::string::npos) return text;
  ++at;
  if (text[at] == '+') {
    text.erase(at, 1);
  } else {
    ++at;
  }
  while (at + 1 < text.size() && text[at] == '0') text.erase(at, 1);
  return text;
}

}  // namespace tessera::target
