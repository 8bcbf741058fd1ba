// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tools/alloc/alloc_buffers.h"

namespace tessera::tools {

/// kDoesNotFit, with its span, for the first buffer that is larger than the capacity or fixed
/// beyond it. The buffers may still not fit together.
Status check_capacity(const BufferFile& file, std::string_view text, std::int64_t capacity);

/// The text with the offset of every buffer in the offset column, which is added as the last column
/// where the file has none. Everything else is unchanged.
/// Law: reading it gives the same buffers, each fixed at its offset.
std::string with_offsets(const BufferFile& file, std::string_view text,
                         std::span<const std::int64_t> offsets);

}  // namespace tessera::tools
