// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "fuzz/laws.h"
#include "tools/command/command.h"
#include "tools/command/run.h"

// Requests of every verb that answers in batches, in every notation: the first line of the input
// names the verb, each further line is a request. Every request gets one line, a JSON object.
namespace tessera {
namespace {

/// Keys that name files or start processes; `in` and `out` of propagate are tensors.
constexpr std::array<std::string_view, 6> kTouching = {"\"in\"",  "\"out\"",    "\"trace\"",
                                                       "\"mpi\"", "\"target\"", "\"threads\""};
/// A target may only be one of these: others are files.
constexpr std::array<std::string_view, 5> kTargets = {"\"wse2\"", "\"wse3\"", "\"wormhole\"",
                                                      "\"blackhole\"", "\"spyre\""};

bool is_harmless(const tools::Verb& verb, std::string_view line) {
  for (const std::string_view key : kTouching) {
    if (line.find(key) == std::string_view::npos) continue;
    if (verb.name == "propagate" && (key == "\"in\"" || key == "\"out\"")) continue;
    const bool known = std::any_of(kTargets.begin(), kTargets.end(), [&](std::string_view name) {
      return line.find(name) != std::string_view::npos;
    });
    if (key != "\"target\"" || !known) return false;
  }
  return line.find('\\') == std::string_view::npos;  // keys can also be escaped
}

void answer(const tools::Verb& verb, const std::string& line) {
  std::istringstream in(line);
  std::ostringstream out;
  tools::run_batch(verb, in, out);
  const std::string answer = out.str();
  const bool blank = line.find_first_not_of(" \t\r\n\f\v") == std::string::npos;
  if (blank) return;
  require(!answer.empty() && answer.back() == '\n', "a request is answered with a line", line);
  require(std::count(answer.begin(), answer.end(), '\n') == 1, "with one line", line);
  require(answer.front() == '{' && answer[answer.size() - 2] == '}', "an object", line);
}

void answer_all(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  const Result<const tools::Verb*> verb = tools::find_verb(input.substr(0, end));
  if (!verb || !(*verb)->answers_batch) return;
  std::istringstream lines(std::string(input.substr(std::min(end + 1, input.size()))));
  std::string line;
  for (int count = 0; count < 4 && std::getline(lines, line); ++count) {
    if (is_harmless(**verb, line)) answer(**verb, line);
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::answer_all(std::string_view(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
