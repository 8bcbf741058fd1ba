// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <istream>
#include <optional>
#include <ostream>
#include <sstream>

#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tools/command/arguments.h"
#include "tools/command/gave_up.h"
#include "tools/command/run.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Error bad_value(std::string_view key, std::string_view expected, const Json& found) {
  return Error{
      ErrorCode::kBadJson,
      cat("the value of '", key, "' is ", found.is_array() ? "an " : "a ", found.kind_name()),
      std::nullopt, cat("it must be ", expected)};
}

Result<Request::Value> number_list(const Flag& flag, const Json& value) {
  constexpr std::string_view kExpected = "a list of 64-bit integers, or a text such as \"1,2\"";
  if (value.is_string()) {
    TESSERA_TRY(std::vector<std::int64_t> list, parse_numbers_of(flag, value.get<std::string>()));
    return Request::Value(std::move(list));
  }
  if (!value.is_array()) return bad_value(flag.name, kExpected, value);
  std::vector<std::int64_t> list;
  for (const Json& item : value) {
    if (!item.is_integer()) {
      return Error{
          ErrorCode::kBadJson,
          cat("'", flag.name, "' contains ", quote(dump(item)), ", which is not a 64-bit integer"),
          std::nullopt, cat("it must be ", kExpected)};
    }
    list.push_back(item.get<std::int64_t>());
  }
  return Request::Value(std::move(list));
}

Result<Request::Value> text_list(const Flag& flag, const Json& value) {
  constexpr std::string_view kExpected = "a text or a list of texts";
  if (value.is_string()) {
    return Request::Value(std::vector<std::string>{value.get<std::string>()});
  }
  if (!value.is_array()) return bad_value(flag.name, kExpected, value);
  std::vector<std::string> list;
  for (const Json& item : value) {
    if (!item.is_string()) return bad_value(flag.name, kExpected, item);
    list.push_back(item.get<std::string>());
  }
  return Request::Value(std::move(list));
}

Result<Request::Value> flag_value(const Flag& flag, const Json& value) {
  switch (flag.kind) {
    case ValueKind::kSwitch:
      if (!value.is_boolean()) return bad_value(flag.name, "true or false", value);
      return Request::Value(value.get<bool>());
    case ValueKind::kText:
      if (!value.is_string()) return bad_value(flag.name, "a text", value);
      return Request::Value(value.get<std::string>());
    case ValueKind::kNumber: {
      if (value.is_string()) {
        TESSERA_TRY(const std::int64_t number, parse_number_of(flag, value.get<std::string>()));
        return Request::Value(number);
      }
      if (!value.is_integer()) return bad_value(flag.name, "a 64-bit integer", value);
      return Request::Value(value.get<std::int64_t>());
    }
    case ValueKind::kNumbers:
      return number_list(flag, value);
    case ValueKind::kTexts:
      return text_list(flag, value);
  }
  return bad_value(flag.name, "known", value);
}

Error unknown_key(const Verb& verb, const std::vector<Flag>& flags, std::string_view key) {
  std::vector<std::string_view> names;
  std::string all;
  for (const Positional& positional : verb.positionals) names.push_back(positional.name);
  for (const Flag& flag : flags) names.push_back(flag.name);
  for (const std::string_view name : names) all += cat(all.empty() ? "" : ", ", name);
  return Error{ErrorCode::kUnknownName, cat("a ", verb.name, " request has no key ", quote(key)),
               std::nullopt, did_you_mean(key, names, cat("the keys are: ", all))};
}

Status answer(const Verb& verb, std::string_view line, std::istream& in, std::ostream& out) {
  const Work work(verb.is_question ? kQuestionSteps : INT64_MAX);
  TESSERA_TRY(const Json json, parse_object(line));
  std::vector<Flag> flags = flags_of(verb);
  std::erase_if(flags, [](const Flag& f) { return f.name == "batch" || f.name == "help"; });
  Request request;
  std::vector<std::string_view> seen;
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [key, value] : json.members()) {
    if (const Flag* const flag = flag_named(flags, key)) {
      if (std::find(seen.begin(), seen.end(), flag->name) != seen.end()) {
        return Error{ErrorCode::kBadJson, cat("the key '", flag->name, "' is given twice"),
                     std::nullopt, cat("omit '", flag->alias, "', its former name")};
      }
      seen.push_back(flag->name);
      TESSERA_TRY(Request::Value parsed, flag_value(*flag, value));
      request.set(flag->name, std::move(parsed));
      continue;
    }
    const auto& positionals = verb.positionals;
    const auto positional = std::find_if(positionals.begin(), positionals.end(),
                                         [&k = key](const Positional& p) { return p.name == k; });
    if (positional == positionals.end()) return unknown_key(verb, flags, key);
    const bool may_be_tensor = positional->kind == Positional::Kind::kTensor;
    if (!value.is_string()) {
      return bad_value(key, may_be_tensor ? "the text of a tensor" : "a text", value);
    }
    if (may_be_tensor && !is_file_instead(*positional, value.get<std::string>())) {
      texts.emplace_back(key, value.get<std::string>());
      continue;
    }
    const auto word = value.get<std::string>();
    if (positional->kind == Positional::Kind::kWord) {
      TESSERA_CHECK_OK(check_word(*positional, word));
    }
    request.set(positional->name, positional->repeats
                                      ? Request::Value(std::vector<std::string>{word})
                                      : Request::Value(word));
  }
  for (const Positional& positional : verb.positionals) {
    const bool given = std::any_of(texts.begin(), texts.end(),
                                   [&](const auto& text) { return text.first == positional.name; });
    if (given || positional.optional || request.has(positional.name)) continue;
    const bool is_tensor = positional.kind == Positional::Kind::kTensor;
    return Error{ErrorCode::kUsage, cat("the key '", positional.name, "' is missing"), std::nullopt,
                 cat("a request is for example {\"", positional.name, "\": \"",
                     is_tensor ? "tensor<..>" : "..", "\"}")};
  }
  const std::vector<Failure> failures = read_tensors(verb, texts, request);
  if (!failures.empty()) return failures.front().error;
  Console console{in, out, out, /*json=*/true, Terminal{}};
  const Result<Verdict> verdict = verb.run(request, console);
  if (!verdict) return verdict.error();
  return ok_status();
}

/// The next line without its end, or nothing at the end of the stream. Of a line that is longer
/// than a request may be, only one excess byte is kept.
std::optional<std::string> next_line(std::istream& in) {
  std::streambuf* const buffer = in.rdbuf();
  constexpr int kEnd = std::char_traits<char>::eof();
  if (buffer == nullptr || buffer->sgetc() == kEnd) return std::nullopt;
  std::string line;
  for (int c = buffer->sbumpc(); c != kEnd && c != '\n'; c = buffer->sbumpc()) {
    if (line.size() <= kMaxJsonBytes) line += static_cast<char>(c);
  }
  return line;
}

}  // namespace

void answer_request(const Verb& verb, std::string_view request, std::istream& in,
                    std::ostream& out) {
  const Status status =
      caught([&] { return answer(verb, request, in, out); }, "ask for less at once");
  if (!status) out << dump(error_json(status.error())) << '\n';
}

void run_batch(const Verb& verb, std::istream& in, std::ostream& out) {
  while (out) {
    const std::optional<std::string> line = next_line(in);
    if (!line) return;
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream no_input;  // standard input is the stream of requests
    answer_request(verb, *line, no_input, out);
    out.flush();
  }
}

}  // namespace tessera::tools
