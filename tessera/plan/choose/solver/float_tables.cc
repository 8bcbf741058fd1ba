// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/float_tables.h"

#include <algorithm>

namespace tessera::choose {
namespace {

/// Four floats that the compiler adds and compares in one instruction. A type of the compiler, not
/// of an instruction set.
using Four = float __attribute__((vector_size(16)));

Four least(Four a, Four b) { return a < b ? a : b; }

const Four* fours(const float* numbers) { return reinterpret_cast<const Four*>(numbers); }
Four* fours(float* numbers) { return reinterpret_cast<Four*>(numbers); }

/// min_plus for a width of `kFours` * 4, with all sums in registers.
template <int kFours>
void min_plus_of(const float* in, std::uint32_t height, const float* table, float* out) {
  Four best[kFours];
  for (int l = 0; l < kFours; ++l) best[l] = Four{kHuge, kHuge, kHuge, kHuge};
  const Four* row = fours(table);
  for (std::uint32_t k = 0; k < height; ++k, row += kFours) {
    const Four base = {in[k], in[k], in[k], in[k]};
    for (int l = 0; l < kFours; ++l) best[l] = least(best[l], base + row[l]);
  }
  for (int l = 0; l < kFours; ++l) fours(out)[l] = best[l];
}

}  // namespace

void min_plus(const float* in, std::uint32_t height, const float* table, std::uint32_t width,
              float* out) {
  switch (width / 4) {
    case 1:
      return min_plus_of<1>(in, height, table, out);
    case 2:
      return min_plus_of<2>(in, height, table, out);
    case 3:
      return min_plus_of<3>(in, height, table, out);
    case 4:
      return min_plus_of<4>(in, height, table, out);
    case 5:
      return min_plus_of<5>(in, height, table, out);
    case 6:
      return min_plus_of<6>(in, height, table, out);
    case 7:
      return min_plus_of<7>(in, height, table, out);
    case 8:
      return min_plus_of<8>(in, height, table, out);
    default:
      break;
  }
  std::fill_n(out, width, kHuge);
  for (std::uint32_t k = 0; k < height; ++k) {
    const Four base = {in[k], in[k], in[k], in[k]};
    const Four* row = fours(table + std::size_t{k} * width);
    for (std::uint32_t l = 0; l < width / 4; ++l) {
      fours(out)[l] = least(fours(out)[l], base + row[l]);
    }
  }
}

void add_row(float* sum, const float* row, std::uint32_t width) {
  for (std::uint32_t l = 0; l < width / 4; ++l) fours(sum)[l] += fours(row)[l];
}

float least_of(const float* numbers, std::uint32_t width) {
  Four best = fours(numbers)[0];
  for (std::uint32_t l = 1; l < width / 4; ++l) best = least(best, fours(numbers)[l]);
  return std::min(std::min(best[0], best[1]), std::min(best[2], best[3]));
}

std::uint32_t position_of_least(const float* numbers, std::uint32_t width) {
  const float best = least_of(numbers, width);
  std::uint32_t l = 0;
  while (numbers[l] != best) ++l;
  return l;
}

std::uint32_t position_of_least_sum(const float* a, const float* b, std::uint32_t width) {
  Four best = fours(a)[0] + fours(b)[0];
  for (std::uint32_t l = 1; l < width / 4; ++l) best = least(best, fours(a)[l] + fours(b)[l]);
  const float smallest = std::min(std::min(best[0], best[1]), std::min(best[2], best[3]));
  std::uint32_t l = 0;
  while (l + 1 < width && a[l] + b[l] > smallest) ++l;
  return l;
}

FloatTables::FloatTables(const Model& model) {
  first_.push_back(0);
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    first_.push_back(first_.back() + padded(model.strategies(node)));
  }
  bool ok = costs_.assign(first_.back(), kHuge);
  std::size_t total = 0;
  for (const Model::Link& link : model.links) {
    by_a_.push_back(total);
    total += std::size_t{model.strategies(link.a)} * width(link.b);
    by_b_.push_back(total);
    total += std::size_t{model.strategies(link.b)} * width(link.a);
  }
  ok = ok && tables_.assign(total, kHuge);
  if (!ok) return;
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    std::transform(model.costs_of(node).begin(), model.costs_of(node).end(),
                   costs_.begin() + first_[node],
                   [](std::int64_t cost) { return static_cast<float>(cost); });
  }
  for (std::uint32_t e = 0; e < model.links.size(); ++e) {
    const Model::Link& link = model.links[e];
    const std::uint32_t height = model.strategies(link.a);
    const std::uint32_t columns = model.strategies(link.b);
    for (std::uint32_t k = 0; k < height; ++k) {
      for (std::uint32_t l = 0; l < columns; ++l) {
        const std::int64_t cost = model.tables[link.table + std::size_t{k} * columns + l];
        const float value = cost >= kForbidden ? kHuge : static_cast<float>(cost);
        tables_[by_a_[e] + std::size_t{k} * width(link.b) + l] = value;
        tables_[by_b_[e] + std::size_t{l} * width(link.a) + k] = value;
      }
    }
  }
}

void price_usages(const Model& model, const FloatTables& tables, std::span<const double> prices,
                  std::span<float> out) {
  std::vector<double> before(prices.size() + 1);
  for (std::size_t m = 0; m < prices.size(); ++m) before[m + 1] = before[m] + prices[m];
  std::fill(out.begin(), out.end(), 0.0F);
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    float* const sums = out.data() + tables.first(node);
    for (const Model::Piece& piece : model.pieces_of(node)) {
      const double price = before[piece.to] - before[piece.from];
      if (price <= 0) continue;
      for (std::uint32_t k = 0; k < model.strategies(node); ++k) {
        sums[k] += static_cast<float>(price * static_cast<double>(model.usages[piece.usage + k]));
      }
    }
  }
}

}  // namespace tessera::choose
