// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/models/models.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/models/net.h"

namespace tessera::graph {
namespace {

using Options = ModelOptions;

constexpr std::int64_t kMost = std::int64_t{1} << 24;
constexpr std::int64_t kMostLayers = std::int64_t{1} << 17;  // about 40 nodes each
constexpr std::array<ModelNumber, 9> kNumbers = {{{"batch-size", &Options::batch, 1, kMost},
                                                  {"layers", &Options::layers, 1, kMostLayers},
                                                  {"sequence", &Options::sequence, 1, kMost},
                                                  {"past", &Options::past, 0, kMost},
                                                  {"hidden", &Options::hidden, 1, kMost},
                                                  {"heads", &Options::heads, 1, kMost},
                                                  {"kv-heads", &Options::kv_heads, 1, kMost},
                                                  {"vocabulary", &Options::vocabulary, 1, kMost},
                                                  {"image", &Options::image, 1, kMost}}};

struct Model {
  std::string_view name;
  Result<Graph> (*make)(const ModelOptions& options);
  std::vector<std::string_view> numbers;  ///< those that it has
};

const std::vector<Model>& models() {
  static const std::vector<Model> kAll = {
      {"mlp", make_mlp, {"batch-size"}},
      {"resnet50", make_resnet50, {"batch-size", "image"}},
      {"mobilenet-v2", make_mobilenet_v2, {"batch-size", "image"}},
      {"bert-base",
       make_bert,
       {"batch-size", "layers", "sequence", "hidden", "heads", "vocabulary"}},
      {"llama",
       make_llama,
       {"batch-size", "layers", "sequence", "past", "hidden", "heads", "kv-heads", "vocabulary"}},
      {"unet-block", make_unet_block, {"batch-size", "hidden", "image"}},
      {"mlp-mixer", make_mlp_mixer, {"batch-size", "layers", "hidden", "image"}},
  };
  return kAll;
}

Status check_numbers(const Model& model, const ModelOptions& options) {
  for (const ModelNumber& number : kNumbers) {
    const ModelOptions::Number& given = options.*number.value;
    if (!given) continue;
    if (std::ranges::find(model.numbers, number.name) == model.numbers.end()) {
      const std::vector<std::string> names(model.numbers.begin(), model.numbers.end());
      return Error{ErrorCode::kUnknownName, cat("the model ", model.name, " has no ", number.name),
                   std::nullopt, cat("it has ", join(names, ", "))};
    }
    if (*given >= number.least && *given <= number.most) continue;
    return Error{ErrorCode::kOutOfRange,
                 cat("the model ", model.name, " with ", number.name, " ", *given), std::nullopt,
                 cat("from ", number.least, " to ", number.most)};
  }
  return ok_status();
}

}  // namespace

std::span<const ModelNumber> model_numbers() { return kNumbers; }

std::span<const std::string_view> numbers_of(std::string_view model) {
  const auto at = std::ranges::find(models(), model, &Model::name);
  if (at == models().end()) return {};
  return at->numbers;
}

std::span<const std::string_view> model_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const Model& model : models()) names.push_back(model.name);
    return names;
  }();
  return kNames;
}

Result<Graph> make_model(std::string_view name, const ModelOptions& options) {
  const auto model = std::ranges::find(models(), name, &Model::name);
  if (model == models().end()) {
    return Error{ErrorCode::kUnknownName, cat("there is no model ", quote_name(name)), std::nullopt,
                 did_you_mean(name, model_names())};
  }
  TESSERA_CHECK_OK(check_numbers(*model, options));
  return model->make(options);
}

}  // namespace tessera::graph
