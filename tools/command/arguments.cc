// SPDX-License-Identifier: Apache-2.0
#include "tools/command/arguments.h"

#include <algorithm>
#include <charconv>
#include <istream>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tools/files/text_file.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxNumbers = 256;

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

Error usage_error(const Verb& verb, std::string message) {
  return Error{ErrorCode::kUsage, std::move(message), std::nullopt,
               cat("usage: ", usage_line(verb))};
}

Result<const Flag*> find_flag(const std::vector<Flag>& flags, std::string_view name) {
  if (const Flag* const flag = flag_named(flags, name)) return flag;
  std::vector<std::string> dashed;
  for (const Flag& flag : flags) dashed.push_back(cat("--", flag.name));
  const std::vector<std::string_view> names(dashed.begin(), dashed.end());
  const std::string dashed_name = cat("--", name);
  return Error{ErrorCode::kUnknownName, cat("there is no flag ", quote(dashed_name)), std::nullopt,
               did_you_mean(dashed_name, names, "`tessera help VERB` lists its flags")};
}

Result<Request::Value> flag_value(const Flag& flag, const std::string& text) {
  const auto name_it = [&](Error error) {
    error.message = cat("--", flag.name, ": ", error.message);
    return error;
  };
  if (flag.kind == ValueKind::kNumber) {
    auto number = parse_number_of(flag, text);
    if (!number) return name_it(number.error());
    return Request::Value(*number);
  }
  if (flag.kind == ValueKind::kNumbers) {
    auto numbers = parse_numbers_of(flag, text);
    if (!numbers) return name_it(numbers.error());
    return Request::Value(*std::move(numbers));
  }
  return Request::Value(text);
}

/// The flags of a command line in a request, and what remains.
struct SplitArguments {
  Request request;
  std::vector<std::string_view> flags;  ///< names of those that were given
  std::vector<std::string> words;       ///< all other arguments
};

/// "--name", "--name=value" or "-h" as a name and, where there is a '=', the value.
std::pair<std::string, std::optional<std::string>> split_flag(const std::string& arg) {
  if (arg == "-h") return {"help", std::nullopt};
  if (!arg.starts_with("--")) return {arg, std::nullopt};
  const std::size_t equals = arg.find('=');
  if (equals == std::string::npos) return {arg.substr(2), std::nullopt};
  return {arg.substr(2, equals - 2), arg.substr(equals + 1)};
}

Result<SplitArguments> read_flags(const Verb& verb, const std::vector<std::string>& args) {
  const std::vector<Flag> flags = flags_of(verb);
  SplitArguments split;
  bool flags_ended = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (flags_ended || arg.size() < 2 || arg[0] != '-') {
      split.words.push_back(arg);
      continue;
    }
    if (arg == "--") {
      flags_ended = true;
      continue;
    }
    const auto [given, value] = split_flag(arg);
    TESSERA_TRY(const Flag* const flag, find_flag(flags, given));
    const std::string_view name = flag->name;
    const bool again = std::find(split.flags.begin(), split.flags.end(), name) != split.flags.end();
    if (again && flag->kind != ValueKind::kTexts) {
      return usage_error(verb, cat("--", name, " is given twice"));
    }
    split.flags.push_back(name);
    if (flag->kind == ValueKind::kSwitch) {
      if (value) return usage_error(verb, cat("--", name, " takes no value"));
      split.request.set(name, true);
      continue;
    }
    if (!value && i + 1 == args.size()) {
      return usage_error(verb, cat("--", name, " needs a value: ", flag->placeholder));
    }
    const std::string& text = value ? *value : args[++i];
    if (flag->kind == ValueKind::kTexts) {
      std::vector<std::string> texts = split.request.texts(name);
      texts.push_back(text);
      split.request.set(name, std::move(texts));
      continue;
    }
    TESSERA_TRY(Request::Value read, flag_value(*flag, text));
    split.request.set(name, std::move(read));
  }
  return split;
}

/// An argument too many. After a flag that repeats it was likely meant as another of its values.
Error unexpected_argument(const Verb& verb, const Request& request, std::string_view word) {
  Error error = usage_error(verb, cat("unexpected argument ", quote(word)));
  for (const Flag& flag : verb.flags) {
    if (flag.kind != ValueKind::kTexts || request.texts(flag.name).empty()) continue;
    error.help = cat("--", flag.name, " takes one ", flag.placeholder,
                     "; give it once for each: --", flag.name, " A --", flag.name, " B");
  }
  return error;
}

Status assign_positionals(const Verb& verb, const std::vector<std::string>& words,
                          Request& request) {
  const bool repeats = !verb.positionals.empty() && verb.positionals.back().repeats;
  if (words.size() > verb.positionals.size() && !repeats) {
    return unexpected_argument(verb, request, words[verb.positionals.size()]);
  }
  for (std::size_t i = 0; i < verb.positionals.size(); ++i) {
    const Positional& positional = verb.positionals[i];
    if (i >= words.size()) {
      if (positional.optional) continue;
      return usage_error(verb, cat(upper_case(positional.name), " is missing"));
    }
    if (positional.kind == Positional::Kind::kWord) {
      TESSERA_CHECK_OK(check_word(positional, words[i]));
    }
    if (positional.repeats) {
      const auto first = words.begin() + static_cast<std::ptrdiff_t>(i);
      request.set(positional.name, std::vector<std::string>(first, words.end()));
      continue;
    }
    request.set(positional.name, words[i]);
  }
  return ok_status();
}

