// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/json_fields.h"

#include <algorithm>

#include "tessera/base/names.h"
#include "tessera/target/number_text.h"

namespace tessera::target {
namespace {

/// A short description of the value.
std::string found_text(const JsonNode& node) {
  switch (node.kind) {
    case JsonNode::Kind::kNull:
      return "null";
    case JsonNode::Kind::kBool:
      return "true or false";
    case JsonNode::Kind::kInteger:
      return std::to_string(node.integer);
    case JsonNode::Kind::kOtherNumber:
      return number_text(node.number);
    case JsonNode::Kind::kText:
      return cat("the text ", quote_name(node.text));
    case JsonNode::Kind::kList:
      return "a list";
    case JsonNode::Kind::kObject:
      return "an object";
  }
  return "something else";
}

/// The root has the empty path; messages begin with the field only if there is one.
std::string at(const std::string& path) { return path.empty() ? "" : cat(path, ": "); }

}  // namespace

Error unexpected(const JsonNode& node, const std::string& path, std::string_view expected,
                 std::string_view help) {
  return Error{ErrorCode::kBadTarget,
               cat(at(path), "expected ", expected, ", found ", found_text(node)), node.span,
               std::string(help)};
}

Status read_json(const JsonNode& node, const std::string& path, std::int64_t& out) {
  if (node.kind == JsonNode::Kind::kOtherNumber) {
    return Error{ErrorCode::kBadNumber,
                 cat(at(path), "expected a whole number that fits a signed 64-bit integer"),
                 node.span, "write it in digits; the largest is 9223372036854775807"};
  }
  if (node.kind != JsonNode::Kind::kInteger) return unexpected(node, path, "a whole number");
  out = node.integer;
  return ok_status();
}

Status read_json(const JsonNode& node, const std::string& path, double& out) {
  if (node.kind == JsonNode::Kind::kInteger) {
    out = static_cast<double>(node.integer);
    return ok_status();
  }
  if (node.kind != JsonNode::Kind::kOtherNumber) return unexpected(node, path, "a number");
  out = node.number == 0 ? 0 : node.number;
  return ok_status();
}

Status read_json(const JsonNode& node, const std::string& path, std::string& out) {
  if (node.kind != JsonNode::Kind::kText) return unexpected(node, path, "a text");
  out = node.text;
  return ok_status();
}

Result<JsonFields> JsonFields::open(const JsonNode& node, std::string path,
                                    std::span<const std::string_view> known,
                                    std::span<const std::string_view> required) {
  if (node.kind != JsonNode::Kind::kObject) return unexpected(node, path, "an object");
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    if (std::find(known.begin(), known.end(), node.keys[i]) != known.end()) continue;
    return Error{ErrorCode::kUnknownName,
                 cat(at(path), "there is no key ", quote_name(node.keys[i])), node.key_spans[i],
                 did_you_mean(node.keys[i], known)};
  }
  for (const std::string_view key : required) {
    if (node.find(key) != nullptr) continue;
    return Error{ErrorCode::kBadTarget, cat(at(path), "the key '", key, "' is missing"),
                 Span{node.span.from, node.span.from + 1}, cat("add \"", key, "\": ..")};
  }
  return JsonFields(node, std::move(path));
}

Error unknown_word(const JsonNode& node, const std::string& path,
                   std::span<const std::string_view> words) {
  std::string all;
  for (const std::string_view word : words) all += cat(all.empty() ? "" : ", ", word);
  return Error{ErrorCode::kUnknownName,
               cat(at(path), "expected one of ", all, ", found ", quote_name(node.text)), node.span,
               did_you_mean(node.text, words)};
}

}  // namespace tessera::target
