// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/base/result.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/resharder.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/relabel.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// A reshard of files: the request of `tessera reshard --in .. --out ..` apart from the two
/// tensors.
struct ShardMove {
  std::string in;   ///< names of the files of A (shard_names.h)
  std::string out;  ///< and of B
  bool raw = false;
  std::string target;           ///< a machine's name or file; empty for places by number
  std::string ranks_of_places;  ///< as for rank_maps_of
  bool relabel = false;
  exchange::ResharderOptions options;
  bool progress = false;  ///< show a bar on the error stream
};

/// What was done, in total over all ranks.
struct ShardMoved {
  int ranks = 1;
  std::int64_t from_places = 0;
  std::int64_t to_places = 0;
  std::optional<reshard::Relabelled> relabelled;
  std::int64_t sent_bytes = 0;  ///< between ranks
  std::int64_t local_bytes = 0;
  std::int64_t packets = 0;
  std::int64_t files_read = 0;
  std::int64_t files_written = 0;
  std::int64_t file_bytes = 0;  ///< written
  std::string array;            ///< in a file of this rank
  /// The maximum over the ranks.
  struct Largest {
    std::int64_t sent_bytes = 0;
    std::int64_t received_bytes = 0;
    std::int64_t partners = 0;
    std::int64_t staged_bytes = 0;
    std::int64_t planning_us = 0;
    std::int64_t reading_us = 0;
    std::int64_t moving_us = 0;
    std::int64_t writing_us = 0;
  } largest;
};

/// Reads the files of A, moves the elements, and writes the files of B, all ranks together: every
/// rank handles the files of its places. No file of B has its name before all ranks have written
/// theirs.
/// The outcome is the same on all ranks. Errors: those of the files (shard_files.h), of Reshard and
/// Resharder, and of the flags. After an error no file has been given its name, unless the naming
/// itself failed.
Result<ShardMoved> move_shards(const Tensor& a, const Tensor& b, const ShardMove& move,
                               exchange::Agreement& agreement, Console& console);

void print_moved_json(const ShardMove& move, const ShardMoved& moved, std::ostream& out);
void print_moved_text(const ShardMove& move, const ShardMoved& moved, std::ostream& out,
                      const Terminal& terminal);

}  // namespace tessera::tools