/// "1,2", "1, 2" or "[1, 2]", each item read by `parse`.
template <typename Parse>
Result<std::vector<std::int64_t>> parse_list(std::string_view text, const Parse& parse) {
  std::string_view list = trim(text);
  if (list.size() >= 2 && list.front() == '[' && list.back() == ']') {
    list = trim(list.substr(1, list.size() - 2));
  }
  std::vector<std::int64_t> numbers;
  if (list.empty()) return numbers;
  while (true) {
    if (numbers.size() == kMaxNumbers) {
      return Error{ErrorCode::kBadNumber, cat("more than ", kMaxNumbers, " numbers"), std::nullopt,
                   "give one number per dim"};
    }
    const std::size_t comma = list.find(',');
    TESSERA_TRY(const std::int64_t number, parse(list.substr(0, comma)));
    numbers.push_back(number);
    if (comma == std::string_view::npos) return numbers;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<std::int64_t> parse_number(std::string_view text) {
  const std::string_view digits = trim(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range) {
    return Error{ErrorCode::kBadNumber, cat(quote(text), " does not fit a signed 64-bit integer"),
                 std::nullopt, "use a smaller number"};
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Error{ErrorCode::kBadNumber, cat(quote(text), " is not an integer"), std::nullopt,
                 "write it in decimal digits"};
  }
  return number;
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  std::string_view digits = trim(text);
  const auto drop = [&](char small) {
    const bool there = !digits.empty() && (digits.back() | 0x20) == small;
    if (there) digits.remove_suffix(1);
    return there;
  };
  const bool has_b = drop('b');
  const bool has_i = has_b && drop('i');
  constexpr std::string_view kUnits = "kmgt";
  int power = 0;
  for (std::size_t i = 0; i < kUnits.size() && power == 0; ++i) {
    if (drop(kUnits[i])) power = static_cast<int>(i) + 1;
  }
  // "48B" is a number of bytes too, "48iB" is not.
  if (!digits.empty() && digits.back() >= '0' && digits.back() <= '9' && (power > 0 || !has_i)) {
    TESSERA_TRY(const std::int64_t number, parse_number(digits));
    const Checked bytes = Checked(number) * (std::int64_t{1} << (10 * power));
    if (!bytes.overflowed()) return bytes.saturated();
    return Error{ErrorCode::kOverflow, cat(quote(text), " does not fit a signed 64-bit integer"),
                 std::nullopt, "use a smaller number or unit"};
  }
  return Error{ErrorCode::kBadNumber, cat(quote(text), " is not a number of bytes"), std::nullopt,
               "write an integer, which K, M, G or T may follow: 48K is 49152"};
}

Result<std::int64_t> parse_number_of(const Flag& flag, std::string_view text) {
  return flag.placeholder == kBytesPlaceholder ? parse_bytes(text) : parse_number(text);
}

Result<std::vector<std::int64_t>> parse_numbers_of(const Flag& flag, std::string_view text) {
  return parse_list(text, [&](std::string_view item) { return parse_number_of(flag, item); });
}

Result<std::vector<std::int64_t>> parse_numbers(std::string_view text) {
  return parse_list(text, parse_number);
}

Status check_word(const Positional& positional, const std::string& word) {
  const auto& choices = positional.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), word) != choices.end()) {
    return ok_status();
  }
  std::string all;
  for (const std::string_view choice : choices) all += cat(all.empty() ? "" : ", ", choice);
  return Error{ErrorCode::kUnknownName,
               cat(quote(word), " is not a valid ", upper_case(positional.name)), std::nullopt,
               did_you_mean(word, choices, cat("use one of: ", all))};
}

bool is_file_instead(const Positional& positional, std::string_view argument) {
  return positional.kind == Positional::Kind::kTensor &&
         std::any_of(positional.choices.begin(), positional.choices.end(),
                     [&](std::string_view ending) { return argument.ends_with(ending); });
}

Result<Request> parse_arguments(const Verb& verb, const std::vector<std::string>& args) {
  TESSERA_TRY(SplitArguments split, read_flags(verb, args));
  if (split.request.has("help")) return std::move(split.request);
  if (!split.request.has("batch")) {
    TESSERA_CHECK_OK(assign_positionals(verb, split.words, split.request));
    return std::move(split.request);
  }
  const std::vector<std::string_view>& flags = split.flags;
  const bool only_batch =
      split.words.empty() && std::all_of(flags.begin(), flags.end(), [](std::string_view name) {
        return name == "batch" || name == "json";
      });
  if (only_batch) return std::move(split.request);
  return usage_error(verb, "with --batch, everything else is given in the requests");
}

Result<std::string> text_of(const std::string& argument, std::istream& in) {
  const bool is_file = argument.size() > 1 && argument[0] == '@';
  if (argument != "-" && !is_file) return argument;
  TESSERA_TRY(std::string text, is_file ? read_text_file(argument.substr(1), kMaxTextBytes)
                                        : read_text_stream(in, kMaxTextBytes));
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

std::vector<Failure> read_tensors(const Verb& verb,
                                  const std::vector<std::pair<std::string, std::string>>& texts,
                                  Request& request) {
  std::vector<Failure> failures;
  const auto tensors = std::count_if(
      verb.positionals.begin(), verb.positionals.end(),
      [](const Positional& positional) { return positional.kind == Positional::Kind::kTensor; });
  for (const auto& [name, text] : texts) {
    Result<Tensor> tensor = parse_tensor(text);
    if (!tensor) {
      Error error = tensor.error();
      // With several texts the span alone does not identify the text.
      if (tensors > 1) error.message = cat("in ", upper_case(name), ": ", error.message);
      failures.push_back({std::move(error), text});
      continue;
    }
    request.set_tensor(name, *std::move(tensor));
  }
  return failures;
}

}  // namespace tessera::tools
