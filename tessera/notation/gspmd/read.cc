// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/gspmd/text.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {
namespace {

using Copies = GspmdLayout::Copies;
using Kind = GspmdLayout::Kind;

constexpr std::string_view kHelp =
    "such as gspmd{devices=[4,2]<=[8]} or gspmd{replicated num_partitions=8}";
constexpr std::size_t kMaxDevices = std::size_t{1} << 22;
constexpr std::array<std::string_view, 9> kWords = {
    "devices",   "replicated",     "maximal",
    "unreduced", "device",         "manual",
    "unknown",   "num_partitions", "last_tile_dim_replicate",
};
constexpr std::array<std::string_view, 5> kCopies = {"replicated", "unreduced", "manual", "maximal",
                                                     "unknown"};

Error unsupported(Word word, std::string_view help) {
  return Error{ErrorCode::kNotSupported, cat("'", word.text, "' is not supported"), word.span,
               std::string(help)};
}

/// INT {',' INT} up to `limit`.
Result<std::vector<std::int64_t>> read_list(Cursor& cursor, std::string_view what,
                                            std::size_t limit) {
  std::vector<std::int64_t> numbers;
  do {
    if (numbers.size() == limit) {
      return Error{ErrorCode::kRankTooLarge, cat("more than ", limit, " numbers"),
                   cursor.next().span, "use a shorter list"};
    }
    TESSERA_TRY(const std::int64_t number, cursor.integer(what, kHelp));
    numbers.push_back(number);
  } while (cursor.accept(","));
  return numbers;
}

/// [4,2]<=[8], [2,2]<=[2,2]T(1,0) or [2,2]0,2,1,3.
Status read_devices(Cursor& cursor, GspmdLayout& words) {
  TESSERA_TRY(words.tiles, cursor.integers("a number of tiles", kMaxRank));
  if (!cursor.accept("<=")) {
    TESSERA_TRY(words.devices, read_list(cursor, "'<=' or a device", kMaxDevices));
    return ok_status();
  }
  TESSERA_TRY(words.reshape, cursor.integers("an extent", kMaxRank));
  if (words.reshape.empty()) return cursor.expected("an extent in '<=[..]'", kHelp);
  if (!cursor.accept_word("T")) return ok_status();
  TESSERA_CHECK_OK(cursor.expect("(", "such as <=[2,4]T(1,0)"));
  TESSERA_TRY(words.transpose, read_list(cursor, "a dim", kMaxRank));
  return cursor.expect(")", "such as <=[2,4]T(1,0)");
}

/// {manual, replicated}
Status read_copies(Cursor& cursor, GspmdLayout& words) {
  TESSERA_CHECK_OK(cursor.expect("{", "such as last_tile_dims={replicated}"));
  do {
    TESSERA_TRY(const Word word, cursor.identifier("'replicated'"));
    if (word.text == "replicated" || word.text == "unreduced") {
      words.copies.push_back(word.text == "replicated" ? Copies::kReplicated : Copies::kUnreduced);
    } else if (word.text == "manual" || word.text == "maximal" || word.text == "unknown") {
      return unsupported(word, "the content of these devices is not specified");
    } else {
      return Error{ErrorCode::kUnknownName,
                   cat("no kind of copies is called ", quote_name(word.text)), word.span,
                   did_you_mean(word.text, kCopies)};
    }
    if (words.copies.size() > kMaxRank) {
      return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxRank, " kinds"), word.span,
                   "use fewer dims"};
    }
  } while (cursor.accept(","));
  return cursor.expect("}", "such as last_tile_dims={replicated}");
}

class Reader {
 public:
  explicit Reader(std::string_view source) : cursor_(source, "the end of the layout") {}

  Result<GspmdText> run() {
    TESSERA_CHECK_OK(cursor_.expect_word("gspmd", kHelp));
    TESSERA_CHECK_OK(cursor_.expect("{", kHelp));
    if (cursor_.peek() == '{' || cursor_.peek() == '}') {
      return unsupported(cursor_.next(),
                         "a tuple has one sharding per tensor: read each separately");
    }
    while (!cursor_.accept("}")) TESSERA_CHECK_OK(item());
    text_.whole = cursor_.since(0);
    TESSERA_CHECK_OK(cursor_.expect_end());
    return finish();
  }

