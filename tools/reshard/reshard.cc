// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <ostream>
#include <string_view>

#include "tessera/base/text.h"
#include "tools/command/command.h"
#include "tools/command/usage.h"
#include "tools/json/json.h"
#include "tools/reshard/reshard_answer.h"
#include "tools/reshard/reshard_files.h"
#include "tools/reshard/reshard_print.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// Flags of figures, of files, and of ranks.
constexpr std::array<std::string_view, 6> kFigures = {"pairs",    "heat", "no-heat",
                                                      "simulate", "mode", "trace"};
constexpr std::array<std::string_view, 6> kFiles = {
    "mpi", "ranks-of-places", "checksums", "threads", "raw", "progress"};
constexpr std::array<std::string_view, 2> kRanks = {"timeout", "no-shared-memory"};

bool moves(const Request& request) { return request.has("in") || request.has("out"); }

/// Checks which flags may be combined.
Status check_figures(const Request& request) {
  for (const std::string_view name : kFiles) {
    if (!request.has(name)) continue;
    return usage(cat("--", name, " needs --in and --out"),
                 "name the files: --in 'x.{place}.npy' --out 'y.{place}.npy'");
  }
  if (request.has("heat") && request.has("no-heat")) {
    return usage("--heat and --no-heat contradict each other", "omit one of them");
  }
  const bool never = request.has("simulate") && request.text("simulate") == "never";
  for (const std::string_view name : {"trace", "mode"}) {
    if (!never || !request.has(name)) continue;
    return usage(cat("--", name, " applies to a simulation, but --simulate is never"),
                 "omit one of them");
  }
  for (const std::string_view name : {"space-a", "space-b"}) {
    if (!request.has(name) || request.has("target")) continue;
    return usage(cat("--", name, " names a memory of a target, but there is none"), "add --target");
  }
  if (request.has("trace") && request.text("trace").empty()) {
    return usage("--trace names no file", "name one: --trace t.json");
  }
  return ok_status();
}

Status check_files(const Request& request) {
  if (request.has("in") != request.has("out")) {
    const bool has_in = request.has("in");
    return usage(cat("reshard has --", has_in ? "in" : "out", " but no --", has_in ? "out" : "in"),
                 "name both: --in 'x.{place}.npy' --out 'y.{place}.npy'");
  }
  for (const std::string_view name : kFigures) {
    if (!request.has(name)) continue;
    return usage(cat("--", name, " reports costs and cannot be combined with --in and --out"),
                 "omit one of them");
  }
  return ok_status();
}

Status check_flags(const Request& request) {
  TESSERA_CHECK_OK(moves(request) ? check_files(request) : check_figures(request));
  for (const std::string_view name : kRanks) {
    if (!request.has(name) || request.has("mpi")) continue;
    return usage(cat("--", name, " applies to several ranks, but there is one"), "add --mpi");
  }
  if (request.has("staging") && request.number("staging") < 1) {
    return usage(cat("--staging is ", request.number("staging")), "give at least 1 byte");
  }
  const std::int64_t timeout = request.number("timeout");
  if (request.has("timeout") && (timeout < 1 || timeout > kLongestTimeout)) {
    return usage(cat("--timeout is ", timeout, " seconds"),
                 cat("use 1 to ", kLongestTimeout, " seconds"));
  }
  return ok_status();
}

/// An answer without a target that would have to invent places.
void print_unknown(const std::string& unknown, Console& console) {
  const std::string help = "name the machine with --target";
  if (console.json) {
    Json json;
    for (const char* field : {"kind", "bytes", "local_bytes", "messages", "cycles", "seconds"}) {
      json[field] = Json();
    }
    json["warnings"] = Json::array();
    json["warnings"].push_back({{"code", "needs_target"},
                                {"message", cat("not known without a target: ", unknown)},
                                {"help", help}});
    console.out << dump(json) << '\n';
    return;
  }
  console.out << wrap(cat("not known without a target: ", unknown), console.terminal, "", "  ")
              << wrap(help, console.terminal, "  ", "    ");
}

