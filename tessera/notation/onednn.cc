// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/onednn.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/layout/compare.h"
#include "tessera/notation/cursor.h"
#include "tessera/notation/memory_digits.h"
#include "tessera/notation/plain_memory.h"
#include "tessera/notation/physical_dims.h"
#include "tessera/notation/registry.h"

namespace tessera {
namespace {

constexpr std::string_view kHelp =
    "a tag is the order of dims, then blocks: onednn.aBcd16b, onednn.nhwc, onednn.OIhw4i16o4i";
constexpr std::size_t kMaxDims = 12;  // oneDNN's own limit
constexpr std::size_t kMaxBlocks = 16;

/// The dims of each vocabulary in logical order. A tag uses a part of one of them.
constexpr std::array<std::string_view, 5> kVocabularies = {"abcdefghijkl", "ncdhw", "goidhw", "tnc",
                                                           "ldnigoc"};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lowered(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

/// The letters of a tag in logical order, if they belong to one vocabulary.
std::optional<std::string> logical_letters(std::string_view said) {
  for (const std::string_view vocabulary : kVocabularies) {
    std::string letters;
    for (const char letter : vocabulary) {
      if (said.find(letter) != std::string_view::npos) letters += letter;
    }
    const bool plain = vocabulary == kVocabularies.front();
    // Plain letters leave none out: bc is not a tag, nc is.
    if (letters.size() == said.size() && (!plain || vocabulary.starts_with(letters))) {
      return letters;
    }
  }
  return std::nullopt;
}

struct TagReader {
  std::string_view tag;
  std::int64_t from;  ///< where the tag begins in the text

  Error wrong(std::size_t at, std::size_t length, std::string message,
              ErrorCode code = ErrorCode::kSyntax) const {
    const std::int64_t start = from + static_cast<std::int64_t>(at);
    return Error{code, std::move(message), Span{start, start + static_cast<std::int64_t>(length)},
                 std::string(kHelp)};
  }

  Result<OnednnLayout> read() const {
    std::size_t at = 0;
    std::string said;
    std::string upper;
    for (; at < tag.size() && (is_lower(tag[at]) || is_upper(tag[at])); ++at) {
      if (said.find(lowered(tag[at])) != std::string::npos) {
        return wrong(at, 1, cat("dim '", lowered(tag[at]), "' stands twice"));
      }
      if (said.size() == kMaxDims) {
        return wrong(at, 1, cat("more than ", kMaxDims, " dims"), ErrorCode::kRankTooLarge);
      }
      said += lowered(tag[at]);
      if (is_upper(tag[at])) upper += lowered(tag[at]);
    }
    const std::optional<std::string> letters = logical_letters(said);
    if (said.empty() || !letters) {
      return wrong(0, std::max<std::size_t>(at, 1),
                   cat("the letters ", quote_name(tag.substr(0, at)), " are no set of dims"));
    }
    OnednnLayout words;
    words.letters = *letters;
    for (const char letter : said) words.order.push_back(static_cast<int>(letters->find(letter)));
    TESSERA_CHECK_OK(read_blocks(at, words));
    for (std::size_t i = 0; i < said.size(); ++i) {
      const bool blocked =
          std::any_of(words.blocks.begin(), words.blocks.end(), [&](const auto& block) {
            return words.letters[static_cast<std::size_t>(block.dim)] == said[i];
          });
      if (blocked == (upper.find(said[i]) != std::string::npos)) continue;
      return wrong(i, 1,
                   blocked ? cat("dim '", said[i], "' has blocks but is written in lower case")
                           : cat("dim '", said[i], "' is written in upper case but has no block"),
                   ErrorCode::kContradiction);
    }
    return words;
  }

  Status read_blocks(std::size_t at, OnednnLayout& words) const {
    while (at < tag.size()) {
      const std::size_t start = at;
      Checked size = 0;
      for (; at < tag.size() && is_digit(tag[at]); ++at) size = size * 10 + (tag[at] - '0');
      if (at == start || at == tag.size()) {
        return wrong(start, std::max<std::size_t>(at - start, 1), "expected a block such as 16b");
      }
      const std::size_t dim = words.letters.find(tag[at]);
      if (dim == std::string::npos) {
        return wrong(at, 1, cat("a block of ", quote_name(tag.substr(at, 1)), ", which is no dim"));
      }
      ++at;
      if (size.overflowed() || size.raw() < 1 || words.blocks.size() == kMaxBlocks) {
        return wrong(start, at - start,
                     words.blocks.size() == kMaxBlocks ? cat("more than ", kMaxBlocks, " blocks")
                                                       : std::string("a block size out of range"),
                     ErrorCode::kBadNumber);
      }
      words.blocks.push_back({static_cast<int>(dim), size.raw()});
    }
    return ok_status();
  }
};

Result<Tensor> read(std::string_view source, const TensorType& type) {
  Cursor cursor(source, "the end of the layout");
  TESSERA_CHECK_OK(cursor.expect_word("onednn", kHelp));
  TESSERA_CHECK_OK(cursor.expect(".", kHelp));
  TESSERA_TRY(const Word tag, cursor.identifier("a format tag", kHelp));
  TESSERA_TRY(OnednnLayout words, (TagReader{tag.text, tag.span.from}.read()));
  TESSERA_CHECK_OK(cursor.expect_end());
  Result<Layout> layout = lower(words, type.shape, type.dtype());
  if (!layout) return layout.error().at(tag.span);
  return Tensor{*std::move(layout), "onednn", std::move(words)};
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const OnednnLayout words, raise_onednn(layout));
  return WrittenTensor{TensorType::of(layout.shape(), layout.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.layout.shape(), tensor.layout.dtype()),
          write(std::get<OnednnLayout>(tensor.words))};
}

Error cannot_say(std::string_view what) {
  return Error{ErrorCode::kNotSupported, cat("a oneDNN tag cannot say ", what), std::nullopt,
               "the native notation can"};
}

/// The tag whose dims in order are the first `outer` digits, and whose blocks are the rest.
std::optional<OnednnLayout> guess(const MemoryDigits& memory, std::size_t outer,
                                  const Shape& shape) {
  OnednnLayout words;
  words.letters = std::string(kVocabularies.front().substr(0, shape.rank()));
  std::vector<bool> placed(shape.rank(), false);
  const auto place = [&](int dim) {
    if (placed[static_cast<std::size_t>(dim)]) return false;
    placed[static_cast<std::size_t>(dim)] = true;
    words.order.push_back(dim);
    return true;
  };
  for (std::size_t i = 0; i < outer; ++i) {
    const std::vector<int>& dims = memory.lines[static_cast<std::size_t>(memory.digits[i].line)];
    if (dims.size() != 1 || !place(dims.front())) return std::nullopt;
  }
  for (std::size_t i = outer; i < memory.digits.size(); ++i) {
    const MemoryDigit& digit = memory.digits[i];
    const std::vector<int>& dims = memory.lines[static_cast<std::size_t>(digit.line)];
    if (dims.size() != 1) return std::nullopt;
    words.blocks.push_back({dims.front(), digit.count});
  }
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (placed[dim]) continue;
    // Where row-major order has it: before the first dim with a higher number.
    const auto number = static_cast<int>(dim);
    words.order.insert(std::find_if(words.order.begin(), words.order.end(),
                                    [&](int other) { return other > number; }),
                       number);
  }
  return words;
}

}  // namespace

