// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/metal/form.h"
#include "tessera/notation/metal/text.h"
#include "tessera/notation/metal_today/text.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kExample =
    "tensor<3x2x32x32xf32, #ttcore.metal_layout<logical_shape = 53x63, dim_alignments = 96x64, "
    "collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, l1, sharded>>";
constexpr std::string_view kHelp =
    "such as logical_shape = 53x63, dim_alignments = 96x64, collapsed_intervals = dense<[[0, 1], "
    "[1, 2]]> : tensor<2x2xi64>, l1, sharded";
constexpr std::string_view kDenseHelp =
    "pairs of dims, such as dense<[[0, -1]]> : tensor<1x2xi64>; none is dense<> : tensor<0x2xi64>";

/// NAME '=' (extents | '[]'); rank 0 is an empty list.
Result<std::vector<std::int64_t>> read_dimension_list(Cursor& cursor, std::string_view name,
                                                      Span& span) {
  TESSERA_CHECK_OK(cursor.expect_word(name, kHelp));
  TESSERA_CHECK_OK(cursor.expect("=", kHelp));
  const std::int64_t from = cursor.position();
  std::vector<std::int64_t> extents;
  if (cursor.accept("[")) {
    TESSERA_CHECK_OK(cursor.expect("]", "a list of dims is such as 53x63; [] is rank 0"));
  } else {
    TESSERA_TRY(extents, read_extents(cursor, name));
  }
  span = cursor.since(from);
  return extents;
}

/// The contents of dense<..>: empty, one number for all, or rows of numbers.
struct Dense {
  std::optional<std::int64_t> splat;
  std::vector<std::vector<std::int64_t>> rows;
};

Result<Dense> read_dense(Cursor& cursor) {
  Dense dense;
  TESSERA_CHECK_OK(cursor.expect_word("dense", kDenseHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kDenseHelp));
  if (cursor.accept(">")) return dense;
  if (cursor.peek() == '-' || (cursor.peek() >= '0' && cursor.peek() <= '9')) {
    TESSERA_TRY(dense.splat, cursor.integer("a number", kDenseHelp));
    TESSERA_CHECK_OK(cursor.expect(">", kDenseHelp));
    return dense;
  }
  TESSERA_CHECK_OK(cursor.expect("[", kDenseHelp));
  if (!cursor.accept("]")) {
    do {
      if (dense.rows.size() == kMaxRank) {
        return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxRank, " intervals"),
                     cursor.next().span, "a dim belongs to one interval"};
      }
      if (cursor.peek() != '[') return cursor.expected("a pair such as [0, 1]", kDenseHelp);
      TESSERA_TRY(std::vector<std::int64_t> row, cursor.integers("a dim", kMaxRank));
      dense.rows.push_back(std::move(row));
    } while (cursor.accept(","));
    if (!cursor.accept("]")) return cursor.expected("',' or ']'", kDenseHelp);
  }
  TESSERA_CHECK_OK(cursor.expect(">", kDenseHelp));
  return dense;
}

/// The rows of pairs followed by their type; empty when they are not pairs.
std::string right_type(const Dense& dense) {
  CollapseIntervals pairs;
  for (const std::vector<std::int64_t>& row : dense.rows) {
    if (row.size() != 2) return {};
    pairs.emplace_back(row[0], row[1]);
  }
  return dense.splat ? std::string() : write_intervals(pairs);
}

/// The pairs, after checking that they agree with the type that follows them.
Result<CollapseIntervals> pairs_of(const Dense& dense, const TensorType& type) {
  const auto wrong = [&](std::string message) {
    return Error{ErrorCode::kContradiction, std::move(message), std::nullopt,
                 std::string(kDenseHelp), right_type(dense)};
  };
  const Shape& shape = type.shape;
  if (shape.rank() != 2 || shape[1] != 2 || type.element != Atom::scalar(DType::kI64)) {
    return wrong(cat("intervals of type tensor<", write_tensor_type(shape.extents(), type.element),
                     ">: expected pairs, tensor<", dense.rows.size(), "x2xi64>"));
  }
  CollapseIntervals intervals;
  if (dense.splat) {
    if (shape[0] > static_cast<std::int64_t>(kMaxRank)) {
      return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxRank, " intervals"),
                   std::nullopt, "a dim belongs to one interval"};
    }
    intervals.assign(static_cast<std::size_t>(shape[0]), {*dense.splat, *dense.splat});
    return intervals;
  }
  if (shape[0] != static_cast<std::int64_t>(dense.rows.size())) {
    return wrong(cat(counted(dense.rows.size(), "interval"), " of type tensor<", shape.to_string(),
                     "xi64>: expected tensor<", dense.rows.size(), "x2xi64>"));
  }
  for (const std::vector<std::int64_t>& row : dense.rows) {
    if (row.size() != 2) {
      return wrong(cat("the interval ", bracketed(row), " has ", counted(row.size(), "number"),
                       ": expected 2"));
    }
    intervals.emplace_back(row[0], row[1]);
  }
  return intervals;
}