/// The value of a flag that accepts only these words.
template <typename T, std::size_t N>
Result<T> chosen(const Request& request, std::string_view flag, T otherwise,
                 const std::array<std::pair<std::string_view, T>, N>& choices) {
  if (!request.has(flag)) return otherwise;
  const std::string& text = request.text(flag);
  std::vector<std::string_view> names;
  std::string all;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
    all += cat(all.empty() ? "" : ", ", name);
  }
  return Error{ErrorCode::kUnknownName, cat("--", flag, " ", quote(text), " is invalid"),
               std::nullopt, tools::did_you_mean(text, names, cat("use one of ", all))};
}

Result<Verdict> run(const Request& request, Console& console) {
  TESSERA_CHECK_OK(check_flags(request));
  if (moves(request)) return move_files_of_places(request, console);
  ReshardQuestion question;
  question.target = request.text("target");
  question.space_a = request.text("space-a");
  question.space_b = request.text("space-b");
  question.pairs = request.has("pairs");
  question.heat = request.has("heat");
  question.heat_by_default = !console.json && !request.has("no-heat");
  question.relabel = request.has("relabel");
  if (request.has("staging")) question.staging_bytes = request.number("staging");
  question.trace = request.text("trace");
  TESSERA_TRY(question.simulate, (chosen<SimulateWhen, 3>(request, "simulate", SimulateWhen::kAuto,
                                                          {{{"auto", SimulateWhen::kAuto},
                                                            {"always", SimulateWhen::kAlways},
                                                            {"never", SimulateWhen::kNever}}})));
  TESSERA_TRY(question.mode,
              (chosen<fabric::FabricMode, 2>(request, "mode", fabric::FabricMode::kIdeal,
                                             {{{"ideal", fabric::FabricMode::kIdeal},
                                               {"colours", fabric::FabricMode::kStatic}}})));
  if (question.target.empty()) {
    const std::string unknown = unknown_places(request.tensor("a"), request.tensor("b"), question);
    if (!unknown.empty()) {
      print_unknown(unknown, console);
      return Verdict::kYes;
    }
  }
  TESSERA_TRY(const ReshardAnswer answer,
              answer_reshard(request.tensor("a"), request.tensor("b"), question));
  if (console.json) {
    print_reshard_json(answer, console.out);
  } else {
    print_reshard_text(answer, console.out, console.terminal);
  }
  return Verdict::kYes;
}

}  // namespace

