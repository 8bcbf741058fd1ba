// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_print.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "tessera/base/text.h"
#include "tools/alloc/alloc_picture.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

using memory::Outcome;

constexpr std::size_t kMostMoments = 5;
constexpr std::size_t kMostLive = 8;
constexpr double kShownSeconds = 1;

std::string decimals(double value, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

/// The ranges with the most live bytes, most first; the earlier first where they have as many.
std::vector<TimeRange> fullest(std::span<const TimeRange> ranges, std::size_t most) {
  std::vector<TimeRange> list(ranges.begin(), ranges.end());
  const std::size_t count = std::min(most, list.size());
  std::partial_sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count), list.end(),
                    [](const TimeRange& a, const TimeRange& b) {
                      return a.live != b.live ? a.live > b.live : a.from < b.from;
                    });
  list.resize(count);
  return list;
}

Json shortfall_json(const AllocAnswer& answer) {
  if (!answer.shortfall) return nullptr;
  const memory::Shortfall& shortfall = *answer.shortfall;
  std::int64_t bytes = 0;
  Json largest = Json::array();
  for (const memory::Shortfall::Live& live : shortfall.live) {
    bytes += live.bytes;
    if (largest.size() == kMostLive) continue;
    Json item;
    item["id"] = answer.file.ids[live.buffer];
    item["size"] = live.bytes;
    largest.push_back(std::move(item));
  }
  Json json;
  json["moment"] = shortfall.moment;
  json["live_bytes"] = bytes;
  json["live_buffers"] = shortfall.live.size();
  json["missing_bytes"] = shortfall.missing();
  json["certain"] = shortfall.certain;
  json["largest"] = std::move(largest);
  return json;
}

std::string headline(const AllocAnswer& answer) {
  const memory::Solution& solution = answer.solution;
  const std::string buffers = count_of(std::ssize(answer.file.rows), "buffer");
  if (!answer.capacity) return cat(buffers, " in ", count_of(solution.peak, "byte"));
  const std::string capacity = count_of(*answer.capacity, "byte");
  switch (solution.outcome) {
    case Outcome::kFits:
      return cat("fits: ", buffers, " in ", solution.peak, " of ", capacity);
    case Outcome::kDoesNotFit:
      return cat("does not fit: ", buffers, " need at least ",
                 count_of(solution.proven_bound, "byte"), ", ", *answer.capacity, " are available");
    case Outcome::kUnknown:
      break;
  }
  return cat("unknown: no plan for ", buffers, " in ", capacity,
             " was found, but none was excluded; the best plan needs ", solution.peak);
}

std::string quality(const AllocAnswer& answer) {
  const memory::Solution& solution = answer.solution;
  std::string out = cat("  peak ", solution.peak, ", lower bound ", solution.lower_bound, ", gap ",
                        decimals(solution.gap() * 100, 2), " %");
  if (solution.optimal) {
    out += "; no plan is lower\n";
  } else {
    out += cat("; no plan is below ", solution.proven_bound, "\n");
  }
  out += cat("  found by ", solution.found_by);
  if (solution.nodes > 0) out += cat(", ", count_of(solution.nodes, "node"), " searched");
  if (solution.seconds >= kShownSeconds) out += cat(", ", decimals(solution.seconds, 1), " s");
  if (answer.interrupted) out += "; interrupted";
  return out + "\n";
}

/// Columns that are as wide as their widest cell.
std::string moments_table(std::span<const TimeRange> ranges) {
  std::vector<std::array<std::string, 5>> rows = {{"moment", "until", "live", "buffers", "top"}};
  for (const TimeRange& range : fullest(ranges, kMostMoments)) {
    rows.push_back({std::to_string(range.from), std::to_string(range.to),
                    std::to_string(range.live), std::to_string(range.count),
                    std::to_string(range.top)});
  }
  std::array<std::size_t, 5> widths{};
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      out += cat("  ", std::string(widths[c] - row[c].size(), ' '), row[c]);
    }
    out += '\n';
  }
  return out;
}

/// `,"blocks":[..],"ranges":[..]`: where each buffer is when, and what is live over time.
std::string blocks_json(const AllocAnswer& answer) {
  std::string out = ",\"blocks\":[";
  for (std::size_t i = 0; i < answer.blocks.size(); ++i) {
    const PlacedBlock& block = answer.blocks[i];
    out += cat(i > 0 ? "," : "", "{\"id\":", dump(Json(answer.file.ids[block.buffer])),
               ",\"others\":", block.others, ",\"lower\":", block.lower, ",\"upper\":", block.upper,
               ",\"offset\":", block.offset, ",\"size\":", block.size, "}");
  }
  out += "],\"ranges\":[";
  for (std::size_t i = 0; i < answer.ranges.size(); ++i) {
    const TimeRange& range = answer.ranges[i];
    out += cat(i > 0 ? "," : "", "{\"from\":", range.from, ",\"to\":", range.to,
               ",\"live\":", range.live, ",\"count\":", range.count, ",\"top\":", range.top, "}");
  }
  return out + "]";
}

}  // namespace

std::string alloc_json(const AllocAnswer& answer) {
  const memory::Solution& solution = answer.solution;
  Json json;
  json["peak"] = solution.peak;
  json["lower_bound"] = solution.lower_bound;
  json["optimal"] = solution.optimal;
  json["seconds"] = solution.seconds;
  json["outcome"] = memory::outcome_name(solution.outcome);
  json["proven_bound"] = solution.proven_bound;
  json["gap"] = solution.gap();
  json["found_by"] = solution.found_by;
  json["nodes"] = solution.nodes;
  json["capacity"] = answer.capacity;
  json["interrupted"] = answer.interrupted;
  json["shortfall"] = shortfall_json(answer);
  // Inserting that many keys into an object would search it for each of them.
  std::string out = dump(json);
  out.back() = ',';
  out += "\"offsets\":{";
  for (std::size_t i = 0; i < answer.file.ids.size(); ++i) {
    out += cat(i > 0 ? "," : "", dump(Json(answer.file.ids[i])), ":", solution.offsets[i]);
  }
  out += '}';
  if (answer.lists_blocks) out += blocks_json(answer);
  return out + "}";
}

std::string alloc_text(const AllocAnswer& answer, const Terminal& terminal) {
  const Outcome outcome = answer.solution.outcome;
  const Paint colour = outcome == Outcome::kFits         ? Paint::kHeading
                       : outcome == Outcome::kDoesNotFit ? Paint::kError
                                                         : Paint::kWarning;
  std::string out = cat(paint(terminal, colour, headline(answer)), "\n", quality(answer));
  if (answer.shortfall) {
    const std::string when = cat("moment ", answer.shortfall->moment);
    out += wrap(memory::describe(*answer.shortfall, answer.file.ids, when), terminal, "  ", "  ");
  }
  if (answer.ranges.empty()) return out;
  out += cat("fullest moments\n", moments_table(answer.ranges));
  const std::string drawn = plan_picture(answer.blocks, answer.file.ids, terminal);
  return drawn.empty() ? out : cat(out, "plan, not to scale\n", drawn);
}

}  // namespace tessera::tools
