// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"
#include "tessera/testing/naive.h"

namespace tessera::test {
namespace {

std::string target_text(const Cut& cut) {
  if (cut.target.is_nothing()) return "nowhere";
  if (cut.target.is_memory()) return cat("mem*", cut.stride);
  return cat("m", cut.target.axis(), "*", cut.stride);
}

std::string fold_text(const Fold& fold) {
  std::string text = cat("{", fold.start);
  for (const Term& term : fold.terms) text += cat(" + ", term.coef, "·x", term.dim);
  text += "} by (";
  for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
    const Cut& cut = fold.cuts[k];
    text += cat(k == 0 ? "" : ", ", cut.width, "#", cut.count, " ", target_text(cut), " ",
                cause_name(cut.cause));
  }
  return text + ")";
}

std::string fill_text(const Fill& fill) {
  if (fill.kind == Fill::Kind::kFixed) return cat("fixed(m", fill.axis, "=", fill.value, ")");
  const bool partial = fill.kind == Fill::Kind::kPartial;
  return cat(partial ? "partial(m" : "replicate(m", fill.axis, "#", fill.count, "*", fill.stride,
             partial ? std::string(", ") + std::string(reduction_name(fill.reduction)) : "", ")");
}

}  // namespace

std::string describe(const Form& form) {
  std::string text = cat("[", form.shape.to_string(), "] mesh[", form.mesh.to_string(), "]");
  for (const Fold& fold : form.folds) text += " " + fold_text(fold);
  for (const Fill& fill : form.fills) text += " " + fill_text(fill);
  if (form.offset != 0) text += cat(" offset ", form.offset);
  return text;
}

}  // namespace tessera::test
