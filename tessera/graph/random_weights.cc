// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/random_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::graph {
namespace {

bool is_random(const Value& value) {
  const DType dtype = value.type.dtype;
  const bool given = value.kind == Kind::kParameter || value.kind == Kind::kConstant;
  return given && value.data.form == Data::Form::kNone &&
         (dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 ||
          dtype == DType::kBF16);
}

/// Steele, Lea and Flood's generator: one addition and a mix per number.
class Numbers {
 public:
  Numbers(std::uint64_t seed, std::uint64_t stream) : state_(seed) {
    state_ = next() ^ (stream * 0x9E3779B97F4A7C15U);
  }
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// In [-1, 1), a multiple of 2^-23, so that f32 holds it.
  float centered() {
    return static_cast<float>(static_cast<std::int64_t>(next() >> 40U) - (1 << 23)) * 0x1p-23F;
  }

 private:
  std::uint64_t state_;
};

/// The number with the bits of f16 or bf16 that it has, without the rest.
std::uint16_t half_bits(float number, DType dtype) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  if (dtype == DType::kBF16) return static_cast<std::uint16_t>(bits >> 16U);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t exponent = bits >> 23U & 0xFFU;
  constexpr std::uint32_t kDifference = 127 - 15;                        // of the biases
  if (exponent <= kDifference) return static_cast<std::uint16_t>(sign);  // below the normal ones
  return static_cast<std::uint16_t>(sign | (exponent - kDifference) << 10U |
                                    (bits >> 13U & 0x3FFU));
}

template <typename Element, typename Make>
void fill_with(std::span<std::byte> out, const Make& make) {
  for (std::size_t at = 0; at + sizeof(Element) <= out.size(); at += sizeof(Element)) {
    const Element element = make();
    std::memcpy(out.data() + at, &element, sizeof(Element));
  }
}

}  // namespace

std::uint64_t random_stream(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

RandomWeights::RandomWeights(const Graph& graph, std::uint64_t seed)
    : graph_(&graph), seed_(seed), positive_(graph.values.size(), false) {
  Checked elements(0);
  Checked bytes(0);
  for (ValueId v = 0; v < graph.values.size(); ++v) {
    if (!is_random(graph.values[v])) continue;
    values_.push_back(v);
    elements += graph.values[v].type.shape.elements();
    bytes += graph.values[v].type.bytes();
  }
  elements_ = elements.saturated();
  bytes_ = bytes.saturated();
  for (const Node& node : graph.nodes) {
    if (node.op.rule().family != Family::kNormalization) continue;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kAbsent) positive_[node.inputs[i]] = true;
    }
  }
}

void RandomWeights::fill(ValueId value, std::span<std::byte> out) const {
  const TensorType& type = graph_->values[value].type;
  std::int64_t largest = 1;
  for (const std::int64_t extent : type.shape.extents()) largest = std::max(largest, extent);
  const auto terms =
      static_cast<double>(std::max<std::int64_t>(type.shape.elements() / largest, 1));
  const auto bound = static_cast<float>(1 / std::sqrt(terms));
  const bool positive = positive_[value];
  Numbers numbers(seed_, random_stream(graph_->values[value].name));
  const auto number = [&] {
    const float x = numbers.centered();
    return positive ? 1 + x / 2 : x * bound;
  };
  if (type.dtype == DType::kF64) {
    fill_with<double>(out, [&] { return double{number()}; });
  } else if (type.dtype == DType::kF32) {
    fill_with<float>(out, number);
  } else {
    fill_with<std::uint16_t>(out, [&] { return half_bits(number(), type.dtype); });
  }
}

Result<Graph> with_random_weights(const Graph& graph, std::uint64_t seed) {
  const RandomWeights weights(graph, seed);
  if (weights.bytes() > kMaxRandomBytes) {
    return Error{ErrorCode::kTooLarge, cat("random weights of ", weights.bytes(), " bytes"),
                 std::nullopt, cat("at most ", kMaxRandomBytes, " bytes")};
  }
  Graph out = graph;
  for (const ValueId v : weights.values()) {
    std::string bytes(static_cast<std::size_t>(graph.values[v].type.bytes()), '\0');
    weights.fill(v, std::as_writable_bytes(std::span(bytes)));
    out.values[v].data = Data::of_bytes(std::move(bytes));
  }
  return out;
}

}  // namespace tessera::graph
