// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::device {

/// Elements of 16 bits to words of 32 bits, each in the lower half of one; the upper half is 0.
/// The elements may be the last 2·count of the 4·count bytes of the words.
/// Example: bytes 01 02 03 04 become 01 02 00 00 03 04 00 00.
void widen_words(std::byte* words, const std::byte* elements, std::int64_t count);

/// The other way round; upper halves are ignored. The elements may begin where the words do.
void narrow_words(std::byte* elements, const std::byte* words, std::int64_t count);

}  // namespace tessera::device
