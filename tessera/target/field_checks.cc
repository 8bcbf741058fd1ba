// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/field_checks.h"

#include <algorithm>

#include "tessera/base/names.h"
#include "tessera/target/number_text.h"

namespace tessera::target {
namespace {

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

/// The code point at the start of `text` and its bytes, or empty if `text` is not UTF-8.
struct CodePoint {
  std::uint32_t value;
  std::size_t bytes;
};
std::optional<CodePoint> first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return CodePoint{lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return std::nullopt;
  const std::size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < bytes) return std::nullopt;
  std::uint32_t value = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80U) return std::nullopt;
    value = value << 6U | (byte & 0x3FU);
  }
  const bool overlong = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (overlong || surrogate || value > 0x10FFFF) return std::nullopt;
  return CodePoint{value, bytes};
}

bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const std::optional<CodePoint> point = first_code_point(text);
    if (!point) return false;
    const bool control = point->value < 0x20 || (point->value >= 0x7F && point->value < 0xA0);
    if (control) return false;
    text.remove_prefix(point->bytes);
  }
  return true;
}

}  // namespace

Found at_least(std::int64_t least, std::optional<std::int64_t> number, const std::string& path) {
  if (!number || *number >= least) return std::nullopt;
  return Problem{ErrorCode::kBadNumber, path,
                 cat("expected a number of at least ", least, ", found ", *number)};
}

Found between(std::int64_t least, std::int64_t number, std::int64_t most, const std::string& path) {
  if (number <= most) return at_least(least, number, path);
  return Problem{ErrorCode::kTooLarge, path,
                 cat("expected a number of at most ", most, ", found ", number)};
}

Found inside(const Place& coordinates, const std::vector<std::int64_t>& extents,
             const std::string& path) {
  bool inside = coordinates.size() == extents.size();
  for (std::size_t axis = 0; inside && axis < extents.size(); ++axis) {
    inside = coordinates[axis] >= 0 && coordinates[axis] < extents[axis];
  }
  if (inside) return std::nullopt;
  return Problem{
      ErrorCode::kOutOfRange, path,
      cat("expected a router of ", join(extents, "x"), ", found ", bracketed(coordinates)),
      "one coordinate per axis, counted from 0"};
}

Found in_range(const std::optional<double>& figure, const std::string& path, Zero zero) {
  if (!figure || (*figure >= kMinFigure && *figure <= kMaxFigure)) return std::nullopt;
  const bool zero_allowed = zero == Zero::kAllowed;
  if (zero_allowed && *figure == 0) return std::nullopt;
  return Problem{
      ErrorCode::kBadNumber, path,
      cat("expected ", zero_allowed ? "0 or " : "", "a number from ", number_text(kMinFigure),
          " to ", number_text(kMaxFigure), ", found ", number_text(*figure)),
      "leave out what is not known"};
}

Found not_both(const std::optional<double>& first, std::string_view first_name,
               const std::optional<double>& second, std::string_view second_name,
               const std::string& path) {
  if (!first || !second) return std::nullopt;
  return Problem{ErrorCode::kContradiction, cat(path, "/", second_name),
                 cat("expected ", first_name, " or ", second_name,
                     ", found both: ", number_text(*first), " and ", number_text(*second)),
                 cat("leave out ", first_name, " or ", second_name)};
}

Found at_most(std::size_t most, std::size_t count, std::string_view what, const std::string& path) {
  if (count <= most) return std::nullopt;
  return Problem{ErrorCode::kTooLarge, path,
                 cat("expected at most ", most, " ", what, ", found ", count)};
}

Found plain_name(const std::string& name, const std::string& path) {
  const bool plain = std::all_of(name.begin(), name.end(), is_name_letter);
  if (plain && !name.empty() && name.size() <= kMaxNameBytes) return std::nullopt;
  return Problem{ErrorCode::kBadTarget, path, cat("expected a name, found ", quote_name(name)),
                 cat("a name is 1 to ", kMaxNameBytes, " letters, digits, '_' or '-'")};
}

Found plain_text(const std::string& text, const std::string& path) {
  if (Found found = at_most(kMaxNoteBytes, text.size(), "bytes of text", path)) return found;
  if (is_plain_text(text)) return std::nullopt;
  return Problem{ErrorCode::kBadTarget, path,
                 cat("expected one line of text, found control characters in ", quote_name(text)),
                 "write UTF-8 without line breaks"};
}

Found distinct(const std::vector<std::string>& names,
               const std::function<std::string(std::size_t)>& path_of) {
  for (std::size_t i = 1; i < names.size(); ++i) {
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(names.begin(), end, names[i]) == end) continue;
    return Problem{ErrorCode::kContradiction, path_of(i),
                   cat("the name ", quote_name(names[i]), " is already used"), "names must differ"};
  }
  return std::nullopt;
}

}  // namespace tessera::target
