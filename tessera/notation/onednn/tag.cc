// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/notation/onednn/onednn.h"

/// The grammar of format tags.
namespace tessera::notation {
namespace {

constexpr std::string_view kPlain = "abcdefghijkl";

/// The named dims in logical order. The sets are those of oneDNN's enum (dnnl_format_tag_t).
constexpr std::array<std::string_view, 18> kNamed = {
    "x",    "nc",    "ncw",    "nchw", "ncdhw", "oi",   "oiw",   "oihw", "oidhw",
    "goiw", "goihw", "goidhw", "tn",   "tnc",   "ldnc", "ldigo", "ldio", "ldgo"};

/// Names of the enum whose value differs from the tag that their letters spell.
struct Misnomer {
  std::string_view name;
  std::string_view value;
};
constexpr std::array<Misnomer, 6> kMisnomers = {{
    {"OhwI24o", "Acdb24a"},
    {"OhwI32o", "Acdb32a"},
    {"gOhwI24o", "aBdec24b"},
    {"gOhwI32o", "aBdec32b"},
    {"gIOhw2i8o16i2o", "aBCde2c8b16c2b"},
    {"gIOdhw2i8o16i2o", "aBCdef2c8b16c2b"},
}};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower_case(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char upper_case(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

/// The letters of a tag in logical order, if they are one of the sets.
std::optional<std::string> logical_letters(std::string_view said) {
  std::string sorted(said);
  std::sort(sorted.begin(), sorted.end());
  if (kPlain.starts_with(sorted)) return sorted;
  for (const std::string_view named : kNamed) {
    std::string set(named);
    std::sort(set.begin(), set.end());
    if (set == sorted) return std::string(named);
  }
  return std::nullopt;
}

class TagReader {
 public:
  TagReader(std::string_view tag, std::int64_t from) : tag_(tag), from_(from) {}

  Result<OnednnLayout> read() {
    TESSERA_CHECK_OK(read_letters());
    while (at_ < tag_.size()) TESSERA_CHECK_OK(read_block());
    for (std::size_t i = 0; i < said_.size(); ++i) {
      const bool blocked =
          std::any_of(words_.blocks.begin(), words_.blocks.end(),
                      [&](const auto& block) { return block.dim == words_.order[i]; });
      if (blocked == is_upper(tag_[i])) continue;
      return wrong(i, 1,
                   blocked ? cat("dim '", tag_[i], "' has blocks but is written in lower case")
                           : cat("dim '", tag_[i], "' is written in upper case but has no block"),
                   ErrorCode::kContradiction,
                   blocked ? cat("write '", upper_case(tag_[i]), "'")
                           : cat("write '", said_[i], "', or add a block such as 16", said_[i]));
    }
    return std::move(words_);
  }

 private:
  Error wrong(std::size_t at, std::size_t length, std::string message, ErrorCode code,
              std::string help) const {
    const std::int64_t start = from_ + static_cast<std::int64_t>(at);
    return Error{code, std::move(message), Span{start, start + static_cast<std::int64_t>(length)},
                 std::move(help)};
  }

  Status read_letters() {
    for (; at_ < tag_.size() && (is_lower(tag_[at_]) || is_upper(tag_[at_])); ++at_) {
      const char letter = lower_case(tag_[at_]);
      if (said_.find(letter) != std::string::npos) {
        return wrong(at_, 1, cat("dim '", letter, "' is listed twice"), ErrorCode::kSyntax,
                     "each dim once, then blocks with their sizes: aBcd16b");
      }
      if (said_.size() == kMaxOnednnDims) {
        return wrong(at_, 1, cat("more than ", kMaxOnednnDims, " dims"), ErrorCode::kRankTooLarge,
                     "oneDNN has tensors of 1 to 12 dims");
      }
      said_ += letter;
    }
    const std::optional<std::string> letters = logical_letters(said_);
    if (said_.empty() || !letters) {
      return wrong(
          0, std::max<std::size_t>(at_, 1),
          cat("the letters ", quote_name(tag_.substr(0, at_)), " are not a valid set of dims"),
          ErrorCode::kUnknownName,
          "abcd.. without a gap, or nc, oi, goi with w, hw or dhw, x, tn, tnc, ldnc, "
          "ldigo, ldio, ldgo, in any order");
    }
    words_.letters = *letters;
    for (const char letter : said_) words_.order.push_back(static_cast<int>(letters->find(letter)));
    return ok_status();
  }

  Status read_block() {
    const std::size_t start = at_;
    Checked size = 0;
    for (; at_ < tag_.size() && is_digit(tag_[at_]); ++at_) size = size * 10 + (tag_[at_] - '0');
    if (at_ == start || at_ == tag_.size()) {
      return wrong(start, std::max<std::size_t>(at_ - start, 1),
                   at_ == start ? cat("expected a block, found ", quote_name(tag_.substr(at_, 1)))
                                : cat("a block of ", quote_name(tag_.substr(start)),
                                      " without the letter of its dim"),
                   ErrorCode::kSyntax, "a block is a size and the letter of its dim: 16b");
    }
    const std::size_t dim = words_.letters.find(tag_[at_]);
    if (dim == std::string::npos) {
      return wrong(at_, 1,
                   cat("a block of ", quote_name(tag_.substr(at_, 1)), ", which is not a dim"),
                   ErrorCode::kUnknownName,
                   cat("the dims of this tag are ", words_.letters, ", in lower case"));
    }
    ++at_;
    if (size.overflowed() || size.raw() < 1 || tag_[start] == '0') {
      return wrong(start, at_ - start - 1, "a block size out of range", ErrorCode::kBadNumber,
                   "block sizes are 1 or more, without leading zeros");
    }
    if (words_.blocks.size() == kMaxOnednnBlocks) {
      return wrong(start, at_ - start, cat("more than ", kMaxOnednnBlocks, " blocks"),
                   ErrorCode::kRankTooLarge, "oneDNN has at most 12 blocks");
    }
    words_.blocks.push_back({static_cast<int>(dim), size.raw()});
    return ok_status();
  }

  std::string_view tag_;
  std::int64_t from_;
  std::size_t at_ = 0;
  std::string said_;  ///< the letters of the dims in lower case
  OnednnLayout words_;
};

}  // namespace

Result<OnednnLayout> read_onednn_tag(std::string_view tag, std::int64_t from) {
  if (tag == "any" || tag == "undef" || tag == "format_tag_any" || tag == "format_tag_undef") {
    return Error{ErrorCode::kNotSupported, cat(quote_name(tag), " leaves the layout to oneDNN"),
                 Span{from, from + static_cast<std::int64_t>(tag.size())},
                 "give the tag that oneDNN chose"};
  }
  for (const Misnomer& misnomer : kMisnomers) {
    if (tag != misnomer.name) continue;
    TESSERA_TRY(OnednnLayout words, TagReader(misnomer.value, from).read());
    words.misnomer = misnomer.name;
    return words;
  }
  return TagReader(tag, from).read();
}

}  // namespace tessera::notation
