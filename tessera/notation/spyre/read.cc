// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/spyre/lines.h"
#include "tessera/notation/text/cursor.h"

// LAYOUT   = 'spyre' '<' ENTRIES '>' | 'spyre' '.' 'default' '(' [ENTRIES] ')'
// ENTRIES  = KEY '=' VALUE (',' KEY '=' VALUE)*            in any order, each key once
// VALUE    = '[' INT, .. ']' | INT | 'true' | 'false' | 'document' | 'now'
namespace tessera::notation::spyre {
namespace {

constexpr std::string_view kExample =
    "such as spyre<device_size=[4, 512, 64], dim_map=[1, 0, 1]> or spyre.default()";

// The valid keys; dim_map and stride_map share an item.
constexpr std::array<std::string_view, 7> kMapKeys = {
    "device_size", "dim_map", "stride_map", "host_stride", "storage_offset", "era", "cores"};
constexpr std::array<std::string_view, 6> kDefaultKeys = {"dim_order",   "sparse",         "era",
                                                          "host_stride", "storage_offset", "cores"};

class Reader {
 public:
  explicit Reader(std::string_view text) : cursor_(text, "the end of the layout") {}

  Result<Parsed> read() {
    TESSERA_CHECK_OK(cursor_.expect_word("spyre", kExample));
    if (cursor_.accept(".")) {
      parsed_.words.form = SpyreLayout::Form::kDefault;
      const Word name = cursor_.next_identifier();
      if (!cursor_.accept_word("default")) {
        constexpr std::array<std::string_view, 1> kNames = {"default"};
        if (name.text.empty()) return cursor_.expected("'default'", kExample);
        return Error{ErrorCode::kUnknownName,
                     cat("spyre has no layout called ", quote_name(name.text)), name.span,
                     did_you_mean(name.text, kNames)};
      }
      TESSERA_CHECK_OK(cursor_.expect("(", kExample));
      if (!cursor_.accept(")")) TESSERA_CHECK_OK(entries(kDefaultKeys, ")"));
    } else {
      TESSERA_CHECK_OK(cursor_.expect("<", kExample));
      TESSERA_CHECK_OK(entries(kMapKeys, ">"));
      TESSERA_CHECK_OK(check_map());
    }
    TESSERA_CHECK_OK(cursor_.expect_end());
    return std::move(parsed_);
  }

 private:
  Status entries(std::span<const std::string_view> keys, std::string_view close) {
    do {
      TESSERA_TRY(const Word key, cursor_.identifier("a key", kExample));
      if (std::find(keys.begin(), keys.end(), key.text) == keys.end()) {
        return Error{ErrorCode::kUnknownName, cat("unknown key ", quote_name(key.text)), key.span,
                     did_you_mean(key.text, keys)};
      }
      TESSERA_CHECK_OK(cursor_.expect("=", kExample));
      TESSERA_CHECK_OK(value(key));
    } while (cursor_.accept(","));
    if (cursor_.accept(close)) return ok_status();
    return cursor_.expected(cat("',' or '", close, "'"), kExample);
  }

  Status value(const Word& key) {
    SpyreLayout& words = parsed_.words;
    if (key.text == "device_size") return list(key, Item::kDeviceSize, words.device_size);
    if (key.text == "dim_map" || key.text == "stride_map") {
      words.form =
          key.text == "dim_map" ? SpyreLayout::Form::kDimMap : SpyreLayout::Form::kStrideMap;
      return list(key, Item::kMap, words.map);
    }
    if (key.text == "dim_order") return list(key, Item::kDimOrder, words.dim_order.emplace());
    if (key.text == "host_stride") return list(key, Item::kHostStride, words.host_stride.emplace());
    if (key.text == "cores") return list(key, Item::kCores, words.cores);
    const std::int64_t from = cursor_.position();
    if (key.text == "storage_offset") {
      TESSERA_TRY(words.storage_offset, cursor_.integer("an offset"));
      return place(key, Item::kStorageOffset, {cursor_.since(from), {}});
    }
    const bool era = key.text == "era";
    if (era && (cursor_.accept_word("document") || cursor_.accept_word("seed"))) {
      words.era = SpyreLayout::Era::kDocument;
    } else if (era && cursor_.accept_word("now")) {
      words.era = SpyreLayout::Era::kNow;
    } else if (era) {
      return cursor_.expected(
          "'document' or 'now'",
          "era=document drops dims of extent 1, as in the Spyre document; era=now keeps them");
    } else if (cursor_.accept_word("true")) {
      words.sparse = true;
    } else if (!cursor_.accept_word("false")) {
      return cursor_.expected("'true' or 'false'", "sparse tensors keep one element per stick");
    }
    return place(key, era ? Item::kEra : Item::kSparse, {cursor_.since(from), {}});
  }

  Status list(const Word& key, Item item, std::vector<std::int64_t>& out) {
    Spans::Of spans{{cursor_.position(), 0}, {}};
    std::vector<std::int64_t> numbers;
    TESSERA_CHECK_OK(cursor_.expect("[", cat("a list, such as ", key.text, "=[4, 512, 64]")));
    if (!cursor_.accept("]")) {
      do {
        const std::int64_t from = cursor_.position();
        TESSERA_TRY(const std::int64_t number, cursor_.integer("a number"));
        const Span span = cursor_.since(from);
        if (numbers.size() == kMaxRank) {
          return Error{ErrorCode::kRankTooLarge,
                       cat(key.text, " has more than ", kMaxRank, " numbers"), span,
                       cat("at most ", kMaxRank, " device dims")};
        }
        numbers.push_back(number);
        spans.numbers.push_back(span);
      } while (cursor_.accept(","));
      if (!cursor_.accept("]")) return cursor_.expected("',' or ']'");
    }
    spans.whole = cursor_.since(spans.whole.from);
    TESSERA_CHECK_OK(place(key, item, std::move(spans)));
    out = std::move(numbers);
    return ok_status();
  }

  /// Records the span of an item; an item that is listed twice is an error.
  Status place(const Word& key, Item item, Spans::Of spans) {
    std::optional<Spans::Of>& slot = parsed_.spans[item];
    if (slot) {
      if (item == Item::kMap) {
        return Error{ErrorCode::kContradiction, "a layout has one map, dim_map or stride_map",
                     key.span, "omit one of them"};
      }
      return Error{ErrorCode::kContradiction, cat(key.text, " is given twice"), key.span,
                   "give it once"};
    }
    slot = std::move(spans);
    return ok_status();
  }

  Status check_map() {
    for (const auto& [item, name] :
         {std::pair{Item::kDeviceSize, "device_size"}, std::pair{Item::kMap, "dim_map"}}) {
      if (parsed_.spans[item]) continue;
      return Error{ErrorCode::kSyntax,
                   cat(name, item == Item::kMap ? " or stride_map is missing" : " is missing"),
                   std::nullopt, std::string(kExample)};
    }
    return ok_status();
  }

  Cursor cursor_;
  Parsed parsed_;
};

}  // namespace

Error Spans::blame(Item item, const Error& error) const {
  const std::optional<Of>& of = items[static_cast<std::size_t>(item)];
  return of ? error.at(of->whole) : error;
}

Error Spans::blame(Item item, std::size_t number, Error error) const {
  const std::optional<Of>& of = items[static_cast<std::size_t>(item)];
  if (!of) return error;
  return error.at(number < of->numbers.size() ? of->numbers[number] : of->whole);
}

Result<Parsed> parse(std::string_view text) { return Reader(text).read(); }

}  // namespace tessera::notation::spyre