 private:
  Status item() {
    TESSERA_TRY(const Word word, cursor_.identifier("a sharding", kHelp));
    GspmdLayout& words = text_.words;
    const std::string_view name = word.text;
    if (name == "replicated") return say_kind(Kind::kReplicated, word);
    if (name == "maximal") return say_kind(Kind::kMaximal, word);
    if (name == "unreduced") return say_kind(Kind::kUnreduced, word);
    if (name == "last_tile_dim_replicate") {
      TESSERA_CHECK_OK(once(copies_, word));
      words.copies = {Copies::kReplicated};
      return ok_status();
    }
    if (name == "manual" || name == "unknown") {
      return unsupported(word, "such a sharding does not specify where elements are");
    }
    if (name == "metadata" || name == "shard_as" || name == "shard_like") {
      return unsupported(word, "omit it: it does not specify where elements are");
    }
    if (name == "mesh" || name == "maximal_mesh") {
      return unsupported(word, "list the devices: devices=[..]<=[..]");
    }
    if (name != "devices" && name != "device" && name != "last_tile_dims" &&
        name != "num_partitions") {
      return Error{ErrorCode::kUnknownName, cat("no sharding has ", quote_name(name)), word.span,
                   did_you_mean(name, kWords)};
    }
    TESSERA_CHECK_OK(cursor_.expect("=", kHelp));
    const std::int64_t from = cursor_.position();
    if (name == "devices") {
      TESSERA_CHECK_OK(say_kind(Kind::kTiled, word));
      TESSERA_CHECK_OK(read_devices(cursor_, words));
      text_.devices = cursor_.since(from);
    } else if (name == "last_tile_dims") {
      TESSERA_CHECK_OK(once(copies_, word));
      TESSERA_CHECK_OK(read_copies(cursor_, words));
    } else if (name == "device") {
      TESSERA_CHECK_OK(once(device_, word));
      TESSERA_TRY(words.device, cursor_.integer("a device"));
      text_.devices = cursor_.since(from);
    } else {
      TESSERA_CHECK_OK(once(partitions_, word));
      TESSERA_TRY(words.partitions, cursor_.integer("a number of devices"));
    }
    return ok_status();
  }

  static Status once(std::optional<Word>& said, const Word& word) {
    if (said) {
      return Error{ErrorCode::kContradiction, cat("'", word.text, "' after '", said->text, "'"),
                   word.span, "give it once"};
    }
    said = word;
    return ok_status();
  }

  Status say_kind(Kind kind, const Word& word) {
    text_.words.kind = kind;
    return once(kind_, word);
  }

  Result<GspmdText> finish() {
    GspmdLayout& words = text_.words;
    if (!kind_) {
      return Error{ErrorCode::kSyntax, "no devices are given", text_.whole, std::string(kHelp)};
    }
    const bool tiled = words.kind == Kind::kTiled;
    if (copies_ && !tiled) return misplaced(*copies_, "devices=[..]");
    if (device_ && words.kind != Kind::kMaximal) return misplaced(*device_, "maximal");
    if (words.kind == Kind::kMaximal && !device_) {
      return Error{ErrorCode::kSyntax, "'maximal' without its device", kind_->span,
                   "such as gspmd{maximal device=3 num_partitions=8}"};
    }
    if (tiled && partitions_) return misplaced(*partitions_, "replicated, maximal or unreduced");
    if (!tiled && !partitions_) {
      return Error{ErrorCode::kSyntax, cat("'", kind_->text, "' without the number of devices"),
                   text_.whole,
                   cat("such as gspmd{", kind_->text,
                       words.kind == Kind::kMaximal ? " device=3" : "", " num_partitions=8}")};
    }
    return text_;
  }

  static Error misplaced(const Word& word, std::string_view with) {
    return Error{ErrorCode::kContradiction, cat("'", word.text, "' belongs to ", with), word.span,
                 "omit it"};
  }

  Cursor cursor_;
  GspmdText text_;
  std::optional<Word> kind_, copies_, device_, partitions_;
};

}  // namespace

Result<GspmdText> read_gspmd(std::string_view source) { return Reader(source).run(); }

}  // namespace tessera::notation
