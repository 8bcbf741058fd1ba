// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc_print.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "tessera/base/text.h"
#include "tools/alloc_picture.h"
#include "tools/json.h"
#include "tools/words.h"

namespace tessera::tools {
namespace {

using memory::Outcome;

constexpr std::size_t kMostMoments = 5;
constexpr std::size_t kMostLive = 8;
constexpr double kToldSeconds = 1;

std::string decimals(double value, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

/// The fullest stretches, in the order of time.
std::vector<Stretch> fullest(std::span<const Stretch> stretches, std::size_t most) {
  std::vector<Stretch> list(stretches.begin(), stretches.end());
  const std::size_t count = std::min(most, list.size());
  std::partial_sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count), list.end(),
                    [](const Stretch& a, const Stretch& b) {
                      return a.live != b.live ? a.live > b.live : a.from < b.from;
                    });
  list.resize(count);
  return list;
}

/// Why a plan within the capacity was not found: the fullest moment and what lives then.
struct Shortfall {
  Stretch when;
  std::vector<Taken> live;  ///< by size, at most kMostLive
  std::int64_t missing = 0;
};

std::optional<Shortfall> shortfall_of(const AllocAnswer& answer) {
  const memory::Solution& solution = answer.solution;
  if (solution.outcome == Outcome::kFits || !answer.capacity || answer.stretches.empty()) return {};
  Shortfall shortfall;
  shortfall.when = fullest(answer.stretches, 1).front();
  const bool is_proven = solution.outcome == Outcome::kDoesNotFit;
  shortfall.missing = (is_proven ? solution.proven_bound : solution.peak) - *answer.capacity;
  for (const Taken& held : answer.taken) {
    if (held.lower <= shortfall.when.from && held.upper > shortfall.when.from) {
      shortfall.live.push_back(held);
    }
  }
  const std::size_t count = std::min(kMostLive, shortfall.live.size());
  std::partial_sort(shortfall.live.begin(),
                    shortfall.live.begin() + static_cast<std::ptrdiff_t>(count),
                    shortfall.live.end(), [](const Taken& a, const Taken& b) {
                      return a.size != b.size ? a.size > b.size : a.buffer < b.buffer;
                    });
  shortfall.live.resize(count);
  return shortfall;
}

Json shortfall_json(const AllocAnswer& answer) {
  const std::optional<Shortfall> shortfall = shortfall_of(answer);
  if (!shortfall) return nullptr;
  Json json;
  json["moment"] = shortfall->when.from;
  json["live_bytes"] = shortfall->when.live;
  json["live_buffers"] = shortfall->when.count;
  json["missing_bytes"] = shortfall->missing;
  json["largest"] = Json::array();
  for (const Taken& held : shortfall->live) {
    Json item;
    item["id"] = answer.file.ids[held.buffer];
    item["size"] = held.size;
    json["largest"].push_back(std::move(item));
  }
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
      return cat("does not fit: ", buffers, " need at least ", solution.proven_bound, " of ",
                 capacity);
    case Outcome::kUnknown:
      break;
  }
  return cat("unknown: no plan for ", buffers, " in ", capacity,
             " was found, and none was ruled out; the best one needs ", solution.peak);
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
  if (solution.seconds >= kToldSeconds) out += cat(", ", decimals(solution.seconds, 1), " s");
  if (answer.interrupted) out += "; interrupted";
  return out + "\n";
}

std::string shortfall_words(const AllocAnswer& answer, const Shortfall& shortfall,
                            const Terminal& terminal) {
  std::string live;
  for (const Taken& held : shortfall.live) {
    live += cat(live.empty() ? "" : ", ", quote(answer.file.ids[held.buffer]), " ", held.size);
  }
  const std::int64_t more = shortfall.when.count - std::ssize(shortfall.live);
  if (more > 0) live += cat(" and ", more, " more");
  return wrap(cat(count_of(shortfall.missing, "byte is", "bytes are"), " missing; at moment ",
                  shortfall.when.from, ", ",
                  count_of(shortfall.when.live, "byte lives", "bytes live"), ": ", live),
              terminal.width, "  ", "  ");
}

/// Columns that are as wide as their widest cell.
std::string moments_table(std::span<const Stretch> stretches) {
  std::vector<std::array<std::string, 5>> rows = {{"moment", "until", "live", "buffers", "top"}};
  for (const Stretch& stretch : fullest(stretches, kMostMoments)) {
    rows.push_back({std::to_string(stretch.from), std::to_string(stretch.to),
                    std::to_string(stretch.live), std::to_string(stretch.count),
                    std::to_string(stretch.top)});
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
  json["capacity"] = answer.capacity ? Json(*answer.capacity) : Json(nullptr);
  json["interrupted"] = answer.interrupted;
  json["shortfall"] = shortfall_json(answer);
  // An object of so many keys would be searched for each of them.
  std::string out = dump(json);
  out.back() = ',';
  out += "\"offsets\":{";
  for (std::size_t i = 0; i < answer.file.ids.size(); ++i) {
    out += cat(i > 0 ? "," : "", dump(Json(answer.file.ids[i])), ":", solution.offsets[i]);
  }
  return out + "}}";
}

std::string alloc_words(const AllocAnswer& answer, const Terminal& terminal) {
  const Outcome outcome = answer.solution.outcome;
  const Paint colour = outcome == Outcome::kFits         ? Paint::kHeading
                       : outcome == Outcome::kDoesNotFit ? Paint::kError
                                                         : Paint::kWarning;
  std::string out = cat(paint(terminal, colour, headline(answer)), "\n", quality(answer));
  if (const std::optional<Shortfall> shortfall = shortfall_of(answer)) {
    out += shortfall_words(answer, *shortfall, terminal);
  }
  if (answer.stretches.empty()) return out;
  out += cat("fullest moments\n", moments_table(answer.stretches));
  const std::string drawn = plan_picture(answer.taken, answer.file.ids, terminal);
  return drawn.empty() ? out : cat(out, "plan, not to scale\n", drawn);
}

}  // namespace tessera::tools
