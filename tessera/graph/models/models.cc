// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/models/models.h"

#include <array>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/models/net.h"

namespace tessera::graph {
namespace {

constexpr std::array<std::string_view, 7> kNames = {
    "mlp", "resnet50", "mobilenet-v2", "bert-base", "llama", "unet-block", "mlp-mixer"};
constexpr std::array kMakers = {make_mlp,   make_resnet50,   make_mobilenet_v2, make_bert,
                                make_llama, make_unet_block, make_mlp_mixer};
static_assert(kNames.size() == kMakers.size());

}  // namespace

std::span<const std::string_view> model_names() { return kNames; }

Result<Graph> make_model(std::string_view name, const ModelOptions& options) {
  for (const std::int64_t number :
       {options.batch, options.layers, options.sequence, options.past, options.hidden,
        options.heads, options.kv_heads, options.vocabulary, options.image}) {
    constexpr std::int64_t kMost = std::int64_t{1} << 24;
    if (number >= 0 && number <= kMost) continue;
    return Error{ErrorCode::kOutOfRange, cat("a model with the number ", number), std::nullopt,
                 cat("from 0 to ", kMost)};
  }
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return kMakers[i](options);
  }
  return Error{ErrorCode::kUnknownName, cat("there is no model ", quote_name(name)), std::nullopt,
               did_you_mean(name, kNames)};
}

}  // namespace tessera::graph
