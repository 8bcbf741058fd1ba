// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/version.h"
#include "tools/command/command.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// Text that troff prints literally: backslashes, hyphens and quotes are escaped, and no line
/// begins with a control character.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '.' && out.empty()) {
      out += "\\&.";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string term(std::string_view name, std::string_view explanation) {
  return cat(".TP\n", name, "\n", troff(explanation), "\n");
}

std::string verb_section(const Verb& verb) {
  std::string out = cat(".SS ", troff(verb.name), "\n");
  out += cat(".B ", troff(usage_line(verb)), "\n");
  for (const std::string_view paragraph : paragraphs_of(verb.description)) {
    out += cat(".PP\n", troff(paragraph), "\n");
  }
  for (const Positional& positional : verb.positionals) {
    out += term(
        cat("\\fI", troff(upper_case(positional.name)), "\\fR", positional.repeats ? " .." : ""),
        positional.help);
  }
  for (const Flag& flag : flags_of(verb)) {
    std::string name = cat("\\fB\\-\\-", troff(flag.name), "\\fR");
    if (flag.kind != ValueKind::kSwitch) name += cat(" \\fI", troff(flag.placeholder), "\\fR");
    out += term(name, flag.help);
  }
  for (const std::string_view example : verb.examples) {
    out += cat(".PP\n.nf\n.RS\n", troff(example), "\n.RE\n.fi\n");
  }
  return out;
}

Result<Verdict> run(const Request&, Console& console) {
  std::ostream& out = console.out;
  out << ".TH TESSERA 1 \"\" \"tessera " << kVersion << "\" \"User Commands\"\n"
      << ".SH NAME\ntessera \\- where each element of a tensor is stored on a spatial accelerator\n"
      << ".SH SYNOPSIS\n";
  for (const Verb& verb : command_tree()) {
    out << ".B " << troff(usage_line(verb)) << "\n.br\n";
  }
  out << ".SH DESCRIPTION\n"
      << troff(
             "A tensor is written tensor<SHAPExTYPE, LAYOUT>. LAYOUT states on which places of a "
             "mesh, and in which slots of their memory, the elements are stored. An argument @FILE "
             "reads the text from a file, and - reads it from standard input.")
      << "\n.PP\nNotations:\n";
  for (const Notation& notation : notations()) {
    out << term(cat("\\fB", troff(notation.name), "\\fR"), notation.example);
  }
  out << ".SH VERBS\n";
  for (const Verb& verb : command_tree()) out << verb_section(verb);
  out << ".SH BATCH\n"
      << troff(
             "With --batch, each line of standard input is a JSON object whose keys are the names "
             "of "
             "the verb's arguments and flags: {\"tensor\": \"tensor<..>\", \"index\": [1, 2]}. "
             "Each "
             "answer is one line: what --json prints, or {\"error\": {\"code\", \"message\", "
             "\"span\", \"help\"}}, after which the next request is read. span is [from, to) in "
             "bytes of the tensor's text, or null. Empty lines are skipped.")
      << "\n.SH EXIT STATUS\n"
      << term("0", "Success; for --batch, all requests were read.")
      << term("1", "The answer is \"no\".")
      << term("2", "Bad usage or input, or an answer that could not be written.")
      << ".SH ENVIRONMENT\n"
      << term("NO_COLOR", "When set, colour is never used.")
      << term("COLUMNS", "The width of text and pictures.");
  return Verdict::kYes;
}

}  // namespace

Verb man_verb() {
  Verb verb;
  verb.name = "man";
  verb.summary = "print the manual page";
  verb.description = "Prints this page in troff, generated from the same table of verbs as --help.";
  verb.examples = {"tessera man | man -l -"};
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
