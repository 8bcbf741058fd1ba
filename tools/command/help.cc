// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include "tessera/base/text.h"
#include "tools/command/command.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kTermColumn = 20;  // where explanations begin

/// "  term               explanation", wrapped under the explanation.
std::string entry(const Terminal& terminal, std::string_view term, std::string_view explanation) {
  const std::size_t column = std::min<std::size_t>(kTermColumn, terminal.width / 3);
  std::string first = cat("  ", term);
  std::string out;
  if (columns_of(first) + 2 > column) {
    out = wrap(term, terminal.width, "  ", "  ");
    first.clear();
  }
  first += std::string(column - std::min(column, columns_of(first)), ' ');
  return out + wrap(explanation, terminal.width, first, std::string(column, ' '));
}

std::string heading(const Terminal& terminal, std::string_view text) {
  return cat("\n", paint(terminal, Paint::kHeading, text), "\n");
}

Result<Verdict> run(const Request& request, Console& console) {
  if (!request.has("verb")) {
    console.out << general_help(console.terminal);
    return Verdict::kYes;
  }
  TESSERA_TRY(const Verb* const verb, find_verb(request.text("verb")));
  console.out << verb_help(*verb, console.terminal);
  return Verdict::kYes;
}

}  // namespace

std::string general_help(const Terminal& terminal) {
  std::string out = wrap(
      "tessera: where each element of a tensor is stored on a spatial accelerator, and what it "
      "costs to move it",
      terminal.width, "", "");
  out += heading(terminal, "usage");
  out += wrap("tessera VERB [ARGUMENT..] [--FLAG..]", terminal.width, "  ", "    ");
  out += heading(terminal, "verbs");
  for (const Verb& verb : command_tree()) out += entry(terminal, verb.name, verb.summary);
  out += heading(terminal, "flags");
  out += entry(terminal, "--help", "this text; after a verb, the help of that verb");
  out += entry(terminal, "-V, --version", "the version");
  out += heading(terminal, "tensors");
  out += wrap(
      "A tensor is written tensor<SHAPExTYPE, LAYOUT>. @FILE reads the text from a file and - "
      "reads it from standard input.",
      terminal.width, "  ", "  ");
  for (const Notation& notation : notations()) {
    out += entry(terminal, notation.name, notation.example);
  }
  out += heading(terminal, "exit status");
  out += entry(terminal, "0", "success; for --batch, all requests were read");
  out += entry(terminal, "1", "the answer is \"no\"");
  out += entry(terminal, "2", "bad usage or input, or an answer that could not be written");
  return out;
}

std::string verb_help(const Verb& verb, const Terminal& terminal) {
  std::string out = wrap(cat("tessera ", verb.name, ": ", verb.summary), terminal.width, "", "");
  out += heading(terminal, "usage");
  out += wrap(usage_line(verb), terminal.width, "  ", "    ");
  for (const std::string_view paragraph : paragraphs_of(verb.description)) {
    out += "\n" + wrap(paragraph, terminal.width, "", "");
  }
  if (!verb.positionals.empty()) {
    out += heading(terminal, "arguments");
    for (const Positional& positional : verb.positionals) {
      std::string help(positional.help);
      std::string choices;
      for (const auto choice : positional.choices) {
        choices += cat(choices.empty() ? "" : ", ", choice);
      }
      if (!choices.empty()) help += cat(": ", choices);
      out +=
          entry(terminal, cat(upper_case(positional.name), positional.repeats ? ".." : ""), help);
    }
  }
  out += heading(terminal, "flags");
  for (const Flag& flag : flags_of(verb)) {
    const bool has_value = flag.kind != ValueKind::kSwitch;
    out += entry(terminal, cat("--", flag.name, has_value ? " " : "", flag.placeholder), flag.help);
  }
  if (verb.answers_batch) {
    out += heading(terminal, "batch");
    out += wrap(
        "Each line of standard input is a JSON object whose keys are the names of the arguments "
        "and flags. Each answer is one line: what --json prints, or {\"error\": {\"code\", "
        "\"message\", \"span\", \"help\"}}. Empty lines are skipped.",
        terminal.width, "  ", "  ");
  }
  if (!verb.examples.empty()) {
    out += heading(terminal, "examples");
    // Never wrapped: a line that is pasted must be whole.
    for (const auto example : verb.examples) out += cat("  ", example, "\n");
  }
  return out;
}

Verb help_verb() {
  Verb verb;
  verb.name = "help";
  verb.summary = "explain the command, or one verb";
  verb.description = "Without a verb, lists all of them.";
  verb.positionals = {{"verb", Positional::Kind::kWord, "the verb to explain", {}, true}};
  verb.examples = {"tessera help locate"};
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
