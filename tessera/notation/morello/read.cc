// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/morello/morello.h"
#include "tessera/notation/morello/text.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {
namespace {

using Builder = MorelloLayout::Builder;
using Kind = MorelloDim::Kind;

constexpr std::string_view kHelp =
    "such as morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))] or morello.row_major()";

constexpr std::array kBuilders = {
    std::pair{Builder::kRowMajor, std::string_view("row_major")},
    std::pair{Builder::kColMajor, std::string_view("col_major")},
    std::pair{Builder::kNhwc, std::string_view("nhwc")},
};

constexpr std::array kKinds = {
    std::pair{Kind::kDynamic, std::string_view("Dynamic")},
    std::pair{Kind::kPacked, std::string_view("Packed")},
    std::pair{Kind::kOddEven, std::string_view("OddEven")},
};

/// The value that `names` lists under the identifier that comes next.
template <typename Value, std::size_t n>
Result<Value> named(Cursor& cursor, std::string_view what,
                    const std::array<std::pair<Value, std::string_view>, n>& names) {
  TESSERA_TRY(const Word word, cursor.identifier(what, kHelp));
  std::vector<std::string_view> list;
  for (const auto& [value, name] : names) {
    if (name == word.text) return value;
    list.push_back(name);
  }
  return Error{ErrorCode::kUnknownName, cat("unknown ", what, " ", quote_name(word.text)),
               word.span, did_you_mean(word.text, list)};
}

/// '(' INT ',' ( 'Dynamic' | ( 'Packed' | 'OddEven' ) '(' INT ')' ) ')'
Result<MorelloDim> read_dim(Cursor& cursor) {
  MorelloDim item;
  TESSERA_CHECK_OK(cursor.expect("(", kHelp));
  TESSERA_TRY(item.dim, cursor.integer("a dim", kHelp));
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  TESSERA_TRY(item.kind, named(cursor, "kind of physical dim", kKinds));
  if (item.kind != Kind::kDynamic) {
    TESSERA_CHECK_OK(cursor.expect("(", kHelp));
    TESSERA_TRY(item.size, cursor.integer("a size", kHelp));
    TESSERA_CHECK_OK(cursor.expect(")", kHelp));
  }
  TESSERA_CHECK_OK(cursor.expect(")", kHelp));
  return item;
}

/// Reads the text after `morello[`.
Result<MorelloLayout> read_dims(Cursor& cursor, std::vector<Span>& spans) {
  MorelloLayout words;
  if (cursor.accept("]")) return words;
  do {
    const std::int64_t from = cursor.position();
    if (words.dims.size() == kMaxMorelloDims) {
      return Error{ErrorCode::kRankTooLarge,
                   cat("a list of more than ", kMaxMorelloDims, " physical dims"),
                   cursor.next().span, "join adjacent packs of a dim"};
    }
    TESSERA_TRY(const MorelloDim item, read_dim(cursor));
    words.dims.push_back(item);
    spans.push_back(cursor.since(from));
  } while (cursor.accept(","));
  if (!cursor.accept("]")) return cursor.expected("',' or ']'", kHelp);
  return words;
}

/// Reads the text after `morello.`: the builder's name, and possibly the rank, which must be the
/// tensor's.
Result<MorelloLayout> read_builder(Cursor& cursor, std::size_t rank) {
  TESSERA_TRY(const Builder builder, named(cursor, "builder", kBuilders));
  TESSERA_CHECK_OK(cursor.expect("(", kHelp));
  const bool says_rank = cursor.peek() != ')';
  if (says_rank) {
    const std::int64_t from = cursor.position();
    TESSERA_TRY(const std::int64_t said, cursor.integer("a rank or ')'", kHelp));
    if (said != static_cast<std::int64_t>(rank)) {
      return Error{ErrorCode::kContradiction,
                   cat("a layout of rank ", said, " for a tensor of rank ", rank),
                   cursor.since(from), cat("write ", rank, ", or nothing")};
    }
  }
  TESSERA_CHECK_OK(cursor.expect(")", kHelp));
  TESSERA_TRY(MorelloLayout words, morello_builder(builder, rank));
  words.says_rank = says_rank;
  return words;
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  Cursor cursor(source, "the end of the layout");
  TESSERA_CHECK_OK(cursor.expect_word("morello", kHelp));
  MorelloLayout words;
  std::vector<Span> spans;
  if (cursor.accept("[")) {
    TESSERA_TRY(words, read_dims(cursor, spans));
  } else if (cursor.accept(".")) {
    TESSERA_TRY(words, read_builder(cursor, type.shape.rank()));
  } else {
    return cursor.expected("'[' or '.'", kHelp);
  }
  TESSERA_CHECK_OK(cursor.expect_end());
  TESSERA_TRY(Layout layout, lower_said(words, type.shape, type.dtype(), spans));
  return Tensor{std::move(layout), "morello", make_terms(std::move(words))};
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const MorelloLayout words, raise_morello(layout));
  return WrittenTensor{TensorType::of(layout.shape(), layout.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.layout().shape(), tensor.layout().dtype()),
          write(std::get<MorelloLayout>(terms_of(tensor)))};
}

template <typename Value, std::size_t n>
std::string_view name_of(Value value,
                         const std::array<std::pair<Value, std::string_view>, n>& names) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "";
}

}  // namespace

std::string write(const MorelloLayout& words) {
  if (words.builder != Builder::kNone) {
    return cat("morello.", name_of(words.builder, kBuilders), "(",
               words.says_rank ? std::to_string(words.dims.size()) : "", ")");
  }
  std::string list;
  for (const MorelloDim& item : words.dims) {
    list += cat(list.empty() ? "(" : ", (", item.dim, ", ", name_of(item.kind, kKinds),
                item.kind == Kind::kDynamic ? "" : cat("(", item.size, ")"), ")");
  }
  return cat("morello[", list, "]");
}

Notation morello_notation() {
  return {.name = "morello",
          .keywords = {"morello", "morello."},
          .example = "tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>",
          .read = read,
          .raise = raise,
          .write = write_tensor,
          .scope = {.pads = false}};
}

}  // namespace tessera::notation
