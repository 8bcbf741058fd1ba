// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/warnings.h"

#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/check/mlir_scan.h"
#include "tessera/layout/waste.h"
#include "tessera/notation/mlir/core_ranges.h"
#include "tessera/notation/tensor_fit.h"
#include "tessera/notation/terms.h"

namespace tessera::check {
namespace {

/// The whole layout, up to the '>' of the tensor.
Span layout_span(std::string_view text, std::size_t layout) {
  std::size_t end = text.rfind('>');
  if (end == std::string_view::npos || end < layout) end = text.size();
  while (end > layout && is_mlir_blank(text[end - 1])) --end;
  return {static_cast<std::int64_t>(layout), static_cast<std::int64_t>(end)};
}

/// The text after `core_ranges =`, or the whole layout.
Span core_ranges_span(std::string_view text, Span layout) {
  const auto from = static_cast<std::size_t>(layout.from);
  const auto end = static_cast<std::size_t>(layout.to);
  std::size_t at = text.find("core_ranges", from);
  if (at == std::string_view::npos || at >= end) return layout;
  at = text.find('=', at);
  if (at == std::string_view::npos || at >= end) return layout;
  const std::size_t begin = skip_blanks(text, at + 1, end);
  at = std::min(text.find('<', begin), end);
  BracketStack brackets;
  do {
    if (at < end) brackets.take(text, at++);
  } while (at < end && brackets.depth() > 0);
  return {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(at)};
}

std::string_view unit_of(std::int64_t count) { return count == 1 ? "" : "s"; }

void warn_of_waste(const Tensor& tensor, Span layout, double most, Reading& reading) {
  // Current metal layouts are aligned to tiles, tiled or not.
  const bool today = std::holds_alternative<notation::MetalTodayLayout>(notation::terms_of(tensor));
  const Atom& atom = tensor.layout().atom();
  const std::int64_t least = today ? 32 : 1;
  const Waste waste =
      waste_beside_tiles(tensor.layout(), std::max(atom.rows, least), std::max(atom.cols, least));
  if (!waste.more_than(most)) return;
  reading.findings.push_back({Severity::kWarning,
                              "waste",
                              layout,
                              cat("allocates ", waste.factor_text(), " times the data of ",
                                  tensor.layout().shape().to_string()),
                              "give collapsed dims the strides they need, or use fewer places",
                              {}});
}

void warn_of_cores(const Tensor& tensor, std::string_view text, Span layout, Reading& reading) {
  const Layout& core = tensor.layout();
  const std::int64_t empty =
      core.shape().empty() ? 0 : places_past_the_end(core.form()).value_or(0);
  if (empty > 0) {
    reading.findings.push_back(
        {Severity::kWarning,
         "empty_cores",
         layout,
         cat(empty, " core", unit_of(empty), " of ", core.places(), " hold", empty == 1 ? "s" : "",
             " nothing of ", core.shape().to_string()),
         cat(core.places() - empty, " core", unit_of(core.places() - empty), " hold",
             core.places() - empty == 1 ? "s" : "", " all of it: use a smaller grid"),
         {}});
  }
  const auto* const ttnn = std::get_if<notation::TtnnLayout>(&notation::terms_of(tensor));
  if (ttnn == nullptr || ttnn->core_ranges.empty() || notation::are_canonical(ttnn->core_ranges))
    return;
  reading.findings.push_back({Severity::kWarning,
                              "unusual_core_ranges",
                              core_ranges_span(text, layout),
                              "core ranges that do not fill the device row by row from (0,0)",
                              "a compiler chooses full rows and then a part of the next one",
                              {}});
}

void check_target(const Tensor& tensor, const Machine& machine, Span layout, Reading& reading) {
  const Result<target::Fit> fit = notation::fits(tensor, machine);
  if (!fit) {
    if (fit.error().code == ErrorCode::kTooLarge) return;
    reading.findings.push_back({Severity::kError,
                                std::string(code_name(fit.error().code)),
                                layout,
                                fit.error().message,
                                fit.error().help,
                                {}});
    return;
  }
  for (const target::Misfit& reason : fit->reasons) {
    std::string help;
    const bool memory = reason.code == target::Misfit::Code::kExceedsMemory ||
                        reason.code == target::Misfit::Code::kExceedsBudget;
    if (memory && fit->needed_places) {
      help =
          cat("the data alone fill ", *fit->needed_places, " place", unit_of(*fit->needed_places));
    } else if (reason.code == target::Misfit::Code::kMeshTooLarge) {
      help = cat(machine.name, " is ", machine.shape().to_string());
    }
    reading.findings.push_back({Severity::kError,
                                std::string(target::misfit_name(reason.code)),
                                layout,
                                cat(tensor.layout().shape().to_string(), " does not fit ",
                                    machine.name, ": ", reason.message),
                                std::move(help),
                                {}});
  }
}

}  // namespace

void add_warnings(const Tensor& tensor, std::string_view text, std::size_t layout,
                  const CheckOptions& options, Reading& reading) {
  const Span span = layout_span(text, layout);
  warn_of_waste(tensor, span, options.most_waste, reading);
  warn_of_cores(tensor, text, span, reading);
  if (options.target != nullptr) check_target(tensor, *options.target, span, reading);
}

}  // namespace tessera::check
