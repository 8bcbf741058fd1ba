// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/testing/notation/positions.h"

/// Whether a notation can express a list of positions, found by trying its texts, one after the
/// other, by its owner's rule. Nothing here uses folds or the notations' code; a refusal that
/// contradicts one of these searches is wrong.
namespace tessera::test {

/// True when some text of the notation puts every element at its listed position, with as many
/// slots.
/// For tensors that have elements and no shares, the searches try
///   strided      the only strides that the first steps along each dim allow
///   cute         every way to cut each dim into nested numbers
///   morello      every sequence of packs (up to 3000 prefixes, as for the next two)
///   onednn       every sequence of blocks above every order of dims
///   spyre        every dim_map on one place
///   xla          every order of dims without tiles, and with one tile over one or two dims
///   gspmd        every number of tiles of every dim
///   dtensor      every placement of every mesh dim, with split factors up to 4
///   pyflame      every dim on every PE axis, in blocks of every size
///   metal        every memref, with every linear map
///   metal-today  every shard, with every interval and alignment, from rank 2 on
///   ttnn         every shard of the terms of the TTNN layout document
/// True is a proof. False is a proof for strided, cute, gspmd and pyflame.
bool finds_words(std::string_view notation, const Positions& positions);

// The searches. All of them require tensors with elements.
bool finds_strides(const Positions& positions);
bool finds_modes(const Positions& positions);
bool finds_packs(const Positions& positions);
bool finds_blocks(const Positions& positions);
bool finds_dim_map(const Positions& positions, std::int64_t per_stick);
bool finds_tiling(const Positions& positions);
bool finds_device_tiles(const Positions& positions);
bool finds_shards(const Positions& positions);
bool finds_pe_blocks(const Positions& positions);
bool finds_memref(const Positions& positions);
bool finds_alignments(const Positions& positions);
bool finds_terms(const Positions& positions);

}  // namespace tessera::test
