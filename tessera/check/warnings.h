// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tessera/check/reading.h"
#include "tessera/notation/notation.h"

namespace tessera::check {

/// Adds findings for what is legal but probably not intended, and with `options.target` for what
/// does not fit the machine:
///
///   waste                 the memory is more than `most_waste` times the data in whole tiles
///   empty_cores           cores of a sharded tensor that hold nothing
///   unusual_core_ranges   ranges that no compiler chooses: not row by row from (0,0)
///
/// `text` is the tensor's text and `layout` the position in it where its layout begins.
void add_warnings(const Tensor& tensor, std::string_view text, std::size_t layout,
                  const CheckOptions& options, Reading& reading);

}  // namespace tessera::check
