// SPDX-License-Identifier: Apache-2.0
#include "tools/command/command.h"

#include <algorithm>
#include <cassert>

#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {

const Request::Value* Request::find(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Request::set(std::string_view name, Value value) {
  for (auto& [key, old] : values_) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  values_.emplace_back(name, std::move(value));
}

bool Request::has(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr) return false;
  const bool* is_on = std::get_if<bool>(value);
  return is_on == nullptr || *is_on;
}

const std::string& Request::text(std::string_view name) const {
  static const std::string none;
  const Value* value = find(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? none : *text;
}

std::int64_t Request::number(std::string_view name) const {
  const Value* value = find(name);
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number == nullptr ? 0 : *number;
}

const std::vector<std::int64_t>& Request::numbers(std::string_view name) const {
  static const std::vector<std::int64_t> none;
  const Value* value = find(name);
  const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(value);
  return list == nullptr ? none : *list;
}

const std::vector<std::string>& Request::texts(std::string_view name) const {
  static const std::vector<std::string> none;
  const Value* value = find(name);
  const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<std::string>>(value);
  return list == nullptr ? none : *list;
}

const Tensor& Request::tensor(std::string_view name) const {
  for (const auto& [key, tensor] : tensors_) {
    if (key == name) return tensor;
  }
  assert(false && "a verb asks for a positional that it did not declare");
  return tensors_.front().second;
}

std::vector<Flag> flags_of(const Verb& verb) {
  std::vector<Flag> flags = verb.flags;
  if (verb.answers_json) {
    flags.push_back({"json", ValueKind::kSwitch, "", "print one JSON object instead of text"});
  }
  if (verb.answers_batch) {
    flags.push_back(
        {"batch", ValueKind::kSwitch, "",
         "read one JSON request per line from standard input, print one JSON answer per line"});
  }
  flags.push_back({"help", ValueKind::kSwitch, "", "explain this verb"});
  return flags;
}

const Flag* flag_named(const std::vector<Flag>& flags, std::string_view name) {
  if (name.empty()) return nullptr;  // most flags have no alias
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) {
    return flag.name == name || flag.alias == name;
  });
  return found == flags.end() ? nullptr : &*found;
}

std::string usage_line(const Verb& verb) {
  std::string line = cat("tessera ", verb.name);
  for (const Positional& positional : verb.positionals) {
    const std::string name = cat(upper_case(positional.name), positional.repeats ? ".." : "");
    line += positional.optional ? cat(" [", name, "]") : cat(" ", name);
  }
  for (const Flag& flag : flags_of(verb)) {
    if (flag.name == "help") continue;
    line += cat(" [--", flag.name);
    if (flag.kind != ValueKind::kSwitch) line += cat(" ", flag.placeholder);
    line += flag.kind == ValueKind::kTexts ? "].." : "]";
  }
  return line;
}

}  // namespace tessera::tools
