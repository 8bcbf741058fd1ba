// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/relayout/relayout_laws.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/relayout/verify.h"
#include "tessera/testing/naive.h"

namespace tessera::test {
namespace {

std::string describe_placement(const Placement& placement) {
  std::string text;
  for (const FormPiece& piece : form_pieces(placement)) {
    if (!text.empty()) text += "\n    and ";
    if (placement.pieces() != nullptr) {
      text += cat("from ", bracketed(piece.box.from), " to ", bracketed(piece.box.to), ": ");
    }
    text += describe(*piece.form);
  }
  return cat(placement.view() != nullptr ? "view " : "", text, " (", placement.slots(),
             " slots of ", dtype_name(placement.atom().storage), ")");
}

bool keeps_shares(const Placement& placement) {
  for (const FormPiece& piece : form_pieces(placement)) {
    if (!naive_partials(*piece.form).empty()) return true;
  }
  return false;
}

bool elements_share_a_slot(const Placement& placement) {
  std::set<std::pair<Place, std::int64_t>> taken;
  for (const FormPiece& piece : form_pieces(placement)) {
    for (const NaivePosition& position : naive_map(*piece.form)) {
      for (const Place& place : position.places) {
        if (!taken.insert({place, position.slot}).second) return true;
      }
    }
  }
  return false;
}

/// Whether the claim of a refusal is true; several reasons may be true, and any of them is
/// accepted.
bool refused_rightly(ErrorCode code, const Placement& from, const Placement& to) {
  if (code == ErrorCode::kShapeMismatch) return from.shape() != to.shape();
  if (code == ErrorCode::kNotSupported) return keeps_shares(from) || keeps_shares(to);
  if (code == ErrorCode::kNotInjective) return elements_share_a_slot(to);
  return code == ErrorCode::kTooLarge;
}

}  // namespace

std::string describe_pair(const Placement& from, const Placement& to,
                          relayout::PaddingRule padding) {
  return cat("\n  from ", describe_placement(from), "\n  to ", describe_placement(to),
             "\n  padding rule ", static_cast<int>(padding));
}

std::string program_mistake(const Placement& from, const Placement& to,
                            relayout::PaddingRule padding) {
  const Result<relayout::Program> program = relayout::make_program(from, to, padding);
  if (!program.ok()) {
    if (refused_rightly(program.error().code, from, to)) return "";
    return cat("refused: ", program.error().message, describe_pair(from, to, padding));
  }
  const Result<std::vector<relayout::Finding>> findings =
      relayout::verify(*program, from, to, padding);
  if (!findings.ok()) {
    return cat("not refused: ", findings.error().message, describe_pair(from, to, padding));
  }
  std::int64_t elements = 0;
  for (std::int64_t i = 0; i < program->nests(); ++i) elements += program->nest(i).elements();
  if (elements != program->elements()) {
    return cat("elements() is ", program->elements(), " but the nests have ", elements,
               describe_pair(from, to, padding));
  }
  if (findings->empty()) return "";
  std::string text;
  for (const relayout::Finding& finding : *findings) {
    text += cat(relayout::flaw_name(finding.flaw), ": ", finding.message, "\n");
  }
  return text + describe_pair(from, to, padding);
}

}  // namespace tessera::test
