// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/onednn/onednn.h"
#include "tessera/notation/raising/elsewhere.h"
#include "tessera/notation/raising/memory_digits.h"
#include "tessera/notation/raising/plain_memory.h"

/// Layout → tag. The outer digits are the order of dims; every further digit is a block. A dim that
/// consists only of blocks has one outer step, which may be anywhere in the order.
namespace tessera::notation {
namespace {

constexpr std::string_view kName = "onednn";

Error cannot(std::string_view reason, std::string_view words, std::vector<Fact> facts) {
  return cannot_express(kName, obstacle(reason, words, std::move(facts)));
}

Error other_allocation(std::int64_t slots, std::int64_t expected) {
  return cannot(why::kAllocation,
                "an allocation of {slots} slots where blocks take {expected_slots}",
                {fact("slots", slots), fact("expected_slots", expected)});
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
        return cannot(why::kJoinedDims, "dims {dims:and} joined in one line",
                      {fact("dims", dims[0], dims[1])});
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
      return cannot(why::kEmptyBetween,
                    "{empty} empty slots in every {period} without a dim of extent 1",
                    {fact("empty", memory_.step() - 1), fact("period", memory_.step())});
    }
    if (words_.blocks.size() > kMaxOnednnBlocks) {
      return cannot(why::kTooManyBlocks, "{blocks} blocks: {most} at most",
                    {fact("blocks", words_.blocks.size()), fact("most", kMaxOnednnBlocks)});
    }
    for (int dim = 0; dim < static_cast<int>(shape_.rank()); ++dim) add_unordered(dim);
    return std::move(words_);
  }

 private:
  /// Adds a block inside the pieces of size `above`, which it must divide and fill.
  Status add_block(int dim, std::int64_t above, const MemoryDigit& digit) {
    if (digit.width > above) {
      return cannot(why::kFasterStep,
                    "dim {dim} with steps of {width} faster in memory than steps of {slower_width}",
                    {fact("dim", dim), fact("width", digit.width), fact("slower_width", above)});
    }
    if (above % digit.width != 0) {
      return cannot(why::kBlockNotDivided,
                    "blocks of {block} of dim {dim} cut into blocks of {inner}",
                    {fact("dim", dim), fact("block", above), fact("inner", digit.width)});
    }
    const std::int64_t size = above / digit.width;
    const std::int64_t padding = digit.count / size;
    if (digit.count % size != 0 || (padding > 1 && !add_padding(padding))) {
      return cannot(why::kBlockPadding, "blocks of {block} of dim {dim} padded to {padded}",
                    {fact("dim", dim), fact("block", above),
                     fact("padded", (Checked(digit.count) * digit.width).saturated())});
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
  if (const auto what = beyond_plain_memory(layout.spec())) {
    return cannot_express(kName, *what);
  }
  if (shape.rank() == 0 || shape.rank() > kMaxOnednnDims) {
    return cannot(
        why::kTensorRank, "a tensor of rank {rank}",
        {fact("rank", shape.rank()), fact("least_rank", 1), fact("most_rank", kMaxOnednnDims)});
  }
  if (shape.empty()) {
    if (layout.slots() == 0) return TagBuilder(MemoryDigits{}, shape).build();
    return cannot(why::kEmptyTensor, "an allocation of {slots} slots for a tensor without elements",
                  {fact("slots", layout.slots())});
  }
  Result<MemoryDigits> memory = memory_digits(layout);
  if (!memory) return cannot_express(kName, obstacle_of(memory.error()));
  if (memory->slots != layout.slots()) return other_allocation(layout.slots(), memory->slots);
  split_padded_digit(*memory);
  return TagBuilder(*memory, shape).build();
}

}  // namespace

Result<OnednnLayout> raise_onednn(const Layout& layout) {
  TESSERA_TRY(OnednnLayout words, guess(layout));
  const Result<Layout> lowered = lower(words, layout.shape(), layout.dtype());
  if (!lowered) return cannot_express(kName, obstacle_of(lowered.error(), "this layout: "));
  if (lowered->slots() != layout.slots()) return other_allocation(layout.slots(), lowered->slots());
  TESSERA_TRY(const Comparison same, same_function(*lowered, layout));
  if (same.equal) return words;
  return cannot_express(kName, element_elsewhere(layout, *lowered, *same.first_difference));
}

}  // namespace tessera::notation
