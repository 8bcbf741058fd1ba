// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tessera/base/result.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::array kCodeNames = {
    std::pair{ErrorCode::kOverflow, std::string_view("overflow")},
    std::pair{ErrorCode::kOutOfRange, std::string_view("out_of_range")},
    std::pair{ErrorCode::kTooLarge, std::string_view("too_large")},
    std::pair{ErrorCode::kRankTooLarge, std::string_view("rank_too_large")},
    std::pair{ErrorCode::kBadShape, std::string_view("bad_shape")},
    std::pair{ErrorCode::kBadDType, std::string_view("bad_dtype")},
    std::pair{ErrorCode::kBadFold, std::string_view("bad_fold")},
    std::pair{ErrorCode::kBadCut, std::string_view("bad_cut")},
    std::pair{ErrorCode::kCountTooSmall, std::string_view("count_too_small")},
    std::pair{ErrorCode::kMeshTooSmall, std::string_view("mesh_too_small")},
    std::pair{ErrorCode::kAxisUnsaid, std::string_view("axis_unsaid")},
    std::pair{ErrorCode::kBadFill, std::string_view("bad_fill")},
    std::pair{ErrorCode::kBadAtom, std::string_view("bad_atom")},
    std::pair{ErrorCode::kBadDeviceMap, std::string_view("bad_device_map")},
    std::pair{ErrorCode::kSlotsTooFew, std::string_view("slots_too_few")},
    std::pair{ErrorCode::kNotInjective, std::string_view("not_injective")},
    std::pair{ErrorCode::kPaddingOverlap, std::string_view("padding_overlap")},
    std::pair{ErrorCode::kInvalidShape, std::string_view("invalid_shape")},
    std::pair{ErrorCode::kBadPieces, std::string_view("bad_pieces")},
    std::pair{ErrorCode::kShapeMismatch, std::string_view("shape_mismatch")},
    std::pair{ErrorCode::kMeshMismatch, std::string_view("mesh_mismatch")},
    std::pair{ErrorCode::kViewLeavesForm, std::string_view("view_leaves_form")},
    std::pair{ErrorCode::kBadView, std::string_view("bad_view")},
    std::pair{ErrorCode::kNotSupported, std::string_view("not_supported")},
    std::pair{ErrorCode::kDoesNotFit, std::string_view("does_not_fit")},
    std::pair{ErrorCode::kPlansDiffer, std::string_view("plans_differ")},
    std::pair{ErrorCode::kBadPacket, std::string_view("bad_packet")},
    std::pair{ErrorCode::kRankSilent, std::string_view("rank_silent")},
    std::pair{ErrorCode::kOutOfMemory, std::string_view("out_of_memory")},
    std::pair{ErrorCode::kBadAlignment, std::string_view("bad_alignment")},
    std::pair{ErrorCode::kBadBlock, std::string_view("bad_block")},
    std::pair{ErrorCode::kBadBuffer, std::string_view("bad_buffer")},
    std::pair{ErrorCode::kBadProblem, std::string_view("bad_problem")},
    std::pair{ErrorCode::kSyntax, std::string_view("syntax")},
    std::pair{ErrorCode::kUnknownName, std::string_view("unknown_name")},
    std::pair{ErrorCode::kUnknownNotation, std::string_view("unknown_notation")},
    std::pair{ErrorCode::kUnknownTarget, std::string_view("unknown_target")},
    std::pair{ErrorCode::kBadNumber, std::string_view("bad_number")},
    std::pair{ErrorCode::kTextTooLong, std::string_view("text_too_long")},
    std::pair{ErrorCode::kContradiction, std::string_view("contradiction")},
    std::pair{ErrorCode::kBadTarget, std::string_view("bad_target")},
    std::pair{ErrorCode::kBadGraph, std::string_view("bad_graph")},
    std::pair{ErrorCode::kBadNode, std::string_view("bad_node")},
    std::pair{ErrorCode::kUsage, std::string_view("usage")},
    std::pair{ErrorCode::kBadJson, std::string_view("bad_json")},
    std::pair{ErrorCode::kIo, std::string_view("io")},
};

constexpr std::size_t kWindow = 100;  // columns of source shown around a caret

bool continues_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_code_point(c); }));
}

/// The part of the source that is shown around a span, and the position of the span in it.
struct Window {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  bool is_cut_before = false;
  bool is_cut_after = false;
};

