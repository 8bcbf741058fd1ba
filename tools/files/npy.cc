// SPDX-License-Identifier: Apache-2.0
#include "tools/files/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string_view>

#include "tessera/base/checked.h"
#include "tessera/base/shape.h"
#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;
constexpr std::int64_t kAlignment = 64;
constexpr char kOwnOrder = std::endian::native == std::endian::little ? '<' : '>';
constexpr std::string_view kHelp = "write the file with numpy.save";

/// Reads the dictionary. Positions are bytes of the file, so that errors can name them.
class Literal {
 public:
  Literal(std::string_view text, std::int64_t at) : text_(text), at_(at) {}

  Result<NpyHeader> read() {
    std::optional<NpyType> type;
    std::optional<bool> order;
    std::optional<std::vector<std::int64_t>> shape;
    TESSERA_CHECK_OK(expect('{', "a dictionary"));
    while (!take('}')) {
      const std::size_t key_from = position_;
      TESSERA_TRY(const std::string_view key, quoted());
      const bool again = (key == "descr" && type) || (key == "fortran_order" && order) ||
                         (key == "shape" && shape);
      if (again) return wrong(cat("the key '", key, "' is listed twice"), key_from);
      TESSERA_CHECK_OK(expect(':', "':'"));
      if (key == "descr") {
        TESSERA_TRY(type, descr());
      } else if (key == "fortran_order") {
        TESSERA_TRY(order, boolean());
      } else if (key == "shape") {
        TESSERA_TRY(shape, tuple());
      } else {
        return wrong(cat("the header has an unknown key ", quote(key)), key_from,
                     "the keys are descr, fortran_order and shape");
      }
      if (take(',')) continue;
      TESSERA_CHECK_OK(expect('}', "',' or '}'"));
      break;
    }
    skip_blanks();
    if (position_ != text_.size()) return wrong("text after the dictionary", position_);
    if (!type) return wrong("the header has no 'descr'", 0);
    if (!order) return wrong("the header has no 'fortran_order'", 0);
    if (!shape) return wrong("the header has no 'shape'", 0);
    NpyHeader header;
    header.type = *type;
    header.fortran_order = *order;
    header.shape = *std::move(shape);
    return header;
  }

 private:
  Error wrong(std::string message, std::size_t from, std::string_view help = kHelp,
              ErrorCode code = ErrorCode::kSyntax) const {
    const std::int64_t start = at_ + static_cast<std::int64_t>(from);
    return Error{code, std::move(message), Span{start, start + 1}, std::string(help)};
  }

  void skip_blanks() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n\f").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
  }

  bool take(char c) {
    skip_blanks();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  std::string found() const {
    return position_ < text_.size() ? quote(text_.substr(position_, 1)) : "the end of the header";
  }

  Status expect(char c, std::string_view what) {
    if (take(c)) return ok_status();
    return wrong(cat("expected ", what, ", found ", found()), position_);
  }

  Result<std::string_view> quoted() {
    skip_blanks();
    const char mark = position_ < text_.size() ? text_[position_] : '\0';
    if (mark != '\'' && mark != '"') {
      return wrong(cat("expected a quoted text, found ", found()), position_);
    }
    const std::size_t from = position_ + 1;
    const std::size_t to = text_.find_first_of(mark == '"' ? "\"\\\n" : "'\\\n", from);
    if (to == std::string_view::npos || text_[to] == '\n') {
      return wrong("a text has no closing quote", position_);
    }
    if (text_[to] == '\\') return wrong("a text has a backslash", to);
    position_ = to + 1;
    return text_.substr(from, to - from);
  }

  Result<bool> boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>("True", true),
                                      std::pair<std::string_view, bool>("False", false)}) {
      if (!text_.substr(position_).starts_with(word)) continue;
      position_ += word.size();
      return value;
    }
    return wrong(cat("expected True or False, found ", found()), position_);
  }

  Result<std::int64_t> extent() {
    skip_blanks();
    const std::size_t from = position_;
    std::int64_t number = 0;
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + position_, end, number);
    if (error == std::errc::result_out_of_range) {
      return wrong("an extent does not fit a signed 64-bit integer", from, kHelp,
                   ErrorCode::kBadNumber);
    }
    if (error != std::errc()) return wrong(cat("expected an extent, found ", found()), from);
    if (number < 0) {
      return wrong(cat("the extent ", number, " is negative"), from, kHelp, ErrorCode::kBadNumber);
    }
    position_ = static_cast<std::size_t>(stop - text_.data());
    if (text_[from] == '0' && position_ - from > 1) {
      return wrong("an extent begins with 0", from, kHelp, ErrorCode::kBadNumber);
    }
    // Python 2 marked long integers.
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;
    return number;
  }

  Result<std::vector<std::int64_t>> tuple() {
    std::vector<std::int64_t> extents;
    const std::size_t from = position_;
    TESSERA_CHECK_OK(expect('(', "a tuple of extents"));
    bool comma = true;
    while (!take(')')) {
      if (!comma) return wrong(cat("expected ',' or ')', found ", found()), position_);
      if (extents.size() == kMaxRank) {
        return wrong(cat("the array has more than ", kMaxRank, " dims"), from, kHelp,
                     ErrorCode::kRankTooLarge);
      }
      TESSERA_TRY(const std::int64_t number, extent());
      extents.push_back(number);
      comma = take(',');
    }
    if (extents.size() == 1 && !comma) {
      return wrong(cat("(", extents[0], ") is a number, not a tuple"), from,
                   cat("the shape of a line is (", extents[0], ",)"));
    }
    return extents;
  }

  Result<NpyType> descr() {
    skip_blanks();
    const std::size_t from = position_;
    if (from < text_.size() && (text_[from] == '[' || text_[from] == '(')) {
      return wrong("the elements are records of several fields", from, "save one field as an array",
                   ErrorCode::kNotSupported);
    }
    TESSERA_TRY(const std::string_view text, quoted());
    std::string_view rest = text;
    NpyType type;
    if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
      type.swapped = (rest[0] == '<' || rest[0] == '>') && rest[0] != kOwnOrder;
      rest.remove_prefix(1);
    }
    const auto unknown = [&] {
      return wrong(cat("the elements have the type ", quote(text)), from,
                   "save an array of floats, integers or bools", ErrorCode::kNotSupported);
    };
    constexpr std::string_view kKinds = "fiubV";
    if (rest.empty() || kKinds.find(rest[0]) == std::string_view::npos) return unknown();
    type.kind = rest[0];
    const char* const end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data() + 1, end, type.bytes);
    if (error != std::errc() || stop != end || type.bytes < 1 || type.bytes > 16) return unknown();
    if (type.bytes == 1 || type.kind == 'V') type.swapped = false;
    return type;
  }

  std::string_view text_;
  std::int64_t at_;
  std::size_t position_ = 0;
};

