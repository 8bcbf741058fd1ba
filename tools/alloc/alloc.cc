// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/memory/validate.h"
#include "tools/alloc/alloc_buffers.h"
#include "tools/alloc/alloc_offsets.h"
#include "tools/alloc/alloc_print.h"
#include "tools/alloc/alloc_search.h"
#include "tools/command/bug.h"
#include "tools/command/command.h"
#include "tools/command/search_input.h"
#include "tools/command/usage.h"
#include "tools/files/mapped_file.h"
#include "tools/files/text_file.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// Switches off what --without lists.
Status read_without(std::string_view list, memory::Techniques& techniques) {
  std::vector<std::string_view> names;
  for (const memory::TechniqueName& known : memory::technique_names()) names.push_back(known.name);
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      std::string all;
      for (const std::string_view each : names) all += cat(all.empty() ? "" : ", ", each);
      return Error{ErrorCode::kUnknownName, cat("--without: there is no technique ", quote(name)),
                   std::nullopt, did_you_mean(name, names, cat("the techniques are ", all))};
    }
    const auto at = static_cast<std::size_t>(known - names.begin());
    techniques.*memory::technique_names()[at].field = false;
  }
  return ok_status();
}

/// Checks that the files of --svg and --out can be written, and are not one file.
Status check_output_files(const Request& request) {
  for (const std::string_view name : {"svg", "out"}) {
    if (!request.has(name)) continue;
    const std::string& file = request.text(name);
    if (file.empty() || file == "-") {
      return usage(cat("--", name, " names no file"),
                   cat("as in --", name, " plan.", name == "svg" ? "svg" : "csv"));
    }
    TESSERA_CHECK_OK(check_folder_of(file));
  }
  if (request.has("svg") && is_one_file(request.text("svg"), request.text("out"))) {
    return usage("--svg and --out name the same file", "name two different files");
  }
  if (request.has("svg") && is_one_file(request.text("svg"), request.text("file"))) {
    return usage("--svg names the file of buffers, which the picture would overwrite",
                 "name another file for the picture");
  }
  return ok_status();
}

Result<memory::SolveOptions> read_options(const Request& request) {
  memory::SolveOptions options;
  if (request.has("capacity")) options.capacity = request.number("capacity");
  options.minimize = request.has("minimize") || !options.capacity;
  if (options.capacity.value_or(0) < 0) {
    return Error{ErrorCode::kOutOfRange, cat("--capacity ", *options.capacity, " is negative"),
                 std::nullopt, "give the number of available bytes"};
  }
  if (request.has("seconds")) {
    TESSERA_TRY(options.seconds, read_seconds(request.text("seconds")));
  }
  if (request.has("nodes")) options.nodes = request.number("nodes");
  if (options.nodes < 0) {
    return Error{ErrorCode::kOutOfRange, cat("--nodes ", options.nodes, " is negative"),
                 std::nullopt, "give 0 or more"};
  }
  TESSERA_CHECK_OK(check_output_files(request));
  TESSERA_CHECK_OK(read_without(request.text("without"), options.techniques));
  return options;
}

/// Every plan is validated before it is printed.
Status check_plan(const BufferFile& file, const memory::Solution& solution,
                  std::optional<std::int64_t> capacity) {
  const bool fits = solution.outcome == memory::Outcome::kFits;
  const std::vector<memory::Finding> findings = memory::validate(
      file.problem, solution.offsets, fits ? capacity : std::optional<std::int64_t>{}, 1);
  if (findings.empty()) return ok_status();
  return Error{ErrorCode::kContradiction,
               cat("the plan that was found is invalid: ", findings.front().message), std::nullopt,
               kBugHelp};
}