Window window_around(std::string_view source, Span span) {
  const auto size = static_cast<std::int64_t>(source.size());
  Window window;
  window.from = static_cast<std::size_t>(std::clamp<std::int64_t>(span.from, 0, size));
  window.to = static_cast<std::size_t>(
      std::clamp<std::int64_t>(span.to, static_cast<std::int64_t>(window.from), size));
  // A line that extends beyond kWindow on either side is cut there.
  const std::size_t reach = window.from - std::min(window.from, kWindow + 1);
  const std::size_t newline = source.substr(reach, window.from - reach).rfind('\n');
  const std::size_t line_begin = newline == std::string_view::npos ? reach : reach + newline + 1;
  const std::string_view after = source.substr(window.from, kWindow + 1);
  std::size_t line_end = window.from + std::min(after.find('\n'), after.size());
  // The carriage return of a Windows line ending is not part of the line.
  if (line_end > window.from && line_end < source.size() && source[line_end] == '\n' &&
      source[line_end - 1] == '\r') {
    --line_end;
  }
  window.begin = line_begin;
  if (line_end - line_begin > kWindow && window.from - line_begin > kWindow / 2) {
    window.begin = window.from - kWindow / 2;
  }
  while (window.begin > line_begin && continues_code_point(source[window.begin])) --window.begin;
  window.end = std::min(line_end, window.begin + kWindow);
  while (window.end < line_end && continues_code_point(source[window.end])) ++window.end;
  window.is_cut_before = window.begin > line_begin;
  window.is_cut_after = window.end < line_end;
  return window;
}

template <typename Value>
std::optional<Value> value_of(const Fact* fact) {
  const Value* const value = fact == nullptr ? nullptr : std::get_if<Value>(&fact->value);
  return value == nullptr ? std::nullopt : std::optional<Value>(*value);
}

}  // namespace

std::string_view code_name(ErrorCode code) {
  for (const auto& [value, name] : kCodeNames) {
    if (value == code) return name;
  }
  return "unknown";
}

const std::vector<ErrorCode>& all_error_codes() {
  static const std::vector<ErrorCode> codes = [] {
    std::vector<ErrorCode> list;
    for (const auto& [value, name] : kCodeNames) list.push_back(value);
    return list;
  }();
  return codes;
}

const Fact* Reason::find(std::string_view fact) const {
  for (const Fact& each : facts) {
    if (each.name == fact) return &each;
  }
  return nullptr;
}

std::optional<std::int64_t> Reason::number(std::string_view fact) const {
  return value_of<std::int64_t>(find(fact));
}

std::optional<std::vector<std::int64_t>> Reason::numbers(std::string_view fact) const {
  return value_of<std::vector<std::int64_t>>(find(fact));
}

std::optional<std::string> Reason::text(std::string_view fact) const {
  return value_of<std::string>(find(fact));
}

Error Error::at(Span where) const {
  Error moved = *this;
  if (!moved.span) moved.span = where;
  return moved;
}

Error Error::shifted(std::int64_t offset) const {
  Error moved = *this;
  if (moved.span) moved.span = Span{moved.span->from + offset, moved.span->to + offset};
  return moved;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const unsigned next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (c == '\t') {
      out += ' ';
    } else if (c < 0x20 || c == 0x7F) {
      out += '?';
    } else if (c == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080 .. U+009F
      out += '?';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string excerpt(std::string_view source, Span span) {
  const Window window = window_around(source, span);
  const std::string_view head = window.is_cut_before ? "..." : "";
  const std::string_view tail = window.is_cut_after ? "..." : "";
  const std::string_view before = source.substr(window.begin, window.from - window.begin);
  const std::size_t caret_end =
      std::min(std::max(window.to, window.from + 1), std::max(window.end, window.from + 1));
  const std::size_t carets =
      std::max<std::size_t>(1, columns(source.substr(window.from, caret_end - window.from)));
  return cat("  | ", head, printable(source.substr(window.begin, window.end - window.begin)), tail,
             "\n  | ", std::string(head.size() + columns(before), ' '), std::string(carets, '^'),
             "\n");
}

std::string render(const Error& error, std::string_view source, std::string_view file) {
  std::string out = cat("error[", code_name(error.code), "]: ", error.message, "\n");
  if (error.span) {
    const auto size = static_cast<std::int64_t>(source.size());
    const auto from = static_cast<std::size_t>(std::clamp<std::int64_t>(error.span->from, 0, size));
    const std::string_view before = source.substr(0, from);
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    out += cat(" --> ", printable(file), file.empty() ? "" : ":",
               1 + std::count(before.begin(), before.end(), '\n'), ":",
               1 + columns(before.substr(line_begin)), "\n", excerpt(source, *error.span));
  }
  if (!error.help.empty()) out += cat("help: ", error.help, "\n");
  return out;
}

void missing_value(const Error& error) {
  const std::string_view code = code_name(error.code);
  std::fprintf(stderr, "tessera: bug: the value of a failed Result was used: error[%.*s]: %s\n",
               static_cast<int>(code.size()), code.data(), error.message.c_str());
  std::abort();
}

void missing_error() {
  std::fputs("tessera: bug: the error of a Result that has a value was used\n", stderr);
  std::abort();
}

}  // namespace tessera
