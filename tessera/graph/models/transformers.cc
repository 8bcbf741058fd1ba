// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/models/net.h"

/// BERT (Devlin et al. 2018) and a decoder in the shape of Llama (Touvron et al. 2023): grouped
/// keys and values, rotated positions, RMS norms and a gated feed-forward network. The defaults of
/// llama are those of the 8-billion-parameter model, but with two layers.
namespace tessera::graph {
namespace {

Error bad_heads(std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads) {
  return Error{ErrorCode::kOutOfRange,
               cat("a hidden size of ", hidden, " with ", heads, " heads and ", kv_heads,
                   " of keys and values"),
               std::nullopt, "heads divide the hidden size, and those of keys divide the heads"};
}

/// [batch, tokens, heads·width] to [batch, heads, tokens, width].
ValueId split_heads(Net& net, ValueId x, std::int64_t heads, std::string name = "") {
  const std::int64_t batch = net.extent(x, 0);
  const std::int64_t tokens = net.extent(x, 1);
  const std::int64_t width = net.extent(x, 2) / heads;
  return net.op("transpose", {net.reshape(x, {batch, tokens, heads, width})},
                {{"perm", Net::Ints{0, 2, 1, 3}}}, std::move(name));
}

ValueId join_heads(Net& net, ValueId x) {
  const std::int64_t batch = net.extent(x, 0);
  const std::int64_t heads = net.extent(x, 1);
  const std::int64_t tokens = net.extent(x, 2);
  const std::int64_t width = net.extent(x, 3);
  return net.reshape(net.transpose(x, {0, 2, 1, 3}), {batch, tokens, heads * width});
}

/// Pairs (x1, x2) of halves become (x1·cos - x2·sin, x2·cos + x1·sin).
ValueId rotated(Net& net, ValueId x, ValueId cosines, ValueId sines, std::string name = "") {
  const std::int64_t half = net.extent(x, 3) / 2;
  const auto part = [&](std::int64_t from) {
    return net.op(
        "slice", {x},
        {{"starts", Net::Ints{from}}, {"ends", Net::Ints{from + half}}, {"axes", Net::Ints{3}}});
  };
  const ValueId turned = net.op("concat", {net.op("neg", {part(half)}), part(0)}, {{"axis", 3}});
  return net.op("add", {net.op("mul", {x, cosines}), net.op("mul", {turned, sines})}, {},
                std::move(name));
}

}  // namespace

Result<Graph> make_bert(const ModelOptions& options) {
  const std::int64_t layers = options.layers.value_or(12);
  const std::int64_t hidden = options.hidden.value_or(768);
  const std::int64_t heads = options.heads.value_or(12);
  const std::int64_t tokens = options.sequence.value_or(128);
  const std::int64_t words = options.vocabulary.value_or(30522);
  if (hidden % heads != 0) return bad_heads(hidden, heads, heads);
  constexpr std::int64_t kMostPositions = 512;
  if (tokens > kMostPositions) {
    return Error{ErrorCode::kOutOfRange, cat("bert-base with ", tokens, " tokens"), std::nullopt,
                 cat("it has positions for ", kMostPositions)};
  }
  Net net("bert", options.dtype);
  const ValueId ids = net.input("ids", {net.batch(options), tokens}, DType::kI64);
  const ValueId kinds = net.input("token_types", {net.batch(options), tokens}, DType::kI64);
  const ValueId mask = net.input("mask", {net.batch(options), 1, 1, tokens});
  ValueId x = net.op("embedding", {net.weight("words", {words, hidden}), ids});
  const ValueId places =
      net.op("slice", {net.weight("positions", {kMostPositions, hidden})},
             {{"starts", Net::Ints{0}}, {"ends", Net::Ints{tokens}}, {"axes", Net::Ints{0}}});
  x = net.op("add", {x, net.op("embedding", {net.weight("types", {2, hidden}), kinds})});
  x = net.layer_norm("embeddings.norm", net.op("add", {x, places}), hidden);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string name = cat("layer", layer);
    const ValueId q = split_heads(net, net.linear(name + ".query", x, hidden, hidden), heads);
    const ValueId k = split_heads(net, net.linear(name + ".key", x, hidden, hidden), heads);
    const ValueId v = split_heads(net, net.linear(name + ".value", x, hidden, hidden), heads);
    ValueId y = join_heads(net, net.op("attention", {q, k, v, mask}, {}, name + ".attention"));
    y = net.linear(name + ".out", y, hidden, hidden);
    x = net.layer_norm(name + ".norm1", net.op("add", {x, y}), hidden);
    y = net.op("gelu", {net.linear(name + ".up", x, hidden, 4 * hidden)});
    y = net.linear(name + ".down", y, 4 * hidden, hidden);
    x = net.layer_norm(name + ".norm2", net.op("add", {x, y}), hidden);
  }
  const ValueId first = net.op(
      "slice", {x}, {{"starts", Net::Ints{0}}, {"ends", Net::Ints{1}}, {"axes", Net::Ints{1}}});
  const ValueId pooled =
      net.linear("pooler", net.reshape(first, {net.batch(options), hidden}), hidden, hidden);
  net.output(x);
  net.output(net.op("tanh", {pooled}));
  return std::move(net).finish();
}

