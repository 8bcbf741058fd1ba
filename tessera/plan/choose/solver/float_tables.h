// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/array.h"
#include "tessera/plan/choose/solver/model.h"

namespace tessera::choose {

/// The strategies of a node take this many numbers in float tables: a multiple of four, so that
/// every loop over them is a loop over whole vectors.
constexpr std::uint32_t padded(std::uint32_t strategies) { return (strategies + 3) / 4 * 4; }

/// Larger than every finite sum in float tables; padding and forbidden pairs have it.
inline constexpr float kHuge = 1e30F;

/// out[l] = min over k of in[k] + table[k * width + l], for all l below `width`, a multiple of 4.
/// `in` has `height` numbers. The tables and lists are aligned to 16 bytes.
void min_plus(const float* in, std::uint32_t height, const float* table, std::uint32_t width,
              float* out);
/// sum[l] += row[l].
void add_row(float* sum, const float* row, std::uint32_t width);
/// The least of `width` numbers.
float least_of(const float* numbers, std::uint32_t width);
/// The first position of the least of `width` numbers.
std::uint32_t position_of_least(const float* numbers, std::uint32_t width);
/// The position of the least a[l] + b[l].
std::uint32_t position_of_least_sum(const float* a, const float* b, std::uint32_t width);

/// The costs of a model as floats, every link in both directions, for the parts of the search that
/// look at many numbers quickly. Exact costs always come from the model itself.
class FloatTables {
 public:
  explicit FloatTables(const Model& model);

  /// Of the strategies of a node in lists with padding.
  std::uint32_t first(std::uint32_t node) const { return first_[node]; }
  std::uint32_t width(std::uint32_t node) const { return first_[node + 1] - first_[node]; }
  std::uint32_t size() const { return first_.back(); }
  const float* costs(std::uint32_t node) const { return costs_.data() + first_[node]; }
  /// The rows of a link's table by the strategies of `from`, one of its ends; a row has the padded
  /// strategies of the other end.
  const float* rows(std::uint32_t link, bool from_a) const {
    return tables_.data() + (from_a ? by_a_[link] : by_b_[link]);
  }

 private:
  std::vector<std::uint32_t> first_;
  Array<float> costs_;
  std::vector<std::size_t> by_a_, by_b_;
  Array<float> tables_;
};

/// What the usages of every strategy cost at these prices per byte and moment; padded with zeros.
void price_usages(const Model& model, const FloatTables& tables, std::span<const double> prices,
                  std::span<float> out);

}  // namespace tessera::choose
