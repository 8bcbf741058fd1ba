// SPDX-License-Identifier: Apache-2.0
#include "tools/command/search_input.h"

#include <algorithm>
#include <ostream>

#include "tessera/base/read_real.h"
#include "tessera/base/text.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr double kMostSeconds = 1e6;

}  // namespace

Result<double> read_seconds(const std::string& text) {
  double seconds = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = read_real(text.data(), last, seconds);
  if (error == std::errc() && end == last && seconds >= 0 && seconds <= kMostSeconds) {
    return seconds;
  }
  return Error{ErrorCode::kBadNumber,
               cat("--seconds: ", quote(text), " is not a number of seconds from 0 to 1000000"),
               std::nullopt, "as in --seconds 0.5"};
}

Verdict report_error_in(const std::string& name, std::string_view text, const Error& error,
                        Console& console, Json answer) {
  const Verdict verdict = error.code == ErrorCode::kDoesNotFit ? Verdict::kNo : Verdict::kBadInput;
  if (!console.json) {
    console.err << render(error, text, name);
    return verdict;
  }
  answer["error"] = error_json(error)["error"];
  Json& body = answer["error"];
  body["file"] = name;
  if (error.span) {
    const auto from =
        static_cast<std::size_t>(std::clamp<std::int64_t>(error.span->from, 0, std::ssize(text)));
    const std::string_view before = text.substr(0, from);
    body["line"] = 1 + std::count(before.begin(), before.end(), '\n');
    body["column"] = 1 + columns_of(before.substr(before.rfind('\n') + 1));  // npos + 1 is 0
  }
  console.out << dump(answer) << '\n';
  return verdict;
}

}  // namespace tessera::tools
