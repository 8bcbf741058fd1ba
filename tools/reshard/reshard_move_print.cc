// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tessera/base/text.h"
#include "tools/json/json.h"
#include "tools/reshard/reshard_move.h"
#include "tools/reshard/reshard_print.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/text.h"
#include "tools/terminal/times.h"

namespace tessera::tools {
namespace {

double seconds(std::int64_t microseconds) { return static_cast<double>(microseconds) / 1e6; }

}  // namespace

void print_moved_json(const ShardMove& move, const ShardMoved& moved, std::ostream& out) {
  const ShardMoved::Largest& largest = moved.largest;
  Json json;
  json["out"] = move.out;
  json["ranks"] = moved.ranks;
  json["bytes"] = moved.sent_bytes;
  json["local_bytes"] = moved.local_bytes;
  json["packets"] = moved.packets;
  json["max_sent_bytes"] = largest.sent_bytes;
  json["max_received_bytes"] = largest.received_bytes;
  json["max_partners"] = largest.partners;
  json["staged_bytes"] = largest.staged_bytes;
  json["files_read"] = moved.files_read;
  json["files_written"] = moved.files_written;
  json["file_bytes"] = moved.file_bytes;
  json["seconds"] = {{"planning", seconds(largest.planning_us)},
                     {"reading", seconds(largest.reading_us)},
                     {"moving", seconds(largest.moving_us)},
                     {"writing", seconds(largest.writing_us)}};
  if (moved.relabelled) json["relabel"] = relabel_json(*moved.relabelled);
  out << dump(json) << '\n';
}

void print_moved_text(const ShardMove& move, const ShardMoved& moved, std::ostream& out,
                      const Terminal& terminal) {
  const ShardMoved::Largest& largest = moved.largest;
  const auto line = [&](const std::string& text) { out << wrap(text, terminal, "  ", "    "); };
  const std::string heading =
      cat("wrote ", count_of(moved.files_written, "file"), " ", printable(move.out), ": ",
          moved.array.empty() ? "" : cat(moved.array, ", "), bytes_text(moved.file_bytes));
  out << wrap(heading, terminal, "", "  ");
  line(cat("from ", count_of(moved.from_places, "place"), " to ",
           count_of(moved.to_places, "place"), " on ", count_of(moved.ranks, "rank"),
           ", read from ", count_of(moved.files_read, "file")));
  if (moved.ranks > 1) {
    line(cat(bytes_text(moved.sent_bytes), " between ranks in ", count_of(moved.packets, "packet"),
             ", ", bytes_text(moved.local_bytes), " inside ranks"));
    line(cat("one rank sends at most ", bytes_text(largest.sent_bytes), " and receives ",
             bytes_text(largest.received_bytes), ", with ", count_of(largest.partners, "partner"),
             "; packets take at most ", bytes_text(largest.staged_bytes), " on a rank"));
  } else {
    line(cat(bytes_text(moved.local_bytes), " moved"));
  }
  if (moved.relabelled) print_relabelled(*moved.relabelled, out, terminal);
  line(cat("planning ", seconds_text(seconds(largest.planning_us)), ", reading ",
           seconds_text(seconds(largest.reading_us)), ", moving ",
           seconds_text(seconds(largest.moving_us)), ", writing ",
           seconds_text(seconds(largest.writing_us))));
}

}  // namespace tessera::tools
