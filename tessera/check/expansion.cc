// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/expansion.h"

#include <algorithm>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"

namespace tessera::check {
namespace {

constexpr std::size_t kMaxExpanded = std::size_t{64} << 10;
constexpr std::size_t kMaxFrames = 4096;
constexpr std::size_t kMaxDepth = 64;  // aliases in aliases, which are expanded by recursion

}  // namespace

class Expansion::Builder {
 public:
  Builder(std::string_view file, std::size_t section, const AliasTable& aliases)
      : file_(file), section_(section), table_(aliases) {}

  Result<Expansion> run(Span span) {
    out_.frames_.push_back({0, 0, span, std::nullopt, {}});
    TESSERA_CHECK_OK(expand(0, span));
    out_.frames_[0].expanded = {0, static_cast<std::int64_t>(out_.text_.size())};
    if (out_.pieces_.empty()) out_.pieces_.push_back({0, span.from, 0});
    std::sort(out_.aliases_.begin(), out_.aliases_.end());
    out_.aliases_.erase(std::unique(out_.aliases_.begin(), out_.aliases_.end()),
                        out_.aliases_.end());
    return std::move(out_);
  }

 private:
  Status expand(std::size_t frame, Span span) {
    auto at = static_cast<std::size_t>(span.from);
    const auto end = static_cast<std::size_t>(span.to);
    std::size_t kept = at;  // everything before it is written
    while (at < end) {
      const char c = file_[at];
      if (c == '"') {
        at = std::min(end_of_string(file_, at), end);
      } else if (c == '/' && file_.substr(at, 2) == "//") {
        TESSERA_CHECK_OK(write(frame, kept, at));
        kept = at = std::min(end_of_comment(file_, at), end);
      } else if (c == '#' || c == '!') {
        std::size_t stop = at + 1;
        while (stop < end && is_mlir_word(file_[stop])) ++stop;
        const bool dialect = stop < end && file_[stop] == '.';
        const auto alias =
            dialect ? std::nullopt : table_.find(file_.substr(at, stop - at), section_);
        if (alias) {
          TESSERA_CHECK_OK(write(frame, kept, at));
          const Span token{static_cast<std::int64_t>(at), static_cast<std::int64_t>(stop)};
          TESSERA_CHECK_OK(enter(frame, *alias, token));
          kept = stop;
        }
        at = stop;
      } else {
        ++at;
      }
    }
    return write(frame, kept, end);
  }

  Status enter(std::size_t parent, std::size_t alias, Span token) {
    for (std::size_t frame = parent; frame != 0; frame = out_.frames_[frame].parent) {
      if (out_.frames_[frame].alias == alias) {
        return Error{ErrorCode::kSyntax,
                     cat("the alias ", quote_name(table_.at(alias).name), " contains itself"),
                     table_.at(alias).span, "an alias must not use itself"};
      }
    }
    const std::size_t depth = out_.frames_[parent].depth + 1;
    if (out_.frames_.size() == kMaxFrames || depth > kMaxDepth) return too_large();
    const std::size_t frame = out_.frames_.size();
    const auto from = static_cast<std::int64_t>(out_.text_.size());
    out_.frames_.push_back({parent, depth, token, alias, {from, from}});
    out_.aliases_.push_back(alias);
    TESSERA_CHECK_OK(expand(frame, table_.value(alias)));
    out_.frames_[frame].expanded.to = static_cast<std::int64_t>(out_.text_.size());
    return ok_status();
  }

  Status write(std::size_t frame, std::size_t from, std::size_t to) {
    if (from >= to) return ok_status();
    if (out_.text_.size() + (to - from) > kMaxExpanded) return too_large();
    out_.pieces_.push_back(
        {static_cast<std::int64_t>(out_.text_.size()), static_cast<std::int64_t>(from), frame});
    out_.text_ += file_.substr(from, to - from);
    return ok_status();
  }

  Error too_large() const {
    return Error{ErrorCode::kTooLarge,
                 cat("a tensor of more than ", kMaxExpanded, " bytes or ", kMaxFrames,
                     " aliases after alias expansion"),
                 out_.frames_.front().token, "layouts are short: nest fewer aliases"};
  }

  std::string_view file_;
  std::size_t section_;
  const AliasTable& table_;
  Expansion out_;
};

Result<Expansion> Expansion::of(std::string_view file, Span span, std::size_t section,
                                const AliasTable& aliases) {
  return Builder(file, section, aliases).run(span);
}

std::int64_t Expansion::end_of(std::size_t piece) const {
  return piece + 1 < pieces_.size() ? pieces_[piece + 1].at
                                    : static_cast<std::int64_t>(text_.size());
}

/// The piece that contains the byte; the last piece for the end.
std::size_t Expansion::piece_at(std::int64_t position) const {
  const auto above =
      std::upper_bound(pieces_.begin(), pieces_.end(), position,
                       [](std::int64_t p, const Piece& piece) { return p < piece.at; });
  return above == pieces_.begin() ? 0 : static_cast<std::size_t>(above - pieces_.begin()) - 1;
}

std::int64_t Expansion::expanded(std::int64_t byte) const {
  std::int64_t at = 0;
  for (const Piece& piece : pieces_) {
    if (piece.frame == 0 && piece.source <= byte) at = piece.at + (byte - piece.source);
  }
  return std::min(at, static_cast<std::int64_t>(text_.size()));
}

Expansion::Source Expansion::source(Span expanded) const {
  const auto size = static_cast<std::int64_t>(text_.size());
  const std::int64_t from = std::clamp<std::int64_t>(expanded.from, 0, size);
  const std::int64_t to = std::clamp<std::int64_t>(expanded.to, from, size);
  std::size_t first = piece_at(from);
  std::size_t last = to > from ? piece_at(to - 1) : first;
  if (from == to && first > 0 && pieces_[first].at == from) {
    // A position between two pieces belongs to the outer one.
    const auto depth = [&](std::size_t piece) { return frames_[pieces_[piece].frame].depth; };
    if (depth(first - 1) <= depth(first)) first = last = first - 1;
  }
  // Both ends move up to their common frame; an end inside an alias becomes that alias.
  std::size_t left = pieces_[first].frame;
  std::size_t right = pieces_[last].frame;
  Span span{pieces_[first].source + (from - pieces_[first].at),
            pieces_[last].source + (to - pieces_[last].at)};
  bool exact = true;
  while (left != right) {
    if (frames_[left].depth >= frames_[right].depth) {
      exact = exact && frames_[left].expanded.from == from;
      span.from = frames_[left].token.from;
      left = frames_[left].parent;
    } else {
      exact = exact && frames_[right].expanded.to == to;
      span.to = frames_[right].token.to;
      right = frames_[right].parent;
    }
  }
  // A comment between two pieces of one text would be lost.
  for (std::size_t piece = first; piece < last; ++piece) {
    const std::int64_t end = pieces_[piece].source + (end_of(piece) - pieces_[piece].at);
    const bool same = pieces_[piece].frame == pieces_[piece + 1].frame;
    if (same && pieces_[piece + 1].source != end) {
      const bool alias = std::any_of(frames_.begin() + 1, frames_.end(), [&](const Frame& frame) {
        return frame.parent == pieces_[piece].frame && frame.token.from == end &&
               frame.token.to == pieces_[piece + 1].source;
      });
      exact = exact && alias;
    }
  }
  return {span, frames_[left].alias, exact};
}

}  // namespace tessera::check
