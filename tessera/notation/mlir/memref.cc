// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/mlir/memref.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/text/tensor_type.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kMemrefHelp =
    "a memref is such as memref<18x32xf32, #ttcore.memory_space<l1>>";
constexpr std::string_view kSpaceHelp =
    "a space is such as #ttcore.memory_space<l1> or #ttnn.buffer_type<dram>";

struct Spelling {
  std::string_view spelling;
  std::string_view space;
};

/// Spellings of spaces that differ from their name; longer ones first, so that an alias is compared
/// with its whole spelling first.
constexpr std::array<Spelling, 6> kSpellings = {{{"system_memory", "system"},
                                                 {"system_mmio", "mmio"},
                                                 {"sysmem", "system"},
                                                 {"device_dram", "dram"},
                                                 {"device_l1", "l1"},
                                                 {"l1_small", "l1_small"}}};

/// An alias is a spelling followed by nothing, a number, or '_' and anything: l1_, dram2, l1_alias.
bool is_alias_of(std::string_view alias, std::string_view spelling) {
  if (!alias.starts_with(spelling)) return false;
  const std::string_view rest = alias.substr(spelling.size());
  return rest.empty() || rest.front() == '_' ||
         std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view space_of_alias(std::string_view alias, std::span<const std::string_view> spaces) {
  for (const Spelling& known : kSpellings) {
    if (is_alias_of(alias, known.spelling)) return known.space;
  }
  for (const std::string_view space : spaces) {
    if (is_alias_of(alias, space)) return space;
  }
  return alias;
}

/// '#' DIALECT '.' KIND, after the '#': the attribute's name without the space.
Result<std::string> read_attribute_name(Cursor& cursor, const Word& dialect) {
  const bool ttnn = dialect.text == "ttnn";
  if (!ttnn && dialect.text != "tt" && dialect.text != "ttcore") {
    static constexpr std::array<std::string_view, 3> kDialects = {"tt", "ttcore", "ttnn"};
    return Error{ErrorCode::kUnknownName, cat("unknown dialect ", quote_name(dialect.text)),
                 dialect.span, did_you_mean(dialect.text, kDialects)};
  }
  const std::string_view kind = ttnn ? "buffer_type" : "memory_space";
  TESSERA_CHECK_OK(cursor.expect_word(kind, kSpaceHelp));
  return cat("#", dialect.text, ".", kind);
}

/// `full`: the name is the space itself, not an alias of it.
Error unknown_space(const Word& word, std::string_view space,
                    std::span<const std::string_view> spaces, bool full) {
  Error error{ErrorCode::kUnknownName, cat("unknown memory space ", quote_name(word.text)),
              word.span, did_you_mean(space, spaces)};
  // The dialects spell `system` in two ways; every other name is the same in all.
  const auto nearest = nearest_name(space, spaces);
  if (full && nearest && *nearest != "system" && *nearest != "mmio") error.correction = *nearest;
  return error;
}

/// ('#' DIALECT '.' KIND)? '<' SPACE '>' | '#' ALIAS
Status read_space(Cursor& cursor, std::span<const std::string_view> spaces, MemRef& memref) {
  std::string name;
  if (cursor.accept("#")) {
    TESSERA_TRY(const Word first, cursor.identifier("a memory space", kSpaceHelp));
    if (!cursor.accept(".")) {
      memref.space = space_of_alias(first.text, spaces);
      memref.attribute = cat("#", first.text);
      if (std::find(spaces.begin(), spaces.end(), memref.space) != spaces.end()) return ok_status();
      return unknown_space(first, memref.space, spaces, false);
    }
    TESSERA_TRY(name, read_attribute_name(cursor, first));
  } else if (cursor.peek() != '<') {
    return cursor.expected("a memory space", kSpaceHelp);
  }
  TESSERA_CHECK_OK(cursor.expect("<", kSpaceHelp));
  TESSERA_TRY(const Word word, cursor.identifier("a memory space", kSpaceHelp));
  memref.space = canonical_space(word.text);
  if (std::find(spaces.begin(), spaces.end(), memref.space) == spaces.end()) {
    return unknown_space(word, memref.space, spaces, true);
  }
  memref.attribute = cat(name, "<", word.text, ">");
  return cursor.expect(">", kSpaceHelp);
}

}  // namespace

std::string_view canonical_space(std::string_view spelling) {
  for (const Spelling& known : kSpellings) {
    if (known.spelling == spelling) return known.space;
  }
  return spelling;
}

Result<MemRef> read_memref(Cursor& cursor, std::span<const std::string_view> spaces,
                           bool may_be_unsaid, Span* extents) {
  TESSERA_CHECK_OK(cursor.expect_word("memref", kMemrefHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kMemrefHelp));
  TESSERA_TRY(const TensorType type, read_tensor_type(cursor, extents));
  MemRef memref{type.shape.extents(), type.element, {}, {}};
  if (may_be_unsaid && cursor.accept(">")) return memref;
  TESSERA_CHECK_OK(cursor.expect(",", kMemrefHelp));
  TESSERA_CHECK_OK(read_space(cursor, spaces, memref));
  TESSERA_CHECK_OK(cursor.expect(">", kMemrefHelp));
  return memref;
}

std::string write_memref(const MemRef& memref, std::string_view dialect) {
  const std::string type = write_tensor_type(memref.shape, memref.element, dialect);
  if (memref.space.empty()) return cat("memref<", type, ">");
  return cat("memref<", type, ", ",
             memref.attribute.empty() ? cat("#", dialect, ".memory_space<", memref.space, ">")
                                      : memref.attribute,
             ">");
}

}  // namespace tessera::notation
