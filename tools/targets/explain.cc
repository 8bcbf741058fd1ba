// SPDX-License-Identifier: Apache-2.0
#include "tools/targets/explain.h"

#include "tessera/base/text.h"
#include "tessera/target/fit.h"
#include "tools/targets/sentences.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

std::vector<Figure> space_figures(const target::MemorySpace& space, const std::string& path) {
  std::vector<Figure> figures;
  if (space.owner == target::MemorySpace::Owner::kShared) {
    figures.push_back({"shared by all places", ""});
  }
  if (space.banks) figures.push_back({count_of(*space.banks, "bank"), cat(path, "/banks")});
  figures.push_back({"size not given", ""});
  if (space.bytes) {
    figures.back() = {cat(target::size_text(*space.bytes), " ", target::each_owner(space.owner)),
                      cat(path, "/bytes")};
  }
  const std::optional<std::int64_t> data = space.data_bytes();
  std::string reserves;
  for (const target::Reserve& reserve : space.reserved) {
    reserves +=
        cat(reserves.empty() ? "" : ", ", target::size_text(reserve.bytes), " ", reserve.name);
  }
  if (data && data != space.bytes) {
    figures.push_back({cat(target::size_text(*data), " of it for data"),
                       cat(path, space.usable_bytes ? "/usable_bytes" : "/reserved")});
    if (!reserves.empty()) figures.back().text += cat(" (taken: ", reserves, ")");
  }
  if (space.align_bytes != 1) {
    figures.push_back(
        {cat("aligned to ", count_of(space.align_bytes, "byte")), cat(path, "/align_bytes")});
  }
  return figures;
}

/// 850000000 is "0.85 GHz".
std::string clock_text(const Machine& machine) {
  if (!machine.clock_hz) return "clock: not given";
  constexpr std::int64_t kGiga = 1'000'000'000;
  std::string fraction = std::to_string(kGiga + *machine.clock_hz % kGiga).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  const std::string hertz =
      cat(*machine.clock_hz / kGiga, fraction.empty() ? "" : ".", fraction, " GHz");
  return cat("clock: ", sentence(machine, {{hertz, "/clock_hz"}}));
}

/// A heading, and what follows it indented.
class Page {
 public:
  explicit Page(const Terminal& terminal) : terminal_(&terminal) {}
  void heading(std::string_view text) {
    const std::string lines = wrap(text, *terminal_, "", "  ");
    out_ += cat(paint(*terminal_, Paint::kHeading, lines.substr(0, lines.size() - 1)), "\n");
  }
  void paragraph(std::string_view text) { out_ += wrap(text, *terminal_, "  ", "    "); }
  /// Nothing at all where there are no paragraphs.
  void section(std::string_view title, const std::vector<std::string>& paragraphs) {
    if (!paragraphs.empty()) heading(title);
    for (const std::string& text : paragraphs) paragraph(text);
  }
  std::string text() && { return std::move(out_); }

 private:
  const Terminal* terminal_;
  std::string out_;
};

void explain_mesh(const Machine& machine, Page& page) {
  page.heading("mesh");
  for (std::size_t i = 0; i < machine.mesh.size(); ++i) {
    const target::MeshLevel& level = machine.mesh[i];
    const std::string axes = level.axes.empty() ? "" : cat(" (", join(level.axes, ", "), ")");
    page.paragraph(cat(level.name, ": ", join(level.extents, "x"), axes));
    for (const std::string& text : network_sentences(machine, i)) page.paragraph(text);
  }
  std::string places = cat(count_of(machine.places(), "place"), " in total");
  if (!machine.dead.empty()) places += cat(", ", machine.dead_places().size(), " of them dead");
  page.paragraph(places);
  page.paragraph(clock_text(machine));
  if (machine.op_gap_seconds) {
    constexpr double kMicro = 1e6;
    const std::string gap = cat(decimal(*machine.op_gap_seconds * kMicro), " us");
    page.paragraph(cat("between two ops: ", sentence(machine, {{gap, "/op_gap_seconds"}})));
  }
}

void explain_memory(const Machine& machine, Page& page) {
  page.heading("memory");
  for (std::size_t i = 0; i < machine.memory.size(); ++i) {
    const target::MemorySpace& space = machine.memory[i];
    page.paragraph(
        cat(space.name, ": ", sentence(machine, space_figures(space, cat("/memory/", i)))));
    const std::string access = access_sentence(machine, i);
    if (!access.empty()) page.paragraph(access);
  }
  if (machine.memory.size() > 1) {
    page.paragraph(cat("tensors are in ", machine.data_space,
                       " unless their layout specifies another memory"));
  }
}

}  // namespace

std::string space_text(const target::MemorySpace& space) {
  return cat(space.name, ": ", sentence({}, space_figures(space, "")));
}

std::string explain(const Machine& machine, const Terminal& terminal) {
  Page page(terminal);
  page.heading(cat(machine.name, machine.title.empty() ? "" : ", ", machine.title));
  explain_mesh(machine, page);
  explain_memory(machine, page);
  page.section("compute, per place and cycle", compute_sentences(machine));
  page.section("rules", rule_sentences(machine));
  std::vector<std::string> notes;
  for (const target::Note& note : machine.notes) {
    if (!note.text.empty()) notes.push_back(cat(note.about, ": ", note.text));
  }
  page.section("notes", notes);
  return std::move(page).text();
}

}  // namespace tessera::tools
