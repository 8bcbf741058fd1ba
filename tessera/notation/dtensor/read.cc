// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/dtensor/text.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {
namespace {

using Kind = DtensorPlacement::Kind;

constexpr std::string_view kHelp = "such as dtensor<mesh=[2,4], [Shard(0), Replicate()]>";
constexpr std::array<std::string_view, 4> kNames = {"Shard", "Replicate", "Partial",
                                                    "_StridedShard"};
constexpr std::array<std::string_view, 5> kReductions = {"sum", "product", "min", "max", "avg"};

/// The dim of a shard; a negative one counts from the last dim.
Result<int> read_dim(Cursor& cursor, const Shape& shape) {
  if (cursor.accept_word("dim")) TESSERA_CHECK_OK(cursor.expect("=", "such as Shard(dim=0)"));
  const std::int64_t from = cursor.position();
  TESSERA_TRY(const std::int64_t said, cursor.integer("a dim", "such as Shard(0)"));
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const std::int64_t dim = said < 0 ? said + rank : said;
  if (dim < 0 || dim >= rank) {
    return Error{
        ErrorCode::kOutOfRange, cat("dim ", said, " of a tensor of rank ", rank),
        cursor.since(from),
        rank == 0 ? "a scalar can only be replicated" : cat("from ", -rank, " to ", rank - 1)};
  }
  return static_cast<int>(dim);
}

/// `, split_factor=2`, `, sf=2` or `, 2`.
Result<std::int64_t> read_split_factor(Cursor& cursor) {
  constexpr std::string_view kSuch = "such as _StridedShard(0, split_factor=2)";
  TESSERA_CHECK_OK(cursor.expect(",", kSuch));
  if (cursor.accept_word("split_factor") || cursor.accept_word("sf")) {
    TESSERA_CHECK_OK(cursor.expect("=", kSuch));
  }
  const std::int64_t from = cursor.position();
  TESSERA_TRY(const std::int64_t factor, cursor.integer("a split factor", kSuch));
  if (factor < 1) {
    return Error{ErrorCode::kOutOfRange, cat("a split factor of ", factor), cursor.since(from),
                 "split factors are 1 or more"};
  }
  return factor;
}

/// [ 'reduce_op' '=' ] REDUCTION, with or without quotes.
Result<Reduction> read_reduction(Cursor& cursor) {
  if (cursor.accept_word("reduce_op")) {
    TESSERA_CHECK_OK(cursor.expect("=", "such as Partial(reduce_op=sum)"));
  }
  const bool quoted = cursor.accept("\"") || cursor.accept("'");
  TESSERA_TRY(const Word word, cursor.identifier("a reduction", "such as Partial(sum)"));
  for (const Reduction reduction :
       {Reduction::kSum, Reduction::kProduct, Reduction::kMin, Reduction::kMax}) {
    if (word.text != reduction_name(reduction)) continue;
    if (quoted && !cursor.accept("\"") && !cursor.accept("'")) return cursor.expected("a quote");
    return reduction;
  }
  if (word.text == "avg") {
    return Error{ErrorCode::kNotSupported, "Partial(avg): averages are not supported", word.span,
                 "use Partial(sum) of values divided by the number of places"};
  }
  return Error{ErrorCode::kUnknownName, cat("no reduction is called ", quote_name(word.text)),
               word.span, did_you_mean(word.text, kReductions)};
}

Result<DtensorPlacement> read_placement(Cursor& cursor, const Shape& shape) {
  DtensorPlacement placement;
  TESSERA_TRY(const Word name, cursor.identifier("a placement", "such as Shard(0)"));
  const std::string_view text = name.text;
  if (text == "R") return placement;
  if (text == "Shard" || text == "S" || text == "_StridedShard" || text == "_S") {
    const bool strided = text.front() == '_';
    placement.kind = strided ? Kind::kStridedShard : Kind::kShard;
    TESSERA_CHECK_OK(cursor.expect("(", "such as Shard(0)"));
    TESSERA_TRY(placement.dim, read_dim(cursor, shape));
    if (strided) {
      TESSERA_TRY(placement.split_factor, read_split_factor(cursor));
    }
  } else if (text == "Replicate") {
    TESSERA_CHECK_OK(cursor.expect("(", "write Replicate()"));
  } else if (text == "Partial" || text == "P") {
    placement.kind = Kind::kPartial;
    if (text == "P" && cursor.peek() != '(') return placement;
    TESSERA_CHECK_OK(cursor.expect("(", "such as Partial(sum)"));
    if (cursor.peek() != ')') {
      TESSERA_TRY(placement.reduction, read_reduction(cursor));
    }
  } else if (text == "_MaskPartial" || text == "MaskP") {
    return Error{ErrorCode::kNotSupported, "a masked partial is not supported", name.span,
                 "its mask is not part of the placement"};
  } else {
    return Error{ErrorCode::kUnknownName, cat("no placement is called ", quote_name(text)),
                 name.span, did_you_mean(text, kNames)};
  }
  TESSERA_CHECK_OK(cursor.expect(")"));
  return placement;
}

/// `[..]`, or `(..)` as Python prints a tuple.
Result<std::vector<DtensorPlacement>> read_placements(Cursor& cursor, const Shape& shape) {
  std::vector<DtensorPlacement> placements;
  const bool tuple = cursor.accept("(");
  if (!tuple) TESSERA_CHECK_OK(cursor.expect("[", kHelp));
  const std::string_view close = tuple ? ")" : "]";
  while (!cursor.accept(close)) {
    if (placements.size() == kMaxRank) {
      return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxRank, " placements"),
                   cursor.next().span, "use fewer mesh dims"};
    }
    TESSERA_TRY(const DtensorPlacement placement, read_placement(cursor, shape));
    placements.push_back(placement);
    if (cursor.accept(",")) continue;
    if (cursor.peek() != close.front()) return cursor.expected(cat("',' or '", close, "'"), kHelp);
  }
  return placements;
}

}  // namespace

Result<DtensorText> read_dtensor(std::string_view source, const Shape& shape) {
  Cursor cursor(source, "the end of the layout");
  DtensorText text;
  TESSERA_CHECK_OK(cursor.expect_word("dtensor", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  TESSERA_CHECK_OK(cursor.expect_word("mesh", kHelp));
  TESSERA_CHECK_OK(cursor.expect("=", kHelp));
  const std::int64_t mesh_from = cursor.position();
  TESSERA_TRY(text.words.mesh, cursor.integers("a mesh dim", kMaxRank));
  text.mesh = cursor.since(mesh_from);
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  const std::int64_t from = cursor.position();
  TESSERA_TRY(text.words.placements, read_placements(cursor, shape));
  text.placements = cursor.since(from);
  TESSERA_CHECK_OK(cursor.expect(">", kHelp));
  TESSERA_CHECK_OK(cursor.expect_end());
  for (const std::int64_t places : text.words.mesh) {
    if (places < 1) {
      return Error{ErrorCode::kBadShape, cat("a mesh dim of ", places, " places"), text.mesh,
                   "mesh dims have 1 place or more"};
    }
  }
  const std::size_t placements = text.words.placements.size();
  if (placements != text.words.mesh.size()) {
    return Error{ErrorCode::kContradiction,
                 cat(placements, placements == 1 ? " placement" : " placements",
                     " for a mesh of rank ", text.words.mesh.size()),
                 text.placements, "one placement per mesh dim"};
  }
  const Result<Shape> mesh = Shape::make(text.words.mesh);
  if (!mesh) return mesh.error().at(text.mesh);
  return text;
}

}  // namespace tessera::notation
