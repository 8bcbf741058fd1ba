// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/rules/equation.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/rules/rules.h"

namespace tessera::graph::rules {
namespace {

constexpr int kEllipsis = 255;

Result<std::vector<int>> read_labels(std::string_view term) {
  std::vector<int> labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.substr(i).starts_with("...")) {
      if (std::ranges::count(labels, kEllipsis) > 0) return bad("two ellipses in one term");
      labels.push_back(kEllipsis);
      i += 2;
    } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
      labels.push_back(term[i]);
    } else if (term[i] != ' ') {
      return bad(cat("a character of the equation is neither a letter nor '...'"),
                 "as in \"bij,bjk->bik\"");
    }
  }
  return labels;
}

/// Replaces an ellipsis by the labels of `dims` dims.
void expand_ellipsis(std::vector<int>& labels, std::size_t dims) {
  const auto at = std::ranges::find(labels, kEllipsis);
  if (at == labels.end()) return;
  const auto position = at - labels.begin();
  labels.erase(at);
  for (std::size_t i = 0; i < dims; ++i) {
    labels.insert(labels.begin() + position + static_cast<std::ptrdiff_t>(i),
                  kEllipsisDims + static_cast<int>(kMaxRank - dims + i));
  }
}

}  // namespace

Result<Equation> read_equation(const Call& call) {
  std::string_view text = call.text("equation");
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  while (true) {
    const std::size_t comma = left.find(',');
    TESSERA_TRY(std::vector<int> labels, read_labels(left.substr(0, comma)));
    equation.inputs.push_back(std::move(labels));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (equation.inputs.size() != call.inputs()) {
    return bad(
        cat("the equation has ", equation.inputs.size(), " terms for ", call.inputs(), " inputs"));
  }
  std::size_t most_dims = 0;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    std::vector<int>& labels = equation.inputs[i];
    const std::size_t rank = call.shape(i).rank();
    const bool open = std::ranges::count(labels, kEllipsis) > 0;
    const std::size_t named = labels.size() - (open ? 1 : 0);
    if (open ? named > rank : named != rank) {
      return bad(cat("term ", i, " of the equation has ", named, " labels for ",
                     call.type(i).to_string()));
    }
    if (open) most_dims = std::max(most_dims, rank - named);
    expand_ellipsis(labels, rank - named);
  }
  if (arrow != std::string_view::npos) {
    TESSERA_TRY(equation.output, read_labels(text.substr(arrow + 2)));
    expand_ellipsis(equation.output, most_dims);
    return equation;
  }
  // Without an arrow: the dims of the ellipsis, then the labels that occur once, by name.
  std::vector<int> labels;
  for (const auto& term : equation.inputs) labels.insert(labels.end(), term.begin(), term.end());
  std::ranges::sort(labels);
  for (std::size_t i = 0; i < most_dims; ++i) {
    equation.output.push_back(kEllipsisDims + static_cast<int>(kMaxRank - most_dims + i));
  }
  for (const int label : labels) {
    if (label < kEllipsisDims && std::ranges::count(labels, label) == 1) {
      equation.output.push_back(label);
    }
  }
  return equation;
}

Result<LabelExtents> label_extents(const Call& call, const Equation& equation) {
  LabelExtents extents;
  std::array<std::size_t, kLabels> owner{};
  extents.fill(-1);
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    for (std::size_t d = 0; d < equation.inputs[i].size(); ++d) {
      const auto label = static_cast<std::size_t>(equation.inputs[i][d]);
      const std::int64_t extent = call.shape(i)[d];
      const bool broadcasts = equation.inputs[i][d] >= kEllipsisDims;
      if (extents[label] == -1 || (broadcasts && extents[label] == 1)) {
        extents[label] = extent;
        owner[label] = i;
      } else if (extent != extents[label] && (!broadcasts || extent != 1)) {
        return disagree(call.type(owner[label]), call.type(i),
                        cat("one label has the extents ", extents[label], " and ", extent));
      }
    }
  }
  return extents;
}

}  // namespace tessera::graph::rules
