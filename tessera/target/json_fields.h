// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/text.h"
#include "tessera/target/json_tree.h"

/// Reading values of known types out of a JSON tree. Errors name the path of the value, what was
/// expected and what was found, and have its span.
namespace tessera::target {

/// "/memory/0: expected an object, found 7" at the value.
Error unexpected(const JsonNode& node, const std::string& path, std::string_view expected,
                 std::string_view help = {});

Status read_json(const JsonNode& node, const std::string& path, std::int64_t& out);
Status read_json(const JsonNode& node, const std::string& path, double& out);  ///< never -0
Status read_json(const JsonNode& node, const std::string& path, std::string& out);

/// A list; `read` reads one item.
template <typename Item, typename Read>
Status read_list(const JsonNode& node, const std::string& path, std::vector<Item>& out,
                 const Read& read) {
  if (node.kind != JsonNode::Kind::kList) return unexpected(node, path, "a list");
  out.clear();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    Item item{};
    TESSERA_CHECK_OK(read(node.items[i], cat(path, "/", i), item));
    out.push_back(std::move(item));
  }
  return ok_status();
}
/// A list of numbers, of texts, or of lists.
template <typename Item>
Status read_json(const JsonNode& node, const std::string& path, std::vector<Item>& out) {
  return read_list(node, path, out,
                   [](const JsonNode& item, const std::string& item_path, Item& value) {
                     return read_json(item, item_path, value);
                   });
}

/// The fields of one object.
class JsonFields {
 public:
  /// Rejects values that are not objects, keys that are not `known`, and missing `required` keys.
  static Result<JsonFields> open(const JsonNode& node, std::string path,
                                 std::span<const std::string_view> known,
                                 std::span<const std::string_view> required);

  /// Reads the field with this key using `read`; a missing field leaves `out` unchanged.
  template <typename T, typename Read>
  Status read(std::string_view key, T& out, const Read& read) const {
    const JsonNode* const node = node_->find(key);
    return node == nullptr ? ok_status() : read(*node, cat(path_, "/", key), out);
  }
  template <typename T>
  Status read(std::string_view key, T& out) const {
    return read(key, out, [](const JsonNode& node, const std::string& path, T& value) {
      return read_json(node, path, value);
    });
  }
  /// Reads a figure that may be unknown: `null` means the same as a missing field.
  template <typename T, typename Read>
  Status read_optional(std::string_view key, std::optional<T>& out, const Read& read) const {
    const JsonNode* const node = node_->find(key);
    if (node == nullptr || node->kind == JsonNode::Kind::kNull) return ok_status();
    T value{};
    TESSERA_CHECK_OK(read(*node, cat(path_, "/", key), value));
    out = std::move(value);
    return ok_status();
  }
  template <typename T>
  Status read_optional(std::string_view key, std::optional<T>& out) const {
    return read_optional(key, out, [](const JsonNode& node, const std::string& path, T& value) {
      return read_json(node, path, value);
    });
  }
  /// Reads a list of objects; `read_item` reads one.
  template <typename Item, typename Read>
  Status read_each(std::string_view key, std::vector<Item>& out, const Read& read_item) const {
    return read(key, out, [&](const JsonNode& node, const std::string& path, auto& items) {
      return read_list(node, path, items, read_item);
    });
  }

 private:
  JsonFields(const JsonNode& node, std::string path) : node_(&node), path_(std::move(path)) {}
  const JsonNode* node_;
  std::string path_;
};

/// "/mesh/0/links/network: expected one of mesh, torus, found 'msh'", with the nearest word as
/// help.
Error unknown_word(const JsonNode& node, const std::string& path,
                   std::span<const std::string_view> words);

/// One of several words; `name_of(choice)` is the word of a choice.
template <typename Choice, typename NameOf>
Status read_choice(const JsonNode& node, const std::string& path, std::span<const Choice> choices,
                   const NameOf& name_of, Choice& out) {
  std::string word;
  TESSERA_CHECK_OK(read_json(node, path, word));
  std::vector<std::string_view> words;
  for (const Choice choice : choices) {
    words.push_back(name_of(choice));
    if (words.back() != word) continue;
    out = choice;
    return ok_status();
  }
  return unknown_word(node, path, words);
}

}  // namespace tessera::target