Error no_npy(std::string message, std::int64_t from, std::int64_t to) {
  return Error{ErrorCode::kSyntax, std::move(message), Span{from, to},
               "name a .npy file of numpy.save; raw binary files end in .bin or .raw, or need "
               "--raw"};
}

}  // namespace

std::string NpyType::text() const {
  const char other = kOwnOrder == '<' ? '>' : '<';
  const char order = bytes == 1 || kind == 'V' ? '|' : swapped ? other : kOwnOrder;
  return cat(order, kind, bytes);
}

Result<NpyHeader> read_npy_header(std::span<const std::byte> start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (!text.starts_with(kMagic)) {
    return no_npy("the file does not begin like a .npy file", 0, 6);
  }
  constexpr std::size_t kLengthAt = kMagic.size() + kVersionBytes;
  if (text.size() < kLengthAt) return no_npy("the file ends inside its header", 0, 6);
  const unsigned major = byte(kMagic.size());
  const unsigned minor = byte(kMagic.size() + 1);
  if (major < 1 || major > 3 || minor != 0) {
    return Error{ErrorCode::kNotSupported, cat("the file has the .npy version ", major, ".", minor),
                 Span{6, 8}, "versions 1.0, 2.0 and 3.0 are supported"};
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t from = kLengthAt + length_bytes;
  if (text.size() < from) return no_npy("the file ends inside its header", 0, 6);
  std::int64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length * 256 + byte(kLengthAt + i);
  if (length > kMaxNpyHeader) {
    return Error{ErrorCode::kTextTooLong, cat("the header is ", length, " bytes long"),
                 Span{8, static_cast<std::int64_t>(from)},
                 cat("headers of at most ", kMaxNpyHeader, " bytes are accepted")};
  }
  if (text.size() - from < static_cast<std::size_t>(length)) {
    return no_npy(cat("the file ends inside its header of ", length, " bytes"), 8,
                  static_cast<std::int64_t>(from));
  }
  TESSERA_TRY(NpyHeader header, Literal(text.substr(from, static_cast<std::size_t>(length)),
                                        static_cast<std::int64_t>(from))
                                    .read());
  header.data_offset = static_cast<std::int64_t>(from) + length;
  // An extent of 0 makes the product 0 whatever the others are.
  const bool is_empty =
      std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
  Checked elements(is_empty ? 0 : 1);
  for (const std::int64_t extent : header.shape) elements *= is_empty ? 0 : extent;
  TESSERA_TRY(header.elements, elements.value("the number of elements of the array"));
  TESSERA_TRY(
      header.data_bytes,
      (Checked(header.elements) * header.type.bytes).value("the number of bytes of the array"));
  return header;
}

std::string write_npy_header(const NpyType& type, bool fortran_order,
                             const std::vector<std::int64_t>& shape) {
  std::string dictionary =
      cat("{'descr': '", type.text(), "', 'fortran_order': ", fortran_order ? "True" : "False",
          ", 'shape': ", python_tuple(shape), ", }");
  const auto padded = [&](std::size_t before) {
    const auto used = static_cast<std::int64_t>(before + dictionary.size() + 1);
    return static_cast<std::size_t>(ceil_div(used, kAlignment) * kAlignment) - before;
  };
  std::size_t before = kMagic.size() + kVersionBytes + 2;
  const bool is_short = padded(before) < (std::size_t{1} << 16);
  if (!is_short) before += 2;
  const std::size_t length = padded(before);
  dictionary.resize(length - 1, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += is_short ? '\x01' : '\x02';
  header += '\0';
  for (std::size_t i = 0; i < (is_short ? 2U : 4U); ++i) {
    header += static_cast<char>(length >> (8 * i) & 0xFF);
  }
  return header + dictionary;
}

std::string python_tuple(const std::vector<std::int64_t>& shape) {
  return cat("(", join(shape, ", "), shape.size() == 1 ? ",)" : ")");
}

}  // namespace tessera::tools