Result<Layout> lower(const OnednnLayout& words, const Shape& shape, DType dtype) {
  if (words.letters.size() != shape.rank()) {
    return Error{
        ErrorCode::kContradiction,
        cat("a tag of ", words.letters.size(), " dims for a tensor of rank ", shape.rank()),
        std::nullopt, std::string(kHelp)};
  }
  std::vector<std::vector<Term>> lines;
  std::vector<Checked> inside(shape.rank(), Checked(1));  // elements of the blocks seen so far
  std::vector<std::uint8_t> depth(shape.rank(), 255);
  std::vector<PhysicalDim> dims;  // fastest first
  for (auto block = words.blocks.rbegin(); block != words.blocks.rend(); ++block) {
    const auto dim = static_cast<std::size_t>(block->dim);
    TESSERA_TRY(const std::int64_t width, inside[dim].value("the blocks of a dim"));
    dims.push_back({block->dim, width, block->size, Cause::kAlignment, {depth[dim]--}});
    inside[dim] *= block->size;
  }
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    lines.push_back({{static_cast<int>(dim), 1}});
  }
  for (auto number = words.order.rbegin(); number != words.order.rend(); ++number) {
    const auto dim = static_cast<std::size_t>(*number);
    TESSERA_TRY(const std::int64_t width, inside[dim].value("the blocks of a dim"));
    dims.push_back({*number, width, ceil_div(shape[dim], width), Cause::kAlignment, {0}});
  }
  std::reverse(dims.begin(), dims.end());
  return lower_physical(shape, dtype, lines, dims);
}

Result<OnednnLayout> raise_onednn(const Layout& layout) {
  if (const auto what = beyond_plain_memory(layout.spec())) return cannot_say(*what);
  if (layout.shape().rank() == 0 || layout.shape().rank() > kMaxDims) {
    return cannot_say(cat("a tensor of rank ", layout.shape().rank()));
  }
  const Result<MemoryDigits> memory = memory_digits(layout);
  if (!memory) return cannot_say(memory.error().message);
  for (std::size_t outer = memory->digits.size() + 1; outer-- > 0;) {
    const std::optional<OnednnLayout> words = guess(*memory, outer, layout.shape());
    if (!words) continue;
    const Result<Layout> lowered = lower(*words, layout.shape(), layout.dtype());
    if (!lowered || lowered->slots() != layout.slots()) continue;
    const Result<Comparison> same = same_function(*lowered, layout);
    if (same && same->equal) return *words;
  }
  return cannot_say("this order of digits: no order of dims with blocks inside gives it");
}

std::string write(const OnednnLayout& words) {
  std::string tag;
  for (const int dim : words.order) {
    const char letter = words.letters[static_cast<std::size_t>(dim)];
    const bool blocked = std::any_of(words.blocks.begin(), words.blocks.end(),
                                     [&](const auto& block) { return block.dim == dim; });
    tag += blocked ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  for (const OnednnLayout::Block& block : words.blocks) {
    tag += cat(block.size, words.letters[static_cast<std::size_t>(block.dim)]);
  }
  return cat("onednn.", tag);
}

Notation onednn_notation() {
  return {"onednn", {"onednn."}, "tensor<2x33x7x7xf32, onednn.aBcd16b>", read, raise, write_tensor};
}

}  // namespace tessera
