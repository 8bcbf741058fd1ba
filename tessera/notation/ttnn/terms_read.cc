// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/terms.h"
#include "tessera/notation/text/cursor.h"
#include "tessera/notation/ttnn/terms.h"

namespace tessera::notation {
namespace {

using Pair = std::array<std::int64_t, 2>;

constexpr std::string_view kHelp =
    "such as ttnn<stride=[4096, 64, 1], shard_shape=[32, 32], tile_shape=[32, 32]>";
constexpr std::array<std::string_view, 5> kNames = {"stride", "shard_shape", "tile_shape",
                                                    "grid_shape", "physical_shard_shape"};

Result<Pair> read_pair(Cursor& cursor, std::string_view name) {
  const std::int64_t from = cursor.position();
  TESSERA_TRY(const std::vector<std::int64_t> numbers, cursor.integers("an extent", kMaxRank));
  if (numbers.size() == 2) return Pair{numbers[0], numbers[1]};
  return Error{ErrorCode::kContradiction,
               cat(name, " has ", numbers.size(), numbers.size() == 1 ? " number" : " numbers"),
               cursor.since(from), "rows and columns: two"};
}

/// Reads `name=[..]` into `words` and its span into `spans`.
Status read_item(Cursor& cursor, std::string_view name, TtnnTerms& words, TermsSpans& spans) {
  const std::int64_t from = cursor.position();
  if (name == "stride") {
    TESSERA_TRY(words.stride, cursor.integers("a stride", kMaxRank + 1));
    spans.stride = cursor.since(from);
    return ok_status();
  }
  TESSERA_TRY(const Pair pair, read_pair(cursor, name));
  const Span span = cursor.since(from);
  if (name == "shard_shape") {
    words.shard_shape = pair;
    spans.shard = span;
  } else if (name == "tile_shape") {
    words.tile_shape = pair;
    spans.tile = span;
    if (pair == Pair{0, 0}) {
      return Error{ErrorCode::kContradiction, "a tile of 0x0", span, "such as [32, 32]"};
    }
  } else if (name == "grid_shape") {
    words.grid_shape = pair;
    spans.grid = span;
  } else {
    words.physical_shard_shape = pair;
    spans.physical_shard = span;
  }
  return ok_status();
}

}  // namespace

Result<Tensor> read_ttnn_terms(std::string_view source, const TensorType& type) {
  Cursor cursor(source, "the end of the layout");
  TESSERA_CHECK_OK(cursor.expect_word("ttnn", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  TtnnTerms words;
  const Span all{0, static_cast<std::int64_t>(source.size())};
  TermsSpans spans{all, all, all, all, all};
  std::vector<std::string_view> said;
  const auto has = [&](std::string_view name) {
    return std::find(said.begin(), said.end(), name) != said.end();
  };
  do {
    TESSERA_TRY(const Word name, cursor.identifier("a term", kHelp));
    if (std::find(kNames.begin(), kNames.end(), name.text) == kNames.end()) {
      return Error{ErrorCode::kUnknownName, cat("unknown term ", quote_name(name.text)), name.span,
                   did_you_mean(name.text, kNames)};
    }
    if (has(name.text)) {
      return Error{ErrorCode::kContradiction, cat(name.text, " is given twice"), name.span,
                   "give it once"};
    }
    said.push_back(name.text);
    TESSERA_CHECK_OK(cursor.expect("=", kHelp));
    TESSERA_CHECK_OK(read_item(cursor, name.text, words, spans));
  } while (cursor.accept(","));
  if (!cursor.accept(">")) return cursor.expected("',' or '>'", kHelp);
  TESSERA_CHECK_OK(cursor.expect_end());
  for (const std::string_view name : {kNames[0], kNames[1]}) {
    if (has(name)) continue;
    return Error{ErrorCode::kSyntax, cat("ttnn<> without ", name), all, std::string(kHelp)};
  }
  TESSERA_TRY(Layout layout, lower_terms(words, type.shape, type.dtype(), &spans));
  return Tensor{std::move(layout), "ttnn", make_terms(std::move(words))};
}

std::string write(const TtnnTerms& words) {
  std::string text =
      cat("ttnn<stride=", bracketed(words.stride), ", shard_shape=", bracketed(words.shard_shape));
  if (words.tile_shape != Pair{0, 0}) text += cat(", tile_shape=", bracketed(words.tile_shape));
  if (words.grid_shape) text += cat(", grid_shape=", bracketed(*words.grid_shape));
  if (words.physical_shard_shape) {
    text += cat(", physical_shard_shape=", bracketed(*words.physical_shard_shape));
  }
  return text + ">";
}

}  // namespace tessera::notation
