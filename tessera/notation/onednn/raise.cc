// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/compare.h"
#include "tessera/notation/onednn/onednn.h"
#include "tessera/notation/raising/memory_digits.h"
#include "tessera/notation/raising/plain_memory.h"

/// Layout → tag. The outer digits are the order of dims; every further digit is a block. A dim that
/// consists only of blocks has one outer step, which may be anywhere in the order.
namespace tessera::notation {
namespace {

Error cannot(std::string_view what) {
  return Error{ErrorCode::kNotSupported, cat("onednn cannot ", what), std::nullopt,
               "the native notation can"};
}

/// Builds the tag from the slowest digit to the fastest.
class TagBuilder {
 public:
  TagBuilder(const MemoryDigits& memory, const Shape& shape)
      : memory_(memory), shape_(shape), width_(shape.rank(), 0) {
    words_.letters = std::string(std::string_view("abcdefghijkl").substr(0, shape.rank()));
  }

  Result<OnednnLayout> build() {
    const std::size_t outer = memory_.outer();
    for (std::size_t i = 0; i < memory_.digits.size(); ++i) {
      const MemoryDigit& digit = memory_.digits[i];
      const std::vector<int>& dims = memory_.lines[static_cast<std::size_t>(digit.line)];
      if (dims.size() > 1) {
        return cannot(cat("say dims ", dims[0], " and ", dims[1], " joined in one line"));
      }
      std::int64_t& width = width_[static_cast<std::size_t>(dims[0])];
      if (i < outer) {
        words_.order.push_back(dims[0]);
      } else if (width == 0) {
        words_.blocks.push_back({dims[0], digit.count});
      } else {
        TESSERA_CHECK_OK(add_block(dims[0], width, digit));
      }
      width = digit.width;
    }
    if (memory_.step() > 1 && !add_padding(memory_.step())) {
      return cannot(cat("leave ", memory_.step() - 1, " of every ", memory_.step(),
                        " slots empty without a dim of extent 1"));
    }
    if (words_.blocks.size() > kMaxOnednnBlocks) {
      return cannot(cat("say ", words_.blocks.size(), " blocks: ", kMaxOnednnBlocks, " at most"));
    }
    for (int dim = 0; dim < static_cast<int>(shape_.rank()); ++dim) add_unordered(dim);
    return std::move(words_);
  }

 private:
  /// Adds a block inside the pieces of size `above`, which it must divide and fill.
  Status add_block(int dim, std::int64_t above, const MemoryDigit& digit) {
    if (digit.width > above) {
      return cannot(cat("say dim ", dim, " with steps of ", digit.width,
                        " faster in memory than steps of ", above));
    }
    if (above % digit.width != 0) {
      return cannot(cat("cut blocks of ", above, " of dim ", dim, " into blocks of ", digit.width));
    }
    const std::int64_t size = above / digit.width;
    const std::int64_t padding = digit.count / size;
    if (digit.count % size != 0 || (padding > 1 && !add_padding(padding))) {
      return cannot(cat("pad blocks of ", above, " of dim ", dim, " to ",
                        (Checked(digit.count) * digit.width).saturated()));
    }
    words_.blocks.push_back({dim, size});
    return ok_status();
  }

  /// Adds a block in which only step 0 holds data, over a dim of which no digit has been placed
  /// yet.
  bool add_padding(std::int64_t size) {
    for (std::size_t dim = shape_.rank(); dim-- > 0;) {
      if (width_[dim] != 0) continue;
      words_.blocks.push_back({static_cast<int>(dim), size});
      return true;
    }
    return false;
  }

  /// A dim that consists only of blocks is placed where row-major order has it.
  void add_unordered(int dim) {
    std::vector<int>& order = words_.order;
    if (std::find(order.begin(), order.end(), dim) != order.end()) return;
    order.insert(std::find_if(order.begin(), order.end(), [&](int other) { return other > dim; }),
                 dim);
  }

  const MemoryDigits& memory_;
  const Shape& shape_;
  std::vector<std::int64_t> width_;  ///< of the last digit placed of each dim; 0 for none
  OnednnLayout words_;
};

Result<OnednnLayout> guess(const Layout& layout) {
  const Shape& shape = layout.shape();
  if (const auto what = beyond_plain_memory(layout.spec())) return cannot(cat("say ", *what));
  if (shape.rank() == 0 || shape.rank() > kMaxOnednnDims) {
    return cannot(cat("say a tensor of rank ", shape.rank()));
  }
  if (shape.empty()) {
    if (layout.slots() == 0) return TagBuilder(MemoryDigits{}, shape).build();
    return cannot(
        cat("say an allocation of ", layout.slots(), " slots for a tensor without elements"));
  }
  Result<MemoryDigits> memory = memory_digits(layout);
  if (!memory) return cannot(cat("say ", memory.error().message));
  if (memory->slots != layout.slots()) {
    return cannot(
        cat("say an allocation of ", layout.slots(), " slots where blocks take ", memory->slots));
  }
  split_padded_digit(*memory);
  return TagBuilder(*memory, shape).build();
}

}  // namespace

Result<OnednnLayout> raise_onednn(const Layout& layout) {
  TESSERA_TRY(OnednnLayout words, guess(layout));
  const Result<Layout> lowered = lower(words, layout.shape(), layout.dtype());
  if (!lowered) return cannot(cat("say this: ", lowered.error().message));
  if (lowered->slots() != layout.slots()) {
    return cannot(cat("say an allocation of ", layout.slots(), " slots where blocks take ",
                      lowered->slots()));
  }
  TESSERA_TRY(const Comparison same, same_function(*lowered, layout));
  if (same.equal) return words;
  return cannot(cat("put element ", bracketed(*same.first_difference), " elsewhere than ",
                    write(words), " does"));
}

}  // namespace tessera::notation
