// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include "tessera/base/text.h"
#include "tools/command/command.h"

namespace tessera::tools {
namespace {

/// The words that can follow a verb as its arguments.
std::vector<std::string_view> words_after(const Verb& verb) {
  std::vector<std::string_view> words;
  for (const Positional& positional : verb.positionals) {
    if (positional.kind != Positional::Kind::kWord) continue;
    words.insert(words.end(), positional.choices.begin(), positional.choices.end());
  }
  if (verb.name == "help") {
    for (const Verb& other : command_tree()) words.push_back(other.name);
  }
  return words;
}

/// Whether a verb's arguments are files, which shells complete by themselves.
bool takes_files(const Verb& verb) {
  return std::any_of(verb.positionals.begin(), verb.positionals.end(),
                     [](const Positional& p) { return p.kind == Positional::Kind::kFile; });
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string out;
  for (const std::string_view word : words) out += cat(out.empty() ? "" : " ", word);
  return out;
}

std::vector<std::string_view> verb_names() {
  std::vector<std::string_view> names;
  for (const Verb& verb : command_tree()) names.push_back(verb.name);
  return names;
}

/// Text inside single quotes of a shell.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string bash() {
  std::string out =
      "# bash completion for tessera\n"
      "_tessera() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  out += cat("    words=\"", joined(verb_names()), " --help --version\"\n");
  out += "  else\n    case \"${COMP_WORDS[1]}\" in\n";
  for (const Verb& verb : command_tree()) {
    std::string words = joined(words_after(verb));
    for (const Flag& flag : flags_of(verb)) words += cat(words.empty() ? "" : " ", "--", flag.name);
    // Without any words the shell completes file names.
    const std::string_view when = takes_files(verb) ? "[ \"${current:0:1}\" != - ] || " : "";
    out += cat("      ", verb.name, ") ", when, "words=\"", words, "\" ;;\n");
  }
  out +=
      "    esac\n  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}\n"
      "complete -o default -F _tessera tessera\n";
  return out;
}

/// Brackets and colons end the parts of a zsh specification.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh() {
  std::string out =
      "#compdef tessera\n"
      "_tessera() {\n"
      "  local -a verbs\n"
      "  verbs=(\n";
  for (const Verb& verb : command_tree()) {
    out += cat("    ", quoted(cat(verb.name, ":", zsh_text(verb.summary))), "\n");
  }
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe 'verb' verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $verb in\n";
  for (const Verb& verb : command_tree()) {
    out += cat("    ", verb.name, ")\n      _arguments");
    for (const Flag& flag : flags_of(verb)) {
      std::string spec = cat(flag.kind == ValueKind::kTexts ? "*--" : "--", flag.name);
      if (flag.kind != ValueKind::kSwitch) spec += "=";
      spec += cat("[", zsh_text(flag.help), "]");
      if (flag.kind != ValueKind::kSwitch) spec += cat(":", zsh_text(flag.placeholder), ":");
      out += cat(" \\\n        ", quoted(spec));
    }
    const std::string words = joined(words_after(verb));
    for (const Positional& positional : verb.positionals) {
      const std::string action = positional.kind == Positional::Kind::kFile ? "_files"
                                 : words.empty()                            ? "_default"
                                                                            : cat("(", words, ")");
      const std::string_view times = positional.repeats ? "*:" : positional.optional ? "::" : ":";
      out += cat(" \\\n        ", quoted(cat(times, positional.name, ":", action)));
    }
    out += "\n      ;;\n";
  }
  return out + "  esac\n}\n_tessera \"$@\"\n";
}

std::string fish() {
  std::string out = "# fish completion for tessera\n";
  const std::string no_verb =
      cat("-n ", quoted(cat("not __fish_seen_subcommand_from ", joined(verb_names()))));
  for (const Verb& verb : command_tree()) {
    out += cat("complete -c tessera -f ", no_verb, " -a ", verb.name, " -d ", quoted(verb.summary),
               "\n");
  }
  out += cat("complete -c tessera ", no_verb, " -l help -d 'explain the command'\n");
  out += cat("complete -c tessera ", no_verb, " -l version -d 'print the version'\n");
  for (const Verb& verb : command_tree()) {
    const std::string seen =
        cat("complete -c tessera -n ", quoted(cat("__fish_seen_subcommand_from ", verb.name)));
    for (const Flag& flag : flags_of(verb)) {
      const std::string_view takes_value = flag.kind == ValueKind::kSwitch ? "" : " -r";
      out += cat(seen, " -l ", flag.name, takes_value, " -d ", quoted(flag.help), "\n");
    }
    const std::string words = joined(words_after(verb));
    if (!words.empty()) out += cat(seen, " -f -a ", quoted(words), "\n");
    if (takes_files(verb)) out += cat(seen, " -F\n");
  }
  return out;
}

Result<Verdict> run(const Request& request, Console& console) {
  const std::string& shell = request.text("shell");
  console.out << (shell == "bash" ? bash() : shell == "zsh" ? zsh() : fish());
  return Verdict::kYes;
}

}  // namespace

Verb completion_verb() {
  Verb verb;
  verb.name = "completion";
  verb.summary = "print shell completion";
  verb.description =
      "Prints a script that completes verbs and flags, generated from the same table of verbs "
      "as --help.";
  verb.positionals = {
      {"shell", Positional::Kind::kWord, "the shell", {"bash", "zsh", "fish"}, false}};
  verb.examples = {"source <(tessera completion bash)"};
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
