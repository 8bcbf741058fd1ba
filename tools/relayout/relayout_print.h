// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "tessera/base/result.h"
#include "tessera/relayout/program.h"

namespace tessera::tools {

/// Bytes that the copies write: elements copied, including replicas, in the destination's storage
/// type. Bytes that fills write are not included.
std::int64_t moved_bytes(const relayout::Program& program);

/// The program as loops for a reader: the fills, then the copies; if there are very many, only the
/// first ones. kTooLarge for more nests than can be listed.
Status print_program_text(const relayout::Program& program, std::ostream& out);

/// The program as one JSON object on one line:
///   nests  [{extent, src_stride, dst_stride, src_offset, dst_offset, src_place, dst_place,
///            src_place_step, dst_place_step}]
///   fills  [{extent, dst_stride, dst_offset, dst_place, dst_place_step, value}]
///   fills_cover_data, bytes
/// `fields` (`"name":value,`) come first.
/// Law: running the fills and then the nests as plain loops reproduces the relayout.
Status print_program_json(const relayout::Program& program, const std::string& fields,
                          std::ostream& out);

}  // namespace tessera::tools
