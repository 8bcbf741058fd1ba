// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/notation/same_places.h"
#include "tessera/relayout/program.h"
#include "tools/command/command.h"
#include "tools/command/usage.h"
#include "tools/json/json.h"
#include "tools/relayout/relayout_files.h"
#include "tools/relayout/relayout_print.h"
#include "tools/terminal/sharing.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// Checks which flags may be combined.
Status check_flags(const Request& request) {
  const bool files = request.has("in") || request.has("out");
  if (request.has("in") != request.has("out")) {
    return usage(cat("relayout has --", request.has("in") ? "in" : "out", " but no --",
                     request.has("in") ? "out" : "in"),
                 "name both files: --in x.npy --out y.npy");
  }
  if (files && request.has("emit")) {
    return usage("--emit moves no data, but --in and --out name files", "omit one of them");
  }
  if (request.has("dry-run") && request.has("emit")) {
    return usage("--dry-run and --emit both specify what to print", "omit one of them");
  }
  for (const std::string_view name : {"threads", "round", "saturate", "raw"}) {
    if (!files && request.has(name)) {
      return usage(cat("--", name, " needs --in and --out"),
                   "name the files: --in x.npy --out y.npy");
    }
  }
  if (request.has("round") && request.has("saturate")) {
    return usage("--saturate rounds too, and --round refuses what it would clip",
                 "give one of them");
  }
  if (request.has("threads") && request.number("threads") < 1) {
    return usage(cat("--threads is ", request.number("threads")), "use at least 1");
  }
  return ok_status();
}

Result<Verdict> emit(const Request& request, const relayout::Program& program, Console& console) {
  const std::string& language = request.text("emit");
  if (language != "c") {
    return Error{ErrorCode::kUnknownName, cat(quote(language), " is not a supported language"),
                 std::nullopt, "a program can be emitted as c"};
  }
  constexpr std::size_t kLongest = 400;
  const auto line = [](std::string_view word, const Tensor& tensor) {
    const std::string text = print_tensor(tensor);
    return cat(word, text.substr(0, kLongest), text.size() > kLongest ? " .." : "", "\n");
  };
  const std::string title = line("from ", request.tensor("a")) + line("to   ", request.tensor("b"));
  TESSERA_TRY(const std::string text, relayout::emit_c(program, "relayout", title));
  if (!console.json) {
    console.out << text;
    return Verdict::kYes;
  }
  Json json;
  json["c"] = text;
  console.out << dump(json) << '\n';
  return Verdict::kYes;
}

FileMove file_move(const Request& request) {
  FileMove files;
  files.in = request.text("in");
  files.out = request.text("out");
  files.raw = request.has("raw");
  files.threads = request.number("threads");
  files.rounding = request.has("saturate") ? relayout::Rounding::kSaturate
                   : request.has("round")  ? relayout::Rounding::kRound
                                           : relayout::Rounding::kChecked;
  files.verify = request.has("verify");
  return files;
}

Result<Verdict> move(const Request& request, Console& console) {
  const FileMove files = file_move(request);
  TESSERA_TRY(const FileMoved moved,
              move_files(request.tensor("a"), request.tensor("b"), files, console));
  const std::string_view verified = !files.verify       ? "nothing"
                                    : moved.is_compared ? "program and result"
                                                        : "program";
  if (console.json) {
    Json json;
    json["out"] = files.out;
    json["file_bytes"] = moved.bytes;
    json["elements"] = moved.elements;
    json["sidecar"] = moved.sidecar.empty() ? Json() : Json(moved.sidecar);
    json["verified"] = verified;
    if (files.rounding == relayout::Rounding::kSaturate) json["clipped"] = moved.clipped;
    console.out << dump(json) << '\n';
    return Verdict::kYes;
  }
  console.out << "wrote " << printable(files.out) << ": " << moved.array << ", "
              << count_of(moved.bytes, "byte") << ", " << count_of(moved.elements, "element")
              << " moved" << '\n';
  if (files.verify) console.out << "verified: " << verified << '\n';
  if (moved.clipped > 0) console.out << "clipped: " << count_of(moved.clipped, "number") << '\n';
  if (!moved.sidecar.empty()) {
    console.out << "wrote " << printable(moved.sidecar) << ": the meaning of the bits\n";
  }
  return Verdict::kYes;
}