Result<Verdict> run(const Request& request, Console& console) {
  if (request.has("blocks") && !console.json) {
    return usage("--blocks is a part of the JSON", "add --json");
  }
  TESSERA_TRY(const memory::SolveOptions options, read_options(request));
  const std::string& argument = request.text("file");
  const bool is_standard_input = argument == "-";
  const std::string name = is_standard_input ? "<stdin>" : argument;
  TESSERA_TRY(const std::string text, is_standard_input
                                          ? read_text_stream(console.in, kMostBufferBytes)
                                          : read_text_file(argument, kMostBufferBytes));
  const Result<BufferFile> file = read_buffers(text);
  if (!file) return report_error_in(name, text, file.error(), console);
  if (options.capacity && !console.json) {
    // The answer below names the moment; the line in the file is of more use to a reader.
    const Status alone = check_capacity(*file, text, *options.capacity);
    if (!alone) report_error_in(name, text, alone.error(), console);
  }
  const SearchOutcome found = search_for_plan(file->problem, options, console);
  if (!found.solution) return found.solution.error();
  const memory::Solution& solution = *found.solution;
  TESSERA_CHECK_OK(check_plan(*file, solution, options.capacity));
  AllocAnswer answer{*file, solution, options.capacity,     found.interrupted,
                     {},    {},       request.has("blocks")};
  TESSERA_TRY(answer.blocks, placed_blocks(file->problem, solution.offsets));
  answer.ranges = time_ranges_of(answer.blocks);
  const bool fits = solution.outcome == memory::Outcome::kFits;
  if (!fits) {
    TESSERA_TRY(answer.shortfall,
                memory::shortfall(file->problem, *options.capacity, solution.offsets));
  }
  const bool writes = request.has("out") && fits;
  if (writes) {
    TESSERA_CHECK_OK(write_whole(request.text("out"), with_offsets(*file, text, solution.offsets)));
  }
  if (request.has("svg")) {
    TESSERA_CHECK_OK(write_whole(request.text("svg"), alloc_svg(answer)));
  }
  if (console.json) {
    console.out << alloc_json(answer) << '\n';
  } else {
    console.out << alloc_text(answer, console.terminal);
    if (writes) console.out << "offsets written to " << printable(request.text("out")) << '\n';
    if (request.has("out") && !fits) {
      console.out << printable(request.text("out"))
                  << " is not written: no plan within the capacity was found\n";
    }
    if (request.has("svg"))
      console.out << "picture written to " << printable(request.text("svg")) << '\n';
  }
  return fits ? Verdict::kYes : Verdict::kNo;
}

}  // namespace

Verb alloc_verb() {
  Verb verb;
  verb.name = "alloc";
  verb.is_question = false;
  verb.summary = "find offsets for buffers with lifetimes";
  verb.description =
      "Reads buffers from a CSV file whose first line names its columns. Required: id, lower, "
      "upper (exclusive) and size. Optional: alignment, offset (fixed), hint, alias (the id of the "
      "buffer that contains it), delta, and gaps (times in which it needs only some of its bytes: "
      "7-9 12-13@0:64). Prints an offset for each buffer so that no two that "
      "are live at the same moment share a byte, the peak of the plan, and its gap to the lower "
      "bound, the bytes live at the fullest moment. With --capacity the search ends at the first "
      "plan within it, or at a proof that there is none; with --minimize, and without --capacity, "
      "it continues to the lowest plan. Every plan is validated by code that is independent of the "
      "search. Exit "
      "status: 0 when the plan fits, 1 when none does or the search ended before that was known, 2 "
      "when the file cannot be read. Ctrl-C ends the search with the best plan so far. With "
      "--json: peak, lower_bound, optimal, seconds, outcome (fits, does_not_fit, unknown), "
      "proven_bound, gap, found_by, nodes, capacity, interrupted, shortfall, offsets; with "
      "--blocks also blocks (id, "
      "others, lower, upper, offset, size) and ranges (from, to, live, count, top).";
  verb.positionals = {
      {"file", Positional::Kind::kFile, "a CSV file; or -, for standard input", {}, false}};
  verb.flags = {
      {"capacity", ValueKind::kNumber, "BYTES", "the number of available bytes"},
      {"minimize", ValueKind::kSwitch, "",
       "search for the lowest plan, not only for one that fits"},
      {"blocks", ValueKind::kSwitch, "",
       "with --json: also list every block, and what is live over time"},
      {"svg", ValueKind::kText, "FILE", "draw the plan: address over time"},
      {"out", ValueKind::kText, "FILE",
       "write the CSV file with the offset of each buffer, if the plan fits"},
      {"seconds", ValueKind::kText, "S", "time limit of the search, in seconds; default 10"},
      {"nodes", ValueKind::kNumber, "N",
       "stop after N nodes of the exact search; the same plan on every machine unless "
       "--seconds ends "
       "it first"},
      {"without", ValueKind::kText, "NAMES",
       "switch off techniques of the search, such as dominance,symmetry"}};
  verb.examples = {"tessera alloc examples/buffers.csv --capacity 128",
                   "tessera alloc examples/buffers.csv --minimize --seconds 60 --svg plan.svg",
                   "tessera alloc examples/buffers.csv --capacity 128 --minimize --json"};
  verb.answers_json = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
