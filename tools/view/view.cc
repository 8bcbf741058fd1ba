// SPDX-License-Identifier: Apache-2.0
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <ostream>
#include <string_view>

#include "tessera/base/text.h"
#include "tools/command/arguments.h"
#include "tools/command/command.h"
#include "tools/files/mapped_file.h"
#include "tools/files/text_file.h"
#include "tools/json/json.h"
#include "tools/plan/plan_file.h"
#include "tools/terminal/text.h"
#include "tools/view/page_file.h"

namespace tessera::tools {
namespace {

constexpr const char* kDefaultFile = "tessera.html";

/// Whether an argument is the name of a file of JSON. Texts of tensors begin with "tensor<", and
/// those of files with "@".
bool names_json(const std::string& argument) {
  return argument.ends_with(".json") && !argument.starts_with("tensor<") &&
         !argument.starts_with("@");
}

/// Whether a text is a trace of `run` or `reshard`: an object with a list of events.
bool is_trace(std::string_view text) {
  const std::optional<Json> json = parse_written(text);
  const Json* const events = json ? json->find("traceEvents") : nullptr;
  return events != nullptr && events->is_array();
}

/// The state in which the page shows a plan or a trace.
Result<PageState> state_of_file(const std::string& name) {
  TESSERA_TRY(std::string text, read_text_file(name, kMaxPlanBytes));
  const Result<Json> plan = parse_plan(text);
  if (plan) return plan_state(std::move(text));
  if (is_trace(text)) return PageState{{"v", "trace"}, {"trace", std::move(text)}};
  Error error = plan.error();
  error.message = cat(quote(name), ": ", error.message);
  return error;
}

/// Checks that the texts are tensors; reports the first that is not, with its caret.
Result<std::vector<std::string>> read_texts(const Request& request, Console& console) {
  std::vector<std::string> texts;
  for (const std::string& argument : request.texts("tensor")) {
    TESSERA_TRY(const std::string text, text_of(argument, console.in));
    const Result<Tensor> tensor = parse_tensor(text);
    if (!tensor && !console.json) console.err << render(tensor.error(), text);
    if (!tensor && console.json) console.out << dump(error_json(tensor.error())) << '\n';
    if (!tensor) return std::vector<std::string>{};
    texts.push_back(text);
  }
  return texts;
}

Result<PageState> state_of(std::vector<std::string> texts) {
  if (texts.empty()) return PageState{};
  if (texts.size() == 1) return PageState{{"v", "explorer"}, {"t", std::move(texts[0])}};
  if (texts.size() == 2) {
    return PageState{{"v", "compare"}, {"a", std::move(texts[0])}, {"b", std::move(texts[1])}};
  }
  return Error{ErrorCode::kUsage,
               cat("view shows one tensor, or compares two; ", texts.size(), " were given"),
               std::nullopt, "omit some of them"};
}

/// Hands the file to the browser of the desktop.
Status open_in_browser(const std::string& file) {
  std::array<std::string, 2> words = {"xdg-open", file};
  std::array<char*, 3> arguments = {words[0].data(), words[1].data(), nullptr};
  pid_t process = 0;
  int status = 0;
  const bool started =
      posix_spawnp(&process, "xdg-open", nullptr, nullptr, arguments.data(), environ) == 0;
  if (started && waitpid(process, &status, 0) == process && WIFEXITED(status) &&
      WEXITSTATUS(status) == 0) {
    return ok_status();
  }
  return Error{ErrorCode::kIo, "no browser could be started with xdg-open", std::nullopt,
               cat("open ", printable(file), " in a browser")};
}

Result<Verdict> run(const Request& request, Console& console) {
  const std::string file = request.has("out") ? request.text("out") : kDefaultFile;
  if (file.empty() || file == "-") {
    return Error{ErrorCode::kUsage, "--out names no file", std::nullopt, "as in --out view.html"};
  }
  TESSERA_CHECK_OK(check_folder_of(file));
  const std::vector<std::string>& arguments = request.texts("tensor");
  PageState state;
  if (arguments.size() == 1 && names_json(arguments[0])) {
    TESSERA_TRY(state, state_of_file(arguments[0]));
  } else {
    TESSERA_TRY(std::vector<std::string> texts, read_texts(request, console));
    if (texts.size() != arguments.size()) return Verdict::kBadInput;
    TESSERA_TRY(state, state_of(std::move(texts)));
  }
  TESSERA_TRY(const std::string page, read_page(request.text("page")));
  TESSERA_TRY(const std::string filled, page_with(page, state));
  TESSERA_CHECK_OK(write_whole(file, filled));
  if (console.json) {
    Json json;
    json["file"] = file;
    json["bytes"] = filled.size();
    console.out << dump(json) << '\n';
  } else {
    console.out << "written to " << printable(file) << '\n';
  }
  if (request.has("open")) TESSERA_CHECK_OK(open_in_browser(file));
  return Verdict::kYes;
}

}  // namespace

Verb view_verb() {
  Verb verb;
  verb.name = "view";
  verb.summary =
      "write a page that shows tensors, a plan or a trace, to click through in a browser";
  verb.description =
      "Writes one HTML file that needs nothing else: with one tensor it shows its elements, its "
      "mesh and the memory of its places, with two it compares them, and without any it opens with "
      "an example. With the file of a plan (NAME.json of `tessera plan --out`) it shows the model: "
      "its graph, what each op and each move takes, its memory over time, and what other layouts "
      "would take; with that of a trace (NAME.json of `tessera run --trace` or `tessera reshard "
      "--trace`) its timeline. The page has this library inside, computes everything itself, and "
      "sends nothing. `make explorer` builds it; see docs/explorer.md.";
  const Positional tensor{
      "tensor",
      Positional::Kind::kWord,
      "a tensor; with a second one, both are compared; or the file of a plan or a trace",
      {},
      /*optional=*/true,
      /*repeats=*/true};
  verb.positionals = {tensor};
  verb.flags = {{"out", ValueKind::kText, "FILE", "the file to write; default tessera.html"},
                {"open", ValueKind::kSwitch, "", "open it in a browser"},
                {"page", ValueKind::kText, "FILE", "the page to fill; default the installed one"}};
  verb.answers_json = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