/// The program of the two files, or of the two tensors alone.
Result<relayout::Program> program_of(const Request& request) {
  const Tensor& a = request.tensor("a");
  const Tensor& b = request.tensor("b");
  if (request.has("in")) return program_of_files(a, b, file_move(request));
  TESSERA_TRY(relayout::Program program, relayout::make_program(a.placement, b.placement));
  if (request.has("verify")) {
    TESSERA_CHECK_OK(
        check_program(program, a.placement, b.placement, relayout::PaddingRule::kPromised));
  }
  return program;
}

/// Arrays and loops have a row for each place of the mesh, so the places must be named by the mesh.
Status check_places(const Tensor& tensor, std::string_view side) {
  if (PlaceNames::of(tensor).are_places()) return ok_status();
  return Error{
      ErrorCode::kNotSupported,
      cat(side, " lists its devices in an irregular order, which no array over its mesh has"),
      std::nullopt, "use reshard, which has a file for each device"};
}

Result<Verdict> run(const Request& request, Console& console) {
  TESSERA_CHECK_OK(check_flags(request));
  TESSERA_CHECK_OK(check_places(request.tensor("a"), "A"));
  TESSERA_CHECK_OK(check_places(request.tensor("b"), "B"));
  if (request.has("in") && !request.has("dry-run")) return move(request, console);
  TESSERA_TRY(const relayout::Program program, program_of(request));
  const Placement& from = request.tensor("a").placement;
  if (!console.json) console.err << sharing_warning(from, console.terminal);
  if (request.has("emit")) return emit(request, program, console);
  TESSERA_CHECK_OK(console.json ? print_program_json(program, sharing_field(from), console.out)
                                : print_program_text(program, console.out));
  return Verdict::kYes;
}

}  // namespace

Verb relayout_verb() {
  Verb verb;
  verb.name = "relayout";
  verb.summary = "move a tensor from one layout to another";
  verb.description =
      "Moves the elements of a tensor from the source layout A to the destination layout B, in one "
      "address space, and converts their type when the two differ. With --in and --out the memory "
      "of A is read from a file and that of B is written to another, which appears complete or not "
      "at all: NumPy .npy, or raw binary (.bin, .raw). The array of a plain row-major or "
      "column-major tensor has the tensor's shape; that of a layout on a mesh is mesh ++ [slots], "
      "C order; any other is [slots]. Undefined padding is 0 in files. Types without a NumPy name "
      "(bf16, fp8, i4, i2, block floats) are raw unsigned integers with a sidecar FILE.json that "
      "states their type. Without files (or with --dry-run) prints the program: fills, then "
      "copies, as plain loops; with --json nests, fills and bytes (elements copied times their "
      "size in B), strides and offsets in elements, places as mesh coordinates with one step per "
      "loop. --emit c prints a C function of the same loops. Elements of A that overlap, which is "
      "often a typo, are reported first: as shared_slot, or as a warning on standard error. A "
      "number that does not fit B's type "
      "is an error that names its index and value. With --round, fractions round to the nearest "
      "integer, ties to even; with --saturate, what is too large is also clipped to the nearest "
      "number that fits (NaN becomes 0), and clipped states how many numbers that were.";
  verb.positionals = {
      {"a", Positional::Kind::kTensor, "the source tensor and its layout", {}, false},
      {"b", Positional::Kind::kTensor, "the destination tensor and its layout", {}, false}};
  verb.flags = {
      {"dry-run", ValueKind::kSwitch, "",
       "print the loops and write nothing, also with --in and --out; the default without them"},
      {"in", ValueKind::kText, "FILE", "the file that holds the memory of A"},
      {"out", ValueKind::kText, "FILE", "the file to write, with the memory of B"},
      {"raw", ValueKind::kSwitch, "",
       "files that end neither in .npy nor in .bin or .raw are raw binary"},
      {"threads", ValueKind::kNumber, "N", "number of threads; default all cores"},
      {"round", ValueKind::kSwitch, "",
       "fractions round to integers; what is too large is an error"},
      {"saturate", ValueKind::kSwitch, "", "numbers that do not fit become the nearest that fit"},
      {"verify", ValueKind::kSwitch, "",
       "verify the program slot by slot and, where no type is converted, the result byte by byte"},
      {"emit", ValueKind::kText, "LANGUAGE", "print the program as a function: c"}};
  verb.examples = {
      "tessera relayout 'tensor<4x6xf32, strided<[6, 1]>>' 'tensor<4x6xf32, strided<[1, 4]>>'",
      "head -c 16384 /dev/zero > x.bin",
      "tessera relayout 'tensor<64x64xf32, strided<[64, 1]>>' 'tensor<64x64xf32, pyflame.Grid(2, "
      "2)>' --in x.bin --out y.npy"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
