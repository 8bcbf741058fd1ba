// SPDX-License-Identifier: Apache-2.0
#include "tools/json.h"

#include <algorithm>
#include <vector>

#include "tessera/base/text.h"
#include "tools/words.h"

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

}  // namespace

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json error_json(const Error& error) {
  Json body;
  body["code"] = code_name(error.code);
  body["message"] = error.message;
  body["span"] = error.span ? Json{error.span->from, error.span->to} : Json(nullptr);
  body["help"] = error.help;
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
  std::vector<std::string> keys;
  std::string repeated;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event != Json::parse_event_t::key || depth != 1 || !parsed.is_string()) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) repeated = key;
    if (keys.size() < kMaxJsonDepth) keys.push_back(key);
    return true;
  };
  Json json = Json::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (json.is_discarded()) return bad_json("the request is not valid JSON");
  if (!json.is_object())
    return bad_json(cat("the request is not an object but ", json.type_name()));
  if (!repeated.empty()) return bad_json(cat("the key ", quote(repeated), " stands twice"));
  return json;
}

}  // namespace tessera::tools
