// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/run/kernel_law.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/run/kernels/kernel.h"
#include "tessera/testing/ops/loops_law.h"

namespace tessera::test {
namespace {

using ops::Access;
using ops::FactorKind;
using ops::Loops;
using run::Tile;

constexpr long double kPoison = 77;

/// The elements of a tensor that blocks of iterations touch.
std::vector<bool> marks_of(const Access& access, const Loops& loops, const Shape& shape,
                           const std::vector<Box>& blocks) {
  std::vector<bool> marks(static_cast<std::size_t>(shape.elements()));
  for (const Box& block : blocks) {
    std::vector<std::int64_t> extents;
    for (std::size_t k = 0; k < block.from.size(); ++k) {
      extents.push_back(block.to[k] - block.from[k]);
    }
    each_index(*Shape::make(extents), [&](Index f) {
      for (std::size_t k = 0; k < f.size(); ++k) f[k] += block.from[k];
      const Index x = access.index(f);
      if (shape.contains(x) && reads_in(access, loops, f)) {
        marks[static_cast<std::size_t>(row_major(shape, x))] = true;
      }
    });
  }
  return marks;
}

/// A tile around the marked elements, with memory of its own.
struct OwnTile {
  Tile tile;
  std::vector<std::byte> memory;

  std::size_t offset(const Index& x, std::int64_t bytes) const {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < x.size(); ++d) at += (x[d] - tile.box.from[d]) * tile.strides[d];
    return static_cast<std::size_t>(at * bytes);
  }
};

OwnTile tile_around(Dice& dice, const Shape& shape, DType compute, const std::vector<bool>& marks) {
  OwnTile own;
  own.tile.box = {shape.extents(), std::vector<std::int64_t>(shape.rank(), 0)};
  bool any = false;
  each_index(shape, [&](const Index& x) {
    if (!marks[static_cast<std::size_t>(row_major(shape, x))]) return;
    any = true;
    for (std::size_t d = 0; d < x.size(); ++d) {
      own.tile.box.from[d] = std::min(own.tile.box.from[d], x[d]);
      own.tile.box.to[d] = std::max(own.tile.box.to[d], x[d] + 1);
    }
  });
  if (!any) return own;
  own.tile.strides.resize(shape.rank());
  std::int64_t stride = 1;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    own.tile.strides[d] = stride;
    stride *= own.tile.box.to[d] - own.tile.box.from[d] + dice.below(2);
  }
  own.memory.resize(static_cast<std::size_t>(stride * run::compute_bytes(compute)));
  own.tile.data = own.memory.data();
  return own;
}

void put(std::byte* at, DType compute, long double number) {
  if (compute == DType::kF32) {
    const auto value = static_cast<float>(number);
    std::memcpy(at, &value, sizeof value);
  } else if (compute == DType::kF64) {
    const auto value = static_cast<double>(number);
    std::memcpy(at, &value, sizeof value);
  } else if (compute == DType::kU64) {
    const auto value = static_cast<std::uint64_t>(number);
    std::memcpy(at, &value, sizeof value);
  } else {
    const auto value = static_cast<std::int64_t>(number);
    std::memcpy(at, &value, sizeof value);
  }
}

long double got(const std::byte* at, DType compute) {
  const auto take = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return static_cast<long double>(value);
  };
  if (compute == DType::kF32) return take(float{});
  if (compute == DType::kF64) return take(double{});
  return compute == DType::kU64 ? take(std::uint64_t{}) : take(std::int64_t{});
}

/// Blocks of iterations that together are all of them.
std::vector<Box> random_blocks(Dice& dice, const Loops& loops) {
  std::vector<Box> blocks = {{{}, {}}};
  for (const ops::Factor& factor : loops.factors) {
    std::vector<std::int64_t> ends = {0};
    while (ends.back() < factor.extent) {
      const bool cuts = factor.kind != FactorKind::kWhole && dice.chance(40);
      ends.push_back(cuts ? ends.back() + dice.between(1, factor.extent - ends.back())
                          : factor.extent);
    }
    if (ends.size() == 1) ends.push_back(0);  // a factor of extent 0
    std::vector<Box> more;
    for (const Box& block : blocks) {
      for (std::size_t n = 0; n + 1 < ends.size(); ++n) {
        more.push_back(block);
        more.back().from.push_back(ends[n]);
        more.back().to.push_back(ends[n + 1]);
      }
    }
    blocks = std::move(more);
  }
  return blocks;
}

}  // namespace

