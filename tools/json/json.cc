// SPDX-License-Identifier: Apache-2.0
#include "tools/json/json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Error bad_json(std::string message) {
  return Error{ErrorCode::kBadJson, std::move(message), std::nullopt,
               "a request is one JSON object on one line"};
}

/// Depth and number of values, counted outside strings, without building anything.
Status check_bounds(std::string_view text) {
  std::size_t depth = 0;
  std::size_t separators = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == ',') ++separators;
    if (depth > kMaxJsonDepth) {
      return bad_json(cat("the request nests deeper than ", kMaxJsonDepth, " levels"));
    }
    if (separators > kMaxJsonValues) {
      return bad_json(cat("the request has more than ", kMaxJsonValues, " values"));
    }
  }
  return ok_status();
}

/// Builds a value from the parser's events. The parser's header takes seconds to compile, so no
/// other file of tools/ includes it.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return finish(nullptr); }
  bool boolean(bool value) override { return finish(value); }
  bool number_integer(std::int64_t value) override { return finish(value); }
  bool number_unsigned(std::uint64_t value) override { return finish(value); }
  bool number_float(double value, const std::string& /*literal*/) override { return finish(value); }
  bool string(std::string& value) override { return finish(value); }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON text has none
  bool start_object(std::size_t /*elements*/) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (open_.size() == 1 && open_.back().contains(name)) repeated_ = name;
    keys_.push_back(std::move(name));
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*exception*/) override {
    return false;
  }

  /// Whether `text` is valid; if so, `value` holds its value.
  bool read(std::string_view text) {
    return nlohmann::json::sax_parse(text.data(), text.data() + text.size(), this);
  }
  Json value() && { return std::move(value_); }
  /// A key that occurs twice in the outermost object.
  const std::optional<std::string>& repeated() const { return repeated_; }

 private:
  bool open(Json empty) {
    open_.push_back(std::move(empty));
    return true;
  }

  bool close() {
    Json value = std::move(open_.back());
    open_.pop_back();
    return finish(std::move(value));
  }

  bool finish(Json value) {
    if (open_.empty()) {
      value_ = std::move(value);
    } else if (open_.back().is_array()) {
      open_.back().push_back(std::move(value));
    } else {
      open_.back()[keys_.back()] = std::move(value);
      keys_.pop_back();
    }
    return true;
  }

  Json value_;
  std::vector<Json> open_;         ///< arrays and objects around the next value
  std::vector<std::string> keys_;  ///< one for each open object that waits for a value
  std::optional<std::string> repeated_;
};

Json reason_json(const Reason& reason) {
  Json facts = Json::object();
  for (const Fact& fact : reason.facts) {
    facts[std::string(fact.name)] =
        std::visit([](const auto& value) { return Json(value); }, fact.value);
  }
  Json out;
  out["reason"] = reason.name;
  out["facts"] = std::move(facts);
  return out;
}

}  // namespace

Json error_json(const Error& error) {
  Json body;
  body["code"] = code_name(error.code);
  body["message"] = error.message;
  body["span"] = error.span ? Json{error.span->from, error.span->to} : Json();
  body["help"] = error.help;
  if (!error.reasons.empty()) {
    Json reasons = Json::array();
    for (const Reason& reason : error.reasons) reasons.push_back(reason_json(reason));
    body["reasons"] = std::move(reasons);
  }
  Json out;
  out["error"] = std::move(body);
  return out;
}

Result<Json> parse_object(std::string_view text) {
  if (text.size() > kMaxJsonBytes) {
    return Error{ErrorCode::kTextTooLong,
                 cat("the request is longer than ", kMaxJsonBytes, " bytes"), std::nullopt,
                 "send smaller requests"};
  }
  TESSERA_CHECK_OK(check_bounds(text));
  Builder builder;
  if (!builder.read(text)) return bad_json("the request is not valid JSON");
  const std::optional<std::string> repeated = builder.repeated();
  Json json = std::move(builder).value();
  if (!json.is_object()) {
    return bad_json(cat("the request is ", json.is_array() ? "an " : "a ", json.kind_name(),
                        ", not an object"));
  }
  if (repeated) return bad_json(cat("the key ", quote(*repeated), " is listed twice"));
  return json;
}

std::optional<Json> parse_json(std::string_view text) {
  Builder builder;
  if (!builder.read(text)) return std::nullopt;
  return std::move(builder).value();
}

}  // namespace tessera::tools
