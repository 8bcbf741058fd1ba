// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tools/command/command.h"
#include "tools/command/run.h"
#include "tools/json/json.h"

/// web/module/: the questions of the command, for a page. A verb, a request as `tessera VERB
/// --batch` reads it, and the text of standard input come in; the line that the command would print
/// goes out. Nothing here computes an answer, reads a file or waits.
namespace tessera::tools {
namespace {

const std::array<Verb, 10>& page_verbs() {
  static const std::array<Verb, 10> verbs = {
      show_verb(),    locate_verb(), diff_verb(),    convert_verb(),   relayout_verb(),
      reshard_verb(), alloc_verb(),  targets_verb(), propagate_verb(), price_verb()};
  return verbs;
}

/// The latest answer; it stands until the next question.
std::string& latest_answer() {
  static std::string answer;
  return answer;
}

std::string answer_of(std::string_view name, std::string_view request, std::string_view input) {
  for (const Verb& verb : page_verbs()) {
    if (verb.name != name) continue;
    std::istringstream in{std::string(input)};
    std::ostringstream out;
    answer_request(verb, request, in, out);
    return std::move(out).str();
  }
  return dump(error_json(Error{ErrorCode::kUnknownName, "there is no such verb here", std::nullopt,
                               "see docs/explorer.md"})) +
         "\n";
}

}  // namespace
}  // namespace tessera::tools

extern "C" {

/// Memory for a text of the caller, who releases it with tessera_release.
[[clang::export_name("tessera_reserve")]] void* tessera_reserve(std::size_t bytes) {
  return std::malloc(bytes == 0 ? 1 : bytes);
}

[[clang::export_name("tessera_release")]] void tessera_release(void* block) { std::free(block); }

/// Answers a request of a verb; `input` is what the verb reads as standard input. Returns the bytes
/// of the answer, a line of JSON in UTF-8 that tessera_answer_text points to.
[[clang::export_name("tessera_answer")]] std::size_t tessera_answer(
    const char* verb, std::size_t verb_bytes, const char* request, std::size_t request_bytes,
    const char* input, std::size_t input_bytes) {
  std::string& answer = tessera::tools::latest_answer();
  answer =
      tessera::tools::answer_of({verb, verb_bytes}, {request, request_bytes}, {input, input_bytes});
  return answer.size();
}

[[clang::export_name("tessera_answer_text")]] const char* tessera_answer_text() {
  return tessera::tools::latest_answer().data();
}

}  // extern "C"