Result<Graph> make_llama(const ModelOptions& options) {
  const std::int64_t layers = options.layers.value_or(2);
  const std::int64_t hidden = options.hidden.value_or(4096);
  const std::int64_t heads = options.heads.value_or(32);
  const std::int64_t kv_heads = options.kv_heads.value_or(heads % 4 == 0 ? heads / 4 : heads);
  const bool returns_cache = options.past.has_value();
  const std::int64_t past = options.past.value_or(0);
  const std::int64_t tokens = options.sequence.value_or(past > 0 ? 1 : 128);
  const std::int64_t words = options.vocabulary.value_or(128256);
  const std::int64_t wide = hidden * 7 / 2;
  if (hidden % heads != 0 || heads % kv_heads != 0 || (hidden / heads) % 2 != 0) {
    return bad_heads(hidden, heads, kv_heads);
  }
  const std::int64_t width = hidden / heads;
  Net net("llama", options.dtype);
  const ValueId ids = net.input("ids", {net.batch(options), tokens}, DType::kI64);
  const ValueId cosines = net.input("cos", {tokens, width});
  const ValueId sines = net.input("sin", {tokens, width});
  ValueId x = net.op("embedding", {net.weight("words", {words, hidden}), ids});
  const auto norm = [&](const std::string& name, ValueId v) {
    return net.op("rms_norm", {v, net.weight(name, {hidden})}, {}, name + ".rms");
  };
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string name = cat("layer", layer);
    const ValueId h = norm(name + ".norm1", x);
    const std::int64_t narrow = kv_heads * width;
    // The cache of a prompt is what it computes; later ones are joined with it.
    const bool is_prompt = returns_cache && past == 0;
    const std::string keys = is_prompt ? name + ".keys" : "";
    const std::string values = is_prompt ? name + ".values" : "";
    ValueId q = split_heads(net, net.linear(name + ".query", h, hidden, hidden, false), heads);
    ValueId k = split_heads(net, net.linear(name + ".key", h, hidden, narrow, false), kv_heads);
    ValueId v =
        split_heads(net, net.linear(name + ".value", h, hidden, narrow, false), kv_heads, values);
    q = rotated(net, q, cosines, sines);
    k = rotated(net, k, cosines, sines, keys);
    if (past > 0) {
      const Net::Ints cache = {net.batch(options), kv_heads, past, width};
      k = net.op("concat", {net.input(name + ".past_keys", cache), k}, {{"axis", 2}},
                 name + ".keys");
      v = net.op("concat", {net.input(name + ".past_values", cache), v}, {{"axis", 2}},
                 name + ".values");
    }
    if (returns_cache) {
      net.output(k);
      net.output(v);
    }
    ValueId y = net.op("attention", {q, k, v}, {{"causal", 1}}, name + ".attention");
    y = net.linear(name + ".out", join_heads(net, y), hidden, hidden, false);
    x = net.op("add", {x, y});
    const ValueId g = norm(name + ".norm2", x);
    const ValueId gate = net.linear(name + ".gate", g, hidden, wide, false);
    const ValueId silu = net.op("mul", {gate, net.op("sigmoid", {gate})});
    y = net.op("mul", {silu, net.linear(name + ".up", g, hidden, wide, false)});
    x = net.op("add", {x, net.linear(name + ".down", y, wide, hidden, false)});
  }
  net.output(net.linear("logits", norm("norm", x), hidden, words, false));
  return std::move(net).finish();
}

}  // namespace tessera::graph