Verb reshard_verb() {
  Verb verb;
  verb.name = "reshard";
  verb.summary = "compute the cost of moving a tensor between places, or move it";
  verb.description =
      "Computes what has to cross a mesh to move the data of A to the places of B: the kind of "
      "change, bytes, messages (ordered pairs of places), 32-bit wavelets, wavelet-hops, the load "
      "of the busiest link and ramp under XY routing (along the row, then the column), the longest "
      "route, and the resulting cycles. Each place takes an element from the nearest place that "
      "holds it; data that one place sends to several cross each link once; partial sums are "
      "combined where they arrive. Figures are exact and their cost does not grow with the mesh; "
      "where there are few enough wavelets, they are also simulated one by one, which gives "
      "simulated_cycles. Places are physical: the device maps of A and B are applied; places of "
      "GSPMD and DTensor are device numbers, and against them coordinates are numbered row by row. "
      "Without --target the mesh is the smallest that holds both. With --target the answer also "
      "has "
      "the steps of the move between any memories of the machine (cast, relayout, exchange), their "
      "times, and every algorithm that was considered; figures that the machine lacks are named, "
      "and so are those that are only assumed. A gather that one place cannot hold is refused, "
      "with alternatives, and the exit status is 1. Without --target types are not converted: use "
      "relayout.\n\n"
      "With --in and --out the data are moved: each place of A has a file with its "
      "memory (NumPy .npy, or raw binary .bin and .raw), and so has each place of B. {place} in a "
      "name stands for the place's row-major number on the tensor's own mesh, {place:5} for at "
      "least 5 digits of it, and {rank} for the rank that owns it, with all its places in one "
      "file, [places, slots]. A shard that is a plain box is an array of its shape (in Fortran "
      "order where it is column-major), any other [slots]; undefined padding is 0; bf16, fp8, i4, "
      "i2 and block floats are raw unsigned integers with a sidecar FILE.json. One process does "
      "all the work, or with --mpi the processes of mpirun, each for its places. No file of B "
      "appears before all of them are written; an error is the same on all ranks and is printed "
      "once.";
  verb.positionals = {
      {"a", Positional::Kind::kTensor, "the source tensor and its layout", {}, false},
      {"b", Positional::Kind::kTensor, "the destination tensor and its layout", {}, false}};
  verb.flags = {
      {"target", ValueKind::kText, "T",
       "the machine: its name (see `tessera targets`) or a .json file"},
      {"space-a", ValueKind::kText, "S",
       "the memory of the target that holds A; default the one that its layout names"},
      {"space-b", ValueKind::kText, "S", "the memory that holds B"},
      {"pairs", ValueKind::kSwitch, "", "list every message: source, destination, bytes"},
      {"heat", ValueKind::kSwitch, "",
       "show the load of links over the mesh; the text output shows it by default"},
      {"no-heat", ValueKind::kSwitch, "", "no picture of the links"},
      {"relabel", ValueKind::kSwitch, "",
       "choose places for B on which the fewest bytes cross, and print that B"},
      {"staging", ValueKind::kNumber, "BYTES",
       "split the reshard into rounds in which no place receives more than BYTES; with --in and "
       "--out, the limit on memory for packets in flight per rank (default 64 MiB)"},
      {"simulate", ValueKind::kText, "WHEN",
       "auto (when it takes well under a second), always or never"},
      {"mode", ValueKind::kText, "MODE",
       "simulation mode: ideal (wavelets carry their destination) or colours (static routes, in "
       "phases)"},
      {"trace", ValueKind::kText, "FILE",
       "simulate, and write a timeline for ui.perfetto.dev or chrome://tracing"},
      {"in", ValueKind::kText, "NAMES", "move data: the files of A, such as x.{place}.npy"},
      {"out", ValueKind::kText, "NAMES", "the files of B to write, such as y.{place}.npy"},
      {"mpi", ValueKind::kSwitch, "", "share the work among the processes that mpirun started"},
      {"ranks-of-places", ValueKind::kText, "MAP",
       "which rank owns which places of A and B: blocks (default), cyclic, or one rank per "
       "physical place, 0,0,1,1"},
      {"checksums", ValueKind::kSwitch, "", "check that packets arrive as they were sent"},
      {"timeout", ValueKind::kNumber, "SECONDS",
       "seconds without progress before a rank that does not answer is reported silent, which ends "
       "the run (default 60)",
       "patience"},
      {"threads", ValueKind::kNumber, "N",
       "number of threads; default all cores, with --mpi one per rank"},
      {"no-shared-memory", ValueKind::kSwitch, "",
       "use MPI messages also between ranks of one machine"},
      {"raw", ValueKind::kSwitch, "",
       "files that end neither in .npy nor in .bin or .raw are raw binary"},
      {"progress", ValueKind::kSwitch, "",
       "show the progress of rank 0, even when standard error is not a terminal"}};
  verb.examples = {
      ("tessera reshard 'tensor<64x64xf32, pyflame.Grid(2, 8)>' 'tensor<64x64xf32, pyflame.Grid(4, "
       "4)>' --target wse2"),
      ("tessera reshard 'tensor<64x64xf32, pyflame.Grid(8, 8)>' 'tensor<64x64xf32, "
       "pyflame.SinglePE()>' --target wse2 --json --pairs"),
      "head -c 16384 /dev/zero > w.bin",
      ("tessera reshard 'tensor<64x64xf32, strided<[64, 1]>>' 'tensor<64x64xf32, "
       "pyflame.RowPartition(4)>' --in w.bin --out 'x.{place}.npy'"),
      ("mpirun -n 4 tessera reshard 'tensor<64x64xf32, pyflame.RowPartition(4)>' "
       "'tensor<64x64xf32, pyflame.ColPartition(4)>' --mpi --in 'x.{place}.npy' "
       "--out 'y.{place}.npy'")};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.refusal_is_no = true;
  verb.run = run;
  verb.run_with_mpi = run_with_mpi;
  return verb;
}

}  // namespace tessera::tools
