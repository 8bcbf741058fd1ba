// SPDX-License-Identifier: Apache-2.0
#include "tools/show/show_target.h"

#include <cmath>

#include "tessera/base/text.h"
#include "tessera/notation/tensor_fit.h"
#include "tessera/target/fit.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// One digit after the decimal point.
std::optional<double> rounded(std::optional<double> percent) {
  if (percent) percent = std::round(*percent * 10) / 10;
  return percent;
}

std::string percent_text(double percent) {
  const auto tenths = static_cast<std::int64_t>(std::round(percent * 10));
  if (tenths == 0 && percent > 0) return "less than 0.1 %";
  return cat(tenths / 10, ".", tenths % 10, " %");
}

std::string fits_sentence(const TargetFit& target) {
  const target::Fit& fit = target.fit;
  const std::string held = cat("fits ", target.name, ": ", target::size_text(fit.held_bytes), " ",
                               target::each_owner(fit.owner), " in ", fit.space);
  if (!fit.usable_bytes) return cat(held, ", whose size is not given");
  const std::string budget = fit.usable_bytes == fit.capacity_bytes ? "" : " for data";
  return cat(held, ", ", percent_text(*fit.share_percent()), " of the ",
             target::size_text(*fit.usable_bytes), budget);
}

}  // namespace

Result<TargetFit> fit_on_target(const Tensor& tensor, const std::string& target) {
  TESSERA_TRY(const Machine machine, read_target(target));
  TESSERA_TRY(target::Fit fit, notation::fits(tensor, machine));
  return TargetFit{machine.name, std::move(fit)};
}

Json target_json(const TargetFit& target) {
  const target::Fit& fit = target.fit;
  Json json;
  json["name"] = target.name;
  json["fits"] = fit.fits();
  json["space"] = fit.space;
  json["layout_space"] = fit.layout_space.empty() ? Json() : Json(fit.layout_space);
  json["shard_bytes"] = fit.shard_bytes;
  json["held_bytes"] = fit.held_bytes;
  json["capacity_bytes"] = fit.capacity_bytes;
  json["usable_bytes"] = fit.usable_bytes;
  json["share_percent"] = rounded(fit.share_percent());
  json["needed_places"] = fit.needed_places;
  json["reasons"] = Json::array();
  for (const target::Misfit& reason : fit.reasons) {
    json["reasons"].push_back(
        {{"code", target::misfit_name(reason.code)}, {"message", reason.message}});
  }
  return json;
}

std::string target_text(const TargetFit& target, const Terminal& terminal) {
  const target::Fit& fit = target.fit;
  const auto line = [&](Paint colour, const std::string& sentence) {
    const std::string text = wrap(sentence, terminal, "", "  ");
    return cat(paint(terminal, colour, text.substr(0, text.size() - 1)), "\n");
  };
  std::string out;
  if (fit.fits()) out += line(Paint::kHeading, fits_sentence(target));
  bool memory = false;
  for (const target::Misfit& reason : fit.reasons) {
    out += line(Paint::kWarning, cat("does not fit ", target.name, ": ", reason.message));
    memory = memory || reason.code == target::Misfit::Code::kExceedsMemory ||
             reason.code == target::Misfit::Code::kExceedsBudget;
  }
  if (memory && fit.needed_places) {
    out += wrap(cat("the data alone fill ", count_of(*fit.needed_places, "place")), terminal, "  ",
                "    ");
  }
  if (!fit.layout_space.empty() && fit.layout_space != fit.space) {
    out += wrap(cat(target.name, " has no memory ", quote(fit.layout_space), ": ", fit.space,
                    " was used instead"),
                terminal, "  ", "    ");
  }
  return out;
}

}  // namespace tessera::tools
