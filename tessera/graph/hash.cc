// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>
#include <string_view>

#include "tessera/base/mixing.h"
#include "tessera/graph/graph.h"

namespace tessera::graph {
namespace {

/// Two chains of mixed words, of which each also enters the other. Everything is preceded by its
/// length or number, so that no two graphs give one sequence of words.
class Hasher {
 public:
  void word(std::uint64_t value) {
    high_ = mixed(high_ ^ value);
    low_ = mixed(low_ + std::rotl(value, 32) * kGoldenStep) ^ std::rotl(high_, 17);
  }
  void text(std::string_view bytes) {
    word(bytes.size());
    while (bytes.size() >= sizeof(std::uint64_t)) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data(), sizeof(value));
      word(value);
      bytes.remove_prefix(sizeof(value));
    }
    std::uint64_t rest = 0;
    std::memcpy(&rest, bytes.data(), bytes.size());
    if (!bytes.empty()) word(rest);
  }
  void ids(const std::vector<ValueId>& values) {
    word(values.size());
    for (const ValueId v : values) word(v);
  }
  void attribute(const Attribute& value) {
    word(value.index());
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      word(static_cast<std::uint64_t>(*integer));
    } else if (const auto* real = std::get_if<double>(&value)) {
      word(std::bit_cast<std::uint64_t>(*real));
    } else if (const auto* written = std::get_if<std::string>(&value)) {
      text(*written);
    } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
      word(integers->size());
      for (const std::int64_t each : *integers) word(static_cast<std::uint64_t>(each));
    } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
      word(reals->size());
      for (const double each : *reals) word(std::bit_cast<std::uint64_t>(each));
    }
  }
  ContentHash result() const { return {mixed(high_ + low_), mixed(low_ ^ std::rotl(high_, 32))}; }

 private:
  std::uint64_t high_ = 1;
  std::uint64_t low_ = 2;
};

}  // namespace

std::string ContentHash::to_string() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::uint64_t part : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[part >> shift & 15];
  }
  return out;
}

ContentHash hash(const Graph& graph) {
  Hasher hasher;
  hasher.text(graph.name);
  hasher.word(graph.values.size());
  for (const Value& value : graph.values) {
    hasher.text(value.name);
    hasher.text(dtype_name(value.type.dtype));
    hasher.word(value.type.shape.rank());
    for (const std::int64_t extent : value.type.shape.extents()) {
      hasher.word(static_cast<std::uint64_t>(extent));
    }
    hasher.word(static_cast<std::uint64_t>(value.kind));
    hasher.word(static_cast<std::uint64_t>(value.data.form));
    if (value.data.bytes) hasher.text(*value.data.bytes);
    hasher.text(value.data.file);
    hasher.word(static_cast<std::uint64_t>(value.data.offset));
  }
  hasher.word(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    hasher.text(node.name);
    hasher.text(node.op.name());
    hasher.ids(node.inputs);
    hasher.ids(node.outputs);
    hasher.word(node.attributes.size());
    for (const auto& [name, value] : node.attributes) {
      hasher.text(name);
      hasher.attribute(value);
    }
  }
  hasher.ids(graph.outputs);
  return hasher.result();
}

}  // namespace tessera::graph
