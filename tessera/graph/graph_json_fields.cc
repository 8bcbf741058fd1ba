// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/graph_json_fields.h"

#include <limits>
#include <utility>

namespace tessera::graph {
namespace {

Result<Attribute> read_attribute(JsonReader& json, std::optional<AttributeKind> kind) {
  if (!kind) {
    switch (json.peek()) {
      case JsonReader::Next::kText:
        kind = AttributeKind::kText;
        break;
      case JsonReader::Next::kArray:
        kind = AttributeKind::kIntegers;
        break;
      default:
        kind = json.is_integer_next() ? AttributeKind::kInteger : AttributeKind::kReal;
    }
  }
  switch (*kind) {
    case AttributeKind::kInteger: {
      TESSERA_TRY(const std::int64_t value, json.integer());
      return Attribute(value);
    }
    case AttributeKind::kReal: {
      TESSERA_TRY(const double value, read_real(json));
      return Attribute(value);
    }
    case AttributeKind::kText: {
      TESSERA_TRY(std::string value, json.text());
      return Attribute(std::move(value));
    }
    case AttributeKind::kIntegers: {
      TESSERA_TRY(std::vector<std::int64_t> value, read_integers(json));
      return Attribute(std::move(value));
    }
    case AttributeKind::kReals:
      break;
  }
  TESSERA_TRY(std::vector<double> value, read_reals(json));
  return Attribute(std::move(value));
}

}  // namespace

Result<double> read_real(JsonReader& json) {
  if (json.peek() != JsonReader::Next::kText) return json.real();
  TESSERA_TRY(const std::string word, json.text());
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return Error{ErrorCode::kSyntax, cat("expected a number, found ", quote_name(word)), json.span(),
               "numbers that are not finite are \"nan\", \"inf\" and \"-inf\""};
}

Result<std::vector<std::int64_t>> read_integers(JsonReader& json) {
  std::vector<std::int64_t> list;
  TESSERA_CHECK_OK(read_list(json, [&]() -> Status {
    TESSERA_TRY(const std::int64_t number, json.integer());
    list.push_back(number);
    return ok_status();
  }));
  return list;
}

Result<std::vector<double>> read_reals(JsonReader& json) {
  std::vector<double> list;
  TESSERA_CHECK_OK(read_list(json, [&]() -> Status {
    TESSERA_TRY(const double number, read_real(json));
    list.push_back(number);
    return ok_status();
  }));
  return list;
}

Result<Attributes> read_attributes(JsonReader& json, Op op) {
  Attributes attributes;
  TESSERA_CHECK_OK(json.enter_object());
  while (true) {
    TESSERA_TRY(const std::optional<std::string> key, json.next_key());
    if (!key) return attributes;
    if (attributes.find(*key) != nullptr) {
      return Error{ErrorCode::kContradiction, cat("the key ", quote_name(*key), " is listed twice"),
                   json.span(), "list each key once"};
    }
    std::optional<AttributeKind> kind;
    for (const AttributeRule& rule : op.rule().attributes) {
      if (rule.name == *key) kind = rule.kind;
    }
    TESSERA_TRY(Attribute value, read_attribute(json, kind));
    attributes.set(*key, std::move(value));
  }
}

}  // namespace tessera::graph
