// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/memory/advice.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {
namespace {

constexpr std::size_t kNamed = 5;  ///< live buffers that a sentence names

/// The section with the largest need, and its size; empty when `capacity` is enough for all.
struct Worst {
  std::int32_t section = 0;
  std::int64_t needed = 0;
  bool certain = true;
};

std::optional<Worst> worst_section(const Problem& problem, const Packing& packing,
                                   std::int64_t capacity, std::span<const std::int64_t> offsets) {
  Worst worst;
  for (std::int32_t s = 0; s < packing.sections; ++s) {
    const std::int64_t live = packing.live[static_cast<std::size_t>(s)];
    if (live > worst.needed) worst = {s, live};
  }
  if (worst.needed > capacity) return worst;
  // Then fixed blocks end too high, or the plan has holes: take the section where it is highest.
  std::int64_t end = 0;
  std::int32_t highest = -1;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (problem.buffers[i].size == 0 || i >= offsets.size()) continue;
    const std::int64_t own = offsets[i] + problem.buffers[i].size;
    if (own <= end) continue;
    end = own;
    highest = packing.block_of[i];
  }
  if (highest < 0 || end <= capacity) return std::nullopt;
  const Block& block = packing.blocks[static_cast<std::size_t>(highest)];
  worst = {block.from, end, std::max<std::int64_t>(block.fixed, 0) + block.size > capacity};
  for (std::int32_t s = block.from; s < block.to; ++s) {
    const auto live = [&](std::int32_t at) { return packing.live[static_cast<std::size_t>(at)]; };
    if (live(s) > live(worst.section)) worst.section = s;
  }
  return worst;
}

/// The bytes that a block occupies in a section; 0 in a gap that keeps nothing.
std::int64_t bytes_in(const Packing& packing, std::size_t b, std::int32_t section) {
  const Block& block = packing.blocks[b];
  if (!packing.has_gaps()) return block.from <= section && section < block.to ? block.size : 0;
  for (const Strip& strip : packing.strips_of(b)) {
    if (strip.from <= section && section < strip.to) return strip.high - strip.low;
  }
  return 0;
}

}  // namespace

Result<std::optional<Shortfall>> shortfall(const Problem& problem, std::int64_t capacity,
                                           std::span<const std::int64_t> offsets) {
  TESSERA_TRY(const Packing packing, pack(problem));
  const std::optional<Worst> worst = worst_section(problem, packing, capacity, offsets);
  if (!worst) return std::optional<Shortfall>();
  Shortfall out;
  out.capacity = capacity;
  out.needed = worst->needed;
  out.certain = worst->certain;
  out.moment = packing.moment[static_cast<std::size_t>(worst->section)];
  // Of the buffers of a block, the largest that is live now represents it.
  std::vector<std::int64_t> speaker(packing.blocks.size(), -1);
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (packing.block_of[i] < 0) continue;
    const auto block = static_cast<std::size_t>(packing.block_of[i]);
    if (bytes_in(packing, block, worst->section) == 0) continue;
    std::int64_t& best = speaker[block];
    const auto rank = [&](std::int64_t buffer) {
      const Buffer& b = problem.buffers[static_cast<std::size_t>(buffer)];
      return std::pair(b.lower <= out.moment && out.moment < b.upper, b.size);
    };
    if (best < 0 || rank(static_cast<std::int64_t>(i)) > rank(best)) {
      best = static_cast<std::int64_t>(i);
    }
  }
  for (std::size_t b = 0; b < speaker.size(); ++b) {
    if (speaker[b] < 0) continue;
    out.live.push_back(
        {static_cast<std::size_t>(speaker[b]), bytes_in(packing, b, worst->section)});
  }
  std::sort(out.live.begin(), out.live.end(), [](const auto& a, const auto& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.buffer < b.buffer;
  });
  return std::optional<Shortfall>(std::move(out));
}

std::string describe(const Shortfall& shortfall, const std::vector<std::string>& names,
                     std::string_view when, std::string_view where) {
  std::string text;
  if (!where.empty()) text = cat(where, ": ");
  text += shortfall.certain
              ? cat("at ", when, ", ", shortfall.needed, " bytes are live")
              : cat("the best plan found needs ", shortfall.needed, " bytes, at ", when);
  text += cat(", ", shortfall.missing(), " more than the capacity of ", shortfall.capacity, ": ");
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < shortfall.live.size(); ++i) {
    const Shortfall::Live& live = shortfall.live[i];
    if (i >= kNamed) {
      rest += live.bytes;
      continue;
    }
    const std::string name =
        live.buffer < names.size() ? quote_name(names[live.buffer]) : cat("buffer ", live.buffer);
    text += cat(i == 0 ? "" : ", ", name, " ", live.bytes);
  }
  if (shortfall.live.size() > kNamed) {
    text += cat(" and ", shortfall.live.size() - kNamed, " more of ", rest);
  }
  return text;
}

Error does_not_fit(const Shortfall& shortfall, const std::vector<std::string>& names,
                   std::string_view when, std::string_view where) {
  return Error{ErrorCode::kDoesNotFit, describe(shortfall, names, when, where), std::nullopt,
               "reduce what is live at that moment"};
}

}  // namespace tessera::memory
