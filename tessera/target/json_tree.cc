// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/json_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/target/machine.h"

namespace tessera::target {
namespace {

/// Follows a text token by token. The parser reports the meaning of each token but not its
/// position. Its events come in token order, so this class finds the positions by advancing one
/// token per event. It only reads tokens that the parser has accepted.
class TokenSpans {
 public:
  explicit TokenSpans(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
  }

  Span next() {
    const std::size_t from = next_from();
    std::size_t to = from + 1;
    if (from < text_.size() && text_[from] == '"') {
      while (to < text_.size() && text_[to] != '"') to += text_[to] == '\\' ? 2 : 1;
      ++to;
    } else if (from < text_.size() && kAlone.find(text_[from]) == std::string_view::npos) {
      to = text_.find_first_of(" \t\r\n,:[]{}\"", from);
    }
    position_ = std::min(to, text_.size());
    return {static_cast<std::int64_t>(std::min(from, position_)),
            static_cast<std::int64_t>(position_)};
  }

  /// The start of the next token.
  std::size_t next_from() const {
    return std::min(text_.find_first_not_of(" \t\r\n,:", position_), text_.size());
  }

 private:
  static constexpr std::string_view kAlone = "[]{}";
  std::string_view text_;
  std::size_t position_ = 0;
};

/// Builds the tree from the parser's events. An event handler that returns false stops the parser.
/// Only events are used, because nothing in that part of the parser can throw.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text), tokens_(text) {}

  bool null() override { return leaf({JsonNode::Kind::kNull}); }
  bool boolean(bool /*value*/) override { return leaf({JsonNode::Kind::kBool}); }
  bool number_integer(std::int64_t value) override { return integer(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(INT64_MAX)) return other(static_cast<double>(value));
    return integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& literal) override {
    // A double has no number this small; it would read as 0.
    const std::string_view digits =
        std::string_view(literal).substr(0, literal.find_first_of("eE"));
    if (value == 0 && digits.find_first_of("123456789") != std::string_view::npos) {
      return fail(ErrorCode::kBadNumber, cat(quote_name(literal), " is too small a number"),
                  tokens_.next(), "write 0, or a larger number");
    }
    return other(value);
  }
  bool string(std::string& value) override {
    JsonNode node{JsonNode::Kind::kText};
    node.text = std::move(value);
    return leaf(std::move(node));
  }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON text has none
  bool start_object(std::size_t /*elements*/) override { return open(JsonNode::Kind::kObject); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override { return open(JsonNode::Kind::kList); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    const Span span = tokens_.next();
    std::vector<std::string>& keys = open_.back().keys;
    open_.back().key_spans.push_back(span);
    if (std::find(keys.begin(), keys.end(), name) != keys.end()) {
      return fail(ErrorCode::kContradiction, cat("the key ", quote_name(name), " is listed twice"),
                  span, "list each key once");
    }
    if (keys.size() == kMaxJsonTreeKeys) {
      return fail(ErrorCode::kTooLarge, cat("an object of more than ", kMaxJsonTreeKeys, " keys"),
                  span, "");
    }
    keys.push_back(std::move(name));
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& exception) override {
    const std::size_t to = std::min(position, text_.size());
    std::size_t from = std::min(tokens_.next_from(), to);
    if (from == to && position <= text_.size() && to > 0) --from;
    const Span span{static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)};
    const std::string found =
        from == to ? "the end of the text" : quote_name(text_.substr(from, to - from));
    constexpr int kNumberOverflow = 406;
    if (exception.id == kNumberOverflow) {
      return fail(ErrorCode::kBadNumber, cat(found, " is too large a number"), span,
                  "the largest whole number is 9223372036854775807");
    }
    return fail(ErrorCode::kSyntax, cat("expected ", expected(), ", found ", found), span,
                "JSON has double quotes around names, commas between values, none after the last");
  }

  Result<JsonNode> result(bool complete) && {
    if (error_) return *std::move(error_);
    if (complete && root_) return *std::move(root_);
    return Error{ErrorCode::kSyntax, "the text is not JSON", Span{0, 0}, ""};
  }

 private:
  /// What may come next inside the open lists and objects.
  std::string_view expected() const {
    if (root_) return "the end of the text";
    if (open_.empty()) return "a JSON object";
    const JsonNode& node = open_.back();
    if (node.kind == JsonNode::Kind::kList) return "a value, ',' or ']'";
    if (node.keys.size() > node.items.size()) return "':' and a value";
    return "a key in double quotes, ',' or '}'";
  }

  bool fail(ErrorCode code, std::string message, Span span, std::string help) {
    error_ = Error{code, std::move(message), span, std::move(help)};
    return false;
  }

  bool integer(std::int64_t value) {
    JsonNode node{JsonNode::Kind::kInteger};
    node.integer = value;
    return leaf(std::move(node));
  }

  bool other(double value) {
    JsonNode node{JsonNode::Kind::kOtherNumber};
    node.number = value;
    return leaf(std::move(node));
  }

  bool leaf(JsonNode node) {
    node.span = tokens_.next();
    return count(node.span) && finish(std::move(node));
  }

  bool open(JsonNode::Kind kind) {
    JsonNode node{kind};
    node.span = tokens_.next();
    if (!count(node.span)) return false;
    if (open_.size() == kMaxJsonTreeDepth) {
      return fail(ErrorCode::kTooLarge, cat("nested deeper than ", kMaxJsonTreeDepth, " levels"),
                  node.span, "a machine needs 7");
    }
    open_.push_back(std::move(node));
    return true;
  }

  bool close() {
    JsonNode node = std::move(open_.back());
    open_.pop_back();
    node.span.to = tokens_.next().to;
    return finish(std::move(node));
  }

  bool finish(JsonNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().items.push_back(std::move(node));
    }
    return true;
  }

  bool count(Span span) {
    if (++nodes_ <= kMaxJsonTreeNodes) return true;
    return fail(ErrorCode::kTooLarge, cat("more than ", kMaxJsonTreeNodes, " values"), span,
                "list dead places as ranges");
  }

  std::string_view text_;
  TokenSpans tokens_;
  std::vector<JsonNode> open_;
  std::optional<JsonNode> root_;
  std::optional<Error> error_;
  std::size_t nodes_ = 0;
};

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

Result<JsonNode> parse_json_tree(std::string_view text) {
  if (text.size() > kMaxMachineBytes) {
    return Error{ErrorCode::kTextTooLong, cat("the description is ", text.size(), " bytes long"),
                 Span{0, 0}, cat("at most ", kMaxMachineBytes, " bytes are read")};
  }
  TreeBuilder builder(text);
  const bool complete = nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &builder);
  return std::move(builder).result(complete);
}

}  // namespace tessera::target
