// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::relayout {

/// Interleaves k streams of n elements of `element_bytes` bytes:
///
///     out[i·k + j] = streams[j][i]          k in {2, 3, 4}, element_bytes in {1, 2, 4, 8}
///
/// Any alignment. `streaming` writes whole lines that bypass the caches; the caller must then call
/// finish_streaming(). Example: the planes R, G and B of an image become RGBRGB..
void interleave(const std::byte* const* streams, int k, std::byte* out, std::int64_t n,
                int element_bytes, bool streaming);

/// The opposite: streams[j][i] = in[i·k + j].
void deinterleave(const std::byte* in, int k, std::byte* const* streams, std::int64_t n,
                  int element_bytes, bool streaming);

}  // namespace tessera::relayout