std::string kernel_law(Dice& dice, const OpCase& made, const Loops& loops) {
  const auto expected = made.evaluate();
  if (!expected) return "the evaluator does not know the op";
  const auto types = made.types();
  const graph::Call call(made.op, types, made.attributes, made.outputs);
  const Result<graph::Types> outputs = made.infer();
  Reduction reduction = Reduction::kSum;
  for (const ops::Factor& factor : loops.factors) {
    if (factor.kind == FactorKind::kReduce) reduction = factor.reduction;
  }
  const std::vector<Box> blocks = random_blocks(dice, loops);
  std::vector<std::vector<Box>> workers(static_cast<std::size_t>(dice.between(1, 4)));
  for (const Box& block : blocks) {
    workers[static_cast<std::size_t>(dice.below(std::ssize(workers)))].push_back(block);
  }
  std::vector<std::vector<long double>> sums(expected->size());
  std::vector<std::vector<bool>> is_made(expected->size());
  for (std::size_t o = 0; o < expected->size(); ++o) {
    sums[o].resize((*expected)[o].elements.size());
    is_made[o].resize(sums[o].size());
  }
  for (const std::vector<Box>& mine : workers) {
    if (mine.empty()) continue;
    run::Task task{&call, &*outputs, &loops, mine, {}, {}};
    std::vector<OwnTile> inputs(made.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (made.inputs[i] && loops.inputs[i]) {
        const NaiveTensor& tensor = *made.inputs[i];
        const Shape& shape = tensor.type.shape;
        const DType compute = run::compute_type(tensor.type.dtype);
        const std::vector<bool> marks = marks_of(*loops.inputs[i], loops, shape, mine);
        inputs[i] = tile_around(dice, shape, compute, marks);
        if (inputs[i].tile.data != nullptr) {
          each_index(shape, [&](const Index& x) {
            const auto e = static_cast<std::size_t>(row_major(shape, x));
            if (!inputs[i].tile.box.contains(x)) return;
            put(inputs[i].tile.data + inputs[i].offset(x, run::compute_bytes(compute)), compute,
                marks[e]           ? tensor.elements[e]
                : made.is_index(i) ? 0
                                   : kPoison);
          });
        }
      }
      task.inputs.push_back(inputs[i].tile);
    }
    std::vector<OwnTile> results(expected->size());
    std::vector<std::vector<bool>> marks(expected->size());
    constexpr long double kMarker = 123456;
    for (std::size_t o = 0; o < results.size(); ++o) {
      const Shape& shape = (*outputs)[o].shape;
      const DType compute = run::compute_type((*outputs)[o].dtype);
      marks[o] = marks_of(loops.outputs[o], loops, shape, mine);
      results[o] = tile_around(dice, shape, compute, marks[o]);
      const std::int64_t bytes = run::compute_bytes(compute);
      for (std::size_t at = 0; at < results[o].memory.size();
           at += static_cast<std::size_t>(bytes)) {
        put(results[o].memory.data() + at, compute, kMarker);
      }
      task.results.push_back(results[o].tile);
    }
    if (const Status status = run::perform(task); !status) return status.error().message;
    for (std::size_t o = 0; o < results.size(); ++o) {
      const Shape& shape = (*outputs)[o].shape;
      const DType compute = run::compute_type((*outputs)[o].dtype);
      if (results[o].tile.data == nullptr) continue;
      std::string wrong;
      each_index(shape, [&](const Index& y) {
        const auto e = static_cast<std::size_t>(row_major(shape, y));
        if (!results[o].tile.box.contains(y)) return;
        const long double value =
            got(results[o].tile.data + results[o].offset(y, run::compute_bytes(compute)), compute);
        if (!marks[o][e]) {
          if (value != kMarker) wrong = cat("output ", o, " at ", bracketed(y), " is written");
          return;
        }
        sums[o][e] = is_made[o][e] ? combined(reduction, sums[o][e], value) : value;
        is_made[o][e] = true;
      });
      if (!wrong.empty()) return wrong;
    }
  }
  for (std::size_t o = 0; o < expected->size(); ++o) {
    const NaiveTensor& want = (*expected)[o];
    for (std::size_t e = 0; e < sums[o].size(); ++e) {
      if (!is_made[o][e] && loops.iterations()->empty()) continue;
      const long double value = as_element(sums[o][e], want.type.dtype);
      const long double right = want.elements[e];
      const bool same = value == right || (std::isnan(value) && std::isnan(right)) ||
                        std::fabs(value - right) <= 2e-5L * (1 + std::fabs(right));
      if (!is_made[o][e] || !same) {
        return cat("output ", o, " element ", e, " is ", std::to_string(static_cast<double>(value)),
                   ", expected ", std::to_string(static_cast<double>(right)));
      }
    }
  }
  return "";
}

}  // namespace tessera::test
