// SPDX-License-Identifier: Apache-2.0
#include "tools/targets/sentences.h"

#include <array>
#include <charconv>

#include "tessera/base/text.h"
#include "tessera/target/fit.h"
#include "tools/terminal/text.h"

namespace tessera::tools {

std::string sentence(const Machine& machine, const std::vector<Figure>& figures) {
  const auto evidence_of = [&](const Figure& figure) {
    return figure.path.empty() ? std::nullopt : machine.evidence(figure.path);
  };
  std::string out;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    out += cat(i == 0 ? "" : ", ", figures[i].text);
    const std::optional<target::Evidence> evidence = evidence_of(figures[i]);
    const bool last = i + 1 == figures.size() || evidence_of(figures[i + 1]) != evidence;
    if (evidence && last) out += cat(" (", target::evidence_name(*evidence), ")");
  }
  return out;
}

std::string decimal(double number) {
  std::array<char, 40> buffer{};
  constexpr int kDigits = 6;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                 std::chars_format::general, kDigits)
                       .ptr;
  return {buffer.data(), end};
}

std::string count_of(double count, std::string_view singular) {
  return cat(decimal(count), " ", singular, count == 1 ? "" : "s");
}

std::string ranges_text(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    out += cat(out.empty() ? "" : ", ", numbers[i]);
    if (end > i + 1) out += cat("-", numbers[end - 1]);
    i = end;
  }
  return out;
}

namespace {

void add_bandwidth(std::string_view verb, const target::Bandwidth& bandwidth, std::string_view path,
                   std::vector<Figure>& out) {
  constexpr double kGiga = 1e9;
  if (bandwidth.bytes_per_cycle) {
    out.push_back({cat(verb, count_of(*bandwidth.bytes_per_cycle, "byte"), " per cycle"),
                   cat(path, "/bytes_per_cycle")});
  } else if (bandwidth.bytes_per_second) {
    out.push_back({cat(verb, decimal(*bandwidth.bytes_per_second / kGiga), " GB/s"),
                   cat(path, "/bytes_per_second")});
  }
}

/// "reached at router [3, 0]", or how many routers there are to choose from.
std::string at_text(const target::MemorySpace& space) {
  constexpr std::size_t kMostListed = 4;
  std::size_t most = 0;
  for (const auto& routers : space.at) most = std::max(most, routers.size());
  if (space.at.size() > 1 || most > kMostListed) {
    const std::string_view each = space.banks ? ", bank by bank" : "";
    return most == 1 ? cat("reached at one router", each)
                     : cat("reached at the nearest of ", most, " routers", each);
  }
  std::string list;
  for (const Place& router : space.at[0]) {
    list += cat(list.empty() ? "" : ", ", bracketed(router));
  }
  return cat("reached at ", most == 1 ? "router " : "the nearest of ", list);
}

}  // namespace

std::string access_sentence(const Machine& machine, std::size_t space_index) {
  const target::MemorySpace& space = machine.memory[space_index];
  const std::string path = cat("/memory/", space_index);
  std::vector<Figure> figures;
  add_bandwidth("read at ", space.read, cat(path, "/read"), figures);
  add_bandwidth("written at ", space.write, cat(path, "/write"), figures);
  add_bandwidth("both in equal parts at ", space.mixed, cat(path, "/mixed"), figures);
  if (!space.at.empty()) figures.push_back({at_text(space), cat(path, "/at")});
  return figures.empty() ? "" : cat(space.name, " is ", sentence(machine, figures));
}

std::vector<std::string> compute_sentences(const Machine& machine) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < machine.compute.size();) {
    const target::ComputeRate& first = machine.compute[i];
    std::vector<Figure> figures;
    std::size_t end = i;
    for (; end < machine.compute.size(); ++end) {
      const target::ComputeRate& rate = machine.compute[end];
      if (rate.unit != first.unit || rate.dtype != first.dtype) break;
      figures.push_back({cat(rate.mode, rate.mode.empty() ? "" : " ", decimal(rate.per_cycle)),
                         cat("/compute/", end, "/per_cycle")});
    }
    out.push_back(cat(first.unit, first.dtype.empty() ? "" : " ", first.dtype, ": ",
                      sentence(machine, figures)));
    i = end;
  }
  return out;
}

std::vector<std::string> rule_sentences(const Machine& machine) {
  const target::Rules& rules = machine.rules;
  std::vector<std::string> out;
  const auto add = [&](std::string_view field, std::string text) {
    out.push_back(sentence(machine, {{std::move(text), cat("/rules/", field)}}));
  };
  if (rules.wavelet_bits) {
    add("wavelet_bits", cat("wavelets of ", count_of(*rules.wavelet_bits, "bit")));
  }
  if (rules.colours) {
    std::string text = count_of(*rules.colours, "colour");
    if (!rules.reserved_colours.empty()) {
      text += cat(", of which ", join(rules.reserved_colours, ", "), " are reserved");
    }
    add("colours", std::move(text));
  }
  if (rules.fabric) {
    const target::Fabric& fabric = *rules.fabric;
    add("fabric", cat("the mesh begins at x = ", fabric.offset_x, ", y = ", fabric.offset_y,
                      " of a fabric ", fabric.width, " wide and ", fabric.height, " high"));
  }
  if (rules.tile) add("tile", cat("tiles of ", rules.tile->rows, "x", rules.tile->cols));
  if (rules.stick_bytes) {
    add("stick_bytes", cat("sticks of ", count_of(*rules.stick_bytes, "byte")));
  }
  if (rules.span_limit_bytes) {
    add("span_limit_bytes", cat("one place reaches at most ",
                                target::size_text(*rules.span_limit_bytes), " of one tensor"));
  }
  return out;
}

}  // namespace tessera::tools