/// 'collapsed_intervals' '=' dense ':' 'tensor' '<' type '>'
Result<CollapseIntervals> read_intervals(Cursor& cursor, Span& span) {
  TESSERA_CHECK_OK(cursor.expect_word("collapsed_intervals", kHelp));
  TESSERA_CHECK_OK(cursor.expect("=", kHelp));
  const std::int64_t from = cursor.position();
  TESSERA_TRY(const Dense dense, read_dense(cursor));
  TESSERA_CHECK_OK(cursor.expect(":", kDenseHelp));
  TESSERA_CHECK_OK(cursor.expect_word("tensor", kDenseHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kDenseHelp));
  TESSERA_TRY(const TensorType type, read_tensor_type(cursor));
  TESSERA_CHECK_OK(cursor.expect(">", kDenseHelp));
  span = cursor.since(from);
  Result<CollapseIntervals> intervals = pairs_of(dense, type);
  if (!intervals) return intervals.error().at(span);
  return intervals;
}

/// (',' OOB)? (',' SPACE)? (',' MEMORY_LAYOUT)? '>': each word identifies its kind.
Status read_rest(Cursor& cursor, MetalTodayLayout& words) {
  while (cursor.accept(",")) {
    TESSERA_TRY(const Word word, cursor.identifier("a memory space", kHelp));
    const auto oob = oob_value(word.text);
    const bool first = words.space.empty() && words.memory_layout.empty();
    if (oob && !words.says_oob && first) {
      words.oob = *oob;
      words.says_oob = true;
    } else if (is_one_of(canonical_space(word.text), kMetalSpaces) && first) {
      words.space = canonical_space(word.text);
    } else if (is_one_of(word.text, kMemoryLayouts) && words.memory_layout.empty()) {
      words.memory_layout = word.text;
    } else {
      std::vector<std::string_view> known;
      if (first && !words.says_oob) known.assign(kOobWords.begin(), kOobWords.end());
      if (first) known.insert(known.end(), kMetalSpaces.begin(), kMetalSpaces.end());
      known.insert(known.end(), kMemoryLayouts.begin(), kMemoryLayouts.end());
      const bool open = words.memory_layout.empty();
      return Error{
          ErrorCode::kUnknownName, cat("unexpected ", quote_name(word.text)), word.span,
          open ? did_you_mean(word.text, known) : "nothing follows the memory layout",
          std::string(open ? nearest_name(word.text, known).value_or("") : std::string_view())};
    }
  }
  if (cursor.accept(">")) return ok_status();
  return cursor.expected("',' or '>'", kHelp);
}

/// Texts in this notation are read by the `metal` notation, which has the same keyword.
Result<Tensor> read(std::string_view source, const TensorType& type) {
  return metal_notation().read(source, type);
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const MetalTodayLayout words, raise_metal_today(layout));
  return WrittenTensor{words.device_type, write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  const auto& words = std::get<MetalTodayLayout>(terms_of(tensor));
  return {words.device_type, write(words)};
}

std::string write_dimension_list(const std::vector<std::int64_t>& extents) {
  return extents.empty() ? "[]" : join(extents, "x");
}

}  // namespace

Result<Tensor> read_metal_today(Cursor& cursor, std::string_view dialect, const TensorType& type) {
  MetalTodayLayout words;
  MetalTodaySpans spans;
  words.dialect = dialect;
  words.device_type = type;
  TESSERA_TRY(words.logical_shape,
              read_dimension_list(cursor, "logical_shape", spans.logical_shape));
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  TESSERA_TRY(words.dim_alignments,
              read_dimension_list(cursor, "dim_alignments", spans.dim_alignments));
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  TESSERA_TRY(words.collapsed_intervals, read_intervals(cursor, spans.collapsed_intervals));
  TESSERA_CHECK_OK(read_rest(cursor, words));
  spans.device_shape = spans.logical_shape;
  if (type.extents_at && type.shape.rank() > 0) {
    spans.device_shape = {type.extents_at->from, type.extents_at->to - 1};  // without the last 'x'
  }
  TESSERA_TRY(Layout layout, lower(words, &spans));
  return Tensor{std::move(layout), "metal-today", make_terms(std::move(words))};
}

std::string write_intervals(const CollapseIntervals& intervals) {
  std::string pairs;
  for (const auto& [from, to] : intervals) {
    pairs += cat(pairs.empty() ? "" : ", ", "[", from, ", ", to, "]");
  }
  return cat("dense<", pairs.empty() ? "" : cat("[", pairs, "]"), "> : tensor<", intervals.size(),
             "x2xi64>");
}

std::string write(const MetalTodayLayout& words) {
  std::string rest;
  if (words.says_oob) rest += cat(", ", oob_word(words.oob).value_or("undef"));
  if (!words.space.empty()) rest += cat(", ", words.space);
  if (!words.memory_layout.empty()) rest += cat(", ", words.memory_layout);
  return cat("#", words.dialect,
             ".metal_layout<logical_shape = ", write_dimension_list(words.logical_shape),
             ", dim_alignments = ", write_dimension_list(words.dim_alignments),
             ", collapsed_intervals = ", write_intervals(words.collapsed_intervals), rest, ">");
}

Notation metal_today_notation() {
  return {.name = "metal-today",
          .keywords = {},
          .example = kExample,
          .read = read,
          .raise = raise,
          .write = write_tensor,
          .takes_tiles = true,
          .scope = {.least_axes = 1, .most_axes = kMaxRank, .tiles = true}};
}

}  // namespace tessera::notation
