// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tools/check/check_files.h"
#include "tools/check/check_fix.h"
#include "tools/check/check_printer.h"
#include "tools/command/command.h"
#include "tools/command/usage.h"
#include "tools/files/replace_file.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// The same error with the name of the file.
Error of_file(Error error, const std::string& name) {
  error.message = cat("'", printable(name), "': ", error.message);
  error.span.reset();
  return error;
}

/// Checks one file after the other and keeps only counts.
class Checking {
 public:
  Checking(Console& console, CheckPrinter& printer, const check::CheckOptions& options, bool fix)
      : console_(console), printer_(printer), options_(options), fix_(fix) {}

  void check(const FoundFile& file) {
    const Work work(kQuestionSteps);
    if (!file.status) return fail(file, file.status.error());
    const Result<std::string> text = read_mlir_file(file, console_.in);
    if (!text) return fail(file, text.error());
    const Result<check::CheckReport> report = check::check_mlir(*text, options_);
    if (!report) return fail(file, of_file(report.error(), file.name));
    ++totals_.files;
    const auto& found = report->diagnostics;
    const bool can_fix = std::any_of(found.begin(), found.end(),
                                     [](const check::Diagnostic& d) { return d.fix.has_value(); });
    if (!fix_ || !can_fix) return print(file, *text, *report);
    const Result<FixedText> fixed = fix_mlir(*text, *report, options_);
    if (!fixed) return fail(file, of_file(fixed.error(), file.name));
    const Result<std::string> backup = replace_file(file.name, *text, fixed->text);
    if (!backup) {
      // Nothing was fixed, so everything remains to be reported.
      print(file, *text, *report);
      return fail(file, backup.error());
    }
    for (const Fixed& each : fixed->fixes) printer_.fixed(file.name, each);
    totals_.fixed += std::ssize(fixed->fixes);
    printer_.kept(file.name, *backup);
    print(file, fixed->text, fixed->report);
  }

  Verdict finish() {
    printer_.finish(totals_);
    return totals_.failed > 0   ? Verdict::kBadInput
           : totals_.errors > 0 ? Verdict::kNo
                                : Verdict::kYes;
  }

 private:
  void print(const FoundFile& file, std::string_view text, const check::CheckReport& report) {
    totals_.tensors += report.tensors;
    totals_.unknown += report.unknown;
    totals_.silenced += report.silenced;
    totals_.expected += report.expected;
    if (report.diagnostics.empty()) return;
    for (const check::Diagnostic& diagnostic : report.diagnostics) {
      ++(diagnostic.severity == check::Severity::kError ? totals_.errors : totals_.warnings);
    }
    printer_.found(CheckedText(file.name, text), report.diagnostics);
  }

  void fail(const FoundFile& file, const Error& error) {
    ++totals_.failed;
    printer_.failed(file.name, error);
  }

  Console& console_;
  CheckPrinter& printer_;
  const check::CheckOptions& options_;
  bool fix_;
  CheckTotals totals_;
};

Result<Verdict> run(const Request& request, Console& console) {
  const std::vector<std::string>& arguments = request.texts("file");
  const bool fix = request.has("fix");
  if (request.has("json") && request.has("sarif")) {
    return usage("--json and --sarif exclude each other", "give one of them");
  }
  if (fix && std::find(arguments.begin(), arguments.end(), "-") != arguments.end()) {
    return usage("--fix cannot rewrite standard input", "name a file");
  }
  std::optional<Machine> target;
  if (request.has("target")) {
    TESSERA_TRY(target, read_target(request.text("target")));
  }
  check::CheckOptions options;
  options.target = target ? &*target : nullptr;
  const std::unique_ptr<CheckPrinter> printer = request.has("sarif") ? check_sarif(console)
                                                : console.json       ? check_json(console, fix)
                                                                     : check_text(console);
  Checking checking(console, *printer, options, fix);
  for (const FoundFile& file : find_mlir_files(arguments)) checking.check(file);
  return checking.finish();
}

}  // namespace

Verb check_verb() {
  Verb verb;
  verb.name = "check";
  verb.is_question = false;  // every file is one
  verb.summary = "check every layout in .mlir files against its tensor";
  verb.description =
      "Checks the layout attributes of each file against their tensors and reports contradictions: "
      "file:line:column, the line with a caret, and the correct text. The rest of the file is "
      "ignored. A comment `// tessera: allow(CODE)` silences a line, `// tessera: "
      "allow-file(CODE)` a file. Negative tests (`expected-error`, `RUN: not`) are neither "
      "reported "
      "nor fixed. Columns count bytes. With --json, each diagnostic is one line: "
      "file, line, column, severity (error or warning), code, message, fix (the correct text, or "
      "null), help, end_line, end_column, distinct (how often the file has this finding), "
      "fix_region, tensor; with --fix also fixed. Exit status: "
      "1 when there is an error, 0 when there are only warnings, 2 when a file cannot be read or "
      "written; the other files are still checked.";
  const Positional file{
      "file",
      Positional::Kind::kFile,
      "a file; a folder, for all the *.mlir files in it; or -, for standard input",
      {},
      false,
      /*repeats=*/true};
  verb.positionals = {file};
  verb.flags = {
      {"fix", ValueKind::kSwitch, "",
       "rewrite the files with the correct text; the former content is kept in FILE.orig"},
      {"target", ValueKind::kText, "T", "also check the rules of this machine: a name or a path"},
      {"json", ValueKind::kSwitch, "", "print one JSON object per diagnostic instead of text"},
      {"sarif", ValueKind::kSwitch, "", "print a SARIF 2.1.0 log instead of text"}};
  verb.examples = {"cp examples/shards.mlir model.mlir", "tessera check model.mlir",
                   "tessera check --fix model.mlir",
                   "tessera check --target wormhole --sarif . > tessera.sarif"};
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
