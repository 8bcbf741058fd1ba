// SPDX-License-Identifier: Apache-2.0
#include "tools/show/show_text.h"

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/same_places.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// "dim 0 (53 long)", "the line 96*d0 + d1 (767 long)".
std::string line_name(const Fold& fold, const Shape& shape) {
  const std::int64_t extent = fold.extent(shape);
  if (fold.terms.empty()) return "no dim (a separate digit)";
  if (fold.terms.size() == 1 && fold.terms[0].coef == 1 && fold.start == 0) {
    return cat("dim ", fold.terms[0].dim, " (", extent, " long)");
  }
  std::string sum;
  for (const Term& term : fold.terms) {
    if (!sum.empty()) sum += term.coef < 0 ? " - " : " + ";
    if (sum.empty() && term.coef < 0) sum += "-";
    const std::string magnitude = std::to_string(term.coef);
    const std::string_view digits =
        std::string_view(magnitude).substr(magnitude.front() == '-' ? 1 : 0);
    if (digits != "1") sum += cat(digits, "*");
    sum += cat("d", term.dim);
  }
  if (fold.start != 0) sum += cat(" + ", fold.start);
  return cat("the line ", sum, " (", extent, " long)");
}

std::string apart(std::int64_t stride, std::string_view unit) {
  return cat(stride, " ", unit, stride == 1 ? "" : "s", " apart");
}

/// What one cut does with pieces of its width: the data fill `needed` of them, and `left` points of
/// the line reach this cut.
std::string cut_phrase(const Cut& cut, std::int64_t needed, std::int64_t left) {
  const std::string pieces = cut.width == 1 ? "single elements" : cat("pieces of ", cut.width);
  if (cut.target.is_nothing()) return cat(pieces, " are numbered but not placed");
  const bool ragged = left > cut.width && left % cut.width != 0;
  const std::string last = ragged ? cat(", the last holds ", left % cut.width) : "";
  if (cut.target.is_mesh()) {
    const std::string step = cut.stride == 1 ? "" : cat(", ", apart(cut.stride, "place"));
    const std::string used = cut.count == needed
                                 ? count_of(needed, "place")
                                 : cat(needed, " of ", count_of(cut.count, "place"), " used");
    return cat(pieces, " go to mesh axis ", cut.target.axis(), step, " (", used, last, ")");
  }
  const std::string_view unit = cut.width == 1               ? "element"
                                : cut.cause == Cause::kTile  ? "tile"
                                : cut.cause == Cause::kStick ? "stick"
                                                             : "block";
  if (cut.width > 1 && cut.count == 1) {
    const std::string used = left < cut.width ? cat(" (", left, " used)") : "";
    return cat("in one ", unit, " of ", cut.width, used);
  }
  const std::string size = cut.width > 1 ? cat(" of ", cut.width) : "";
  const std::string room = cut.count == needed ? "" : cat(", room for ", cut.count);
  return cat(count_of(needed, unit), size, ", ", apart(cut.stride, "slot"), room, last);
}

std::string fold_sentence(const Fold& fold, const Shape& shape) {
  std::string sentence = cat(line_name(fold, shape), ": ");
  const std::vector<std::int64_t> needed = fold.needed(shape);
  std::int64_t left = fold.extent(shape);
  if (left == 0) return cat(sentence, "empty");
  for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
    if (k > 0) sentence += "; ";
    sentence += cut_phrase(fold.cuts[k], needed[k], left);
    left = std::min(left, fold.cuts[k].width);
  }
  return sentence;
}

std::string fill_sentence(const Fill& fill) {
  const std::string axis = cat("mesh axis ", fill.axis, ": ");
  if (fill.kind == Fill::Kind::kFixed) return cat(axis, "data are at coordinate ", fill.value);
  std::string count = count_of(fill.count, "place");
  if (fill.stride != 1) count += cat(", ", apart(fill.stride, "place"));
  if (fill.kind == Fill::Kind::kReplicate) return cat(axis, "every element is copied to ", count);
  return cat(axis, "each of ", count, " holds a partial ", reduction_name(fill.reduction));
}

std::string set_text(const PlaceSet& set) {
  if (set.loops.empty()) return bracketed(set.first);
  if (set.is_rectangle()) {
    Place last = set.first;
    for (const PlaceLoop& loop : set.loops) {
      last[static_cast<std::size_t>(loop.axis)] += loop.count - 1;
    }
    return cat(bracketed(set.first), "..", bracketed(last));
  }
  std::string text = cat("from ", bracketed(set.first));
  for (const PlaceLoop& loop : set.loops) {
    text += cat(", ", loop.count, " along axis ", loop.axis);
    if (loop.stride != 1) text += cat(" ", loop.stride, " apart");
  }
  return text;
}

std::string causes_text(const PaddingCount& padding) {
  std::string text;
  for (std::size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (padding[cause] == 0) continue;
    text += cat(text.empty() ? "" : ", ", cause_name(cause), " ", padding[cause]);
  }
  return text;
}

/// The places of a class in sets that are easy to name: runs, where places have other names.
std::vector<PlaceSet> named_sets(const PlaceClass& c, const PlaceNames& names) {
  if (names.are_places()) return c.sets;
  std::vector<std::int64_t> numbers;
  for (const PlaceSet& set : c.sets) {
    for (const Place& place : set.places()) numbers.push_back(names.name_of(place)[0]);
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<PlaceSet> runs;
  for (const std::int64_t number : numbers) {
    if (!runs.empty() && runs.back().first[0] + runs.back().count() == number) {
      runs.back().loops = {{0, runs.back().count() + 1, 1}};
    } else {
      runs.push_back({{number}, {}});
    }
  }
  return runs;
}

std::string class_sentence(const Layout& layout, const PlaceNames& names, const PlaceClass& c,
                           std::int64_t most) {
  constexpr std::size_t kShownSets = 3;
  std::string where;
  const std::vector<PlaceSet> sets = named_sets(c, names);
  for (std::size_t i = 0; i < std::min(sets.size(), kShownSets); ++i) {
    where += cat(i == 0 ? "" : " and ", set_text(sets[i]));
  }
  if (sets.size() > kShownSets) where += cat(" and ", sets.size() - kShownSets, " more sets");
  const std::string_view kind = c.elements == 0 ? "empty" : c.elements == most ? "full" : "partial";
  std::string sentence = cat(count_of(c.places, "place"), " ", where, ": ");
  if (c.elements == 0) return sentence + "empty";
  sentence += cat(kind, ", ", count_of(c.elements, "element"));
  const Result<PaddingCount> padding = padding_at(layout, c.sets.front().first);
  if (padding && padding->total > 0) sentence += cat(", padding ", causes_text(*padding));
  return sentence;
}

std::string storage_sentence(const Placement& placement) {
  const Atom& atom = placement.atom();
  const Layout* layout = placement.layout();
  std::string sentence = cat("stored as ", dtype_name(atom.storage));
  if (atom.is_tile()) sentence += cat(" in tiles of ", atom.rows, "x", atom.cols);
  if (layout != nullptr && !layout->spec().space.empty()) {
    sentence += cat(", in memory space ", layout->spec().space);
  }
  if (placement.view() != nullptr) sentence += ", a view: elements may share a slot";
  if (placement.mesh().rank() == 0) return sentence + ", on one place";
  return sentence + cat(", on a mesh of ", placement.mesh().to_string(), " (",
                        count_of(placement.places(), "place"), ")");
}

/// "box 0..1, 3..4".
std::string box_text(const Box& box) {
  std::string text;
  for (std::size_t dim = 0; dim < box.from.size(); ++dim) {
    text += cat(dim == 0 ? "" : ", ", box.from[dim], "..", box.to[dim] - 1);
  }
  return cat("elements [", text, "]");
}

std::vector<std::string> form_sentences(const Form& form) {
  std::vector<std::string> sentences;
  for (const Fold& fold : form.folds) sentences.push_back(fold_sentence(fold, form.shape));
  for (const Fill& fill : form.fills) sentences.push_back(fill_sentence(fill));
  if (form.offset != 0) sentences.push_back(cat("the first slot used is ", form.offset));
  return sentences;
}

}  // namespace

std::string show_text(const Tensor& tensor, const ShowFacts& facts, const NotationFacts& specific,
                      const Terminal& terminal) {
  const Placement& layout = tensor.placement;
  const auto paragraph = [&](std::string_view text) { return wrap(text, terminal, "  ", "    "); };
  const auto heading = [&](std::string_view text) {
    const std::string lines = wrap(text, terminal, "", "  ");
    return cat(paint(terminal, Paint::kHeading, lines.substr(0, lines.size() - 1)), "\n");
  };
  const std::string shape =
      layout.shape().rank() == 0 ? "scalar" : cat("tensor ", layout.shape().to_string());
  const auto warn = [&](const Warning& warning) {
    const std::string text =
        wrap(cat("warning[", warning.code, "]: ", warning.message), terminal, "", "  ");
    return cat(paint(terminal, Paint::kWarning, text.substr(0, text.size() - 1)), "\n");
  };
  std::string out;
  for (const Warning& warning : facts.warnings) {
    if (warning.code == "shared_slot") out += warn(warning);
  }
  out += heading(
      cat(shape, " of ", dtype_name(layout.dtype()), ", in ", tensor.notation, " notation"));
  out += paragraph(storage_sentence(layout));

  constexpr std::size_t kShownPieces = 6;
  const std::vector<FormPiece> pieces = form_pieces(layout);
  for (std::size_t i = 0; i < std::min(pieces.size(), kShownPieces); ++i) {
    const bool whole = layout.pieces() == nullptr;
    out +=
        heading(whole ? "where elements go"
                      : cat("where ", box_text(pieces[i].box), " go, counted from their corner"));
    for (const std::string& sentence : form_sentences(*pieces[i].form)) out += paragraph(sentence);
  }
  if (pieces.size() > kShownPieces) {
    out +=
        heading(cat("and ", pieces.size() - kShownPieces, " more boxes (all in the native text)"));
  }

  if (!specific.lines.empty()) out += heading(cat("in the terms of ", specific.name));
  constexpr std::size_t kShownLines = 12;
  for (std::size_t i = 0; i < std::min(specific.lines.size(), kShownLines); ++i) {
    out += paragraph(specific.lines[i]);
  }
  if (specific.lines.size() > kShownLines) {
    out += paragraph(cat("and ", specific.lines.size() - kShownLines, " more (all with --json)"));
  }

  out += heading("sizes");
  out += paragraph(cat("data: ", count_of(layout.shape().elements(), "element"), ", ",
                       count_of(facts.logical_bytes, "byte")));
  out += paragraph(cat("per place: ", count_of(layout.slots(), "slot"), ", ",
                       count_of(specific.shard_bytes.value_or(layout.shard_bytes()), "byte")));
  out += paragraph(cat("all places: ", count_of(layout.allocated_bytes(), "byte")));
  std::string padding = "padding: too many slots to examine";
  if (facts.padding_elements) {
    padding = cat("padding: ", count_of(*facts.padding_elements, "element"));
  }
  if (facts.padding && facts.padding->total > 0) {
    padding += cat(" (", causes_text(*facts.padding), ")");
  }
  out += paragraph(padding);

  if (facts.classes && layout.mesh().rank() > 0 && !layout.shape().empty()) {
    constexpr std::size_t kShownClasses = 9;
    out += heading("kinds of places");
    const PlaceNames names = PlaceNames::of(tensor);
    std::int64_t most = 0;
    for (const PlaceClass& c : *facts.classes) most = std::max(most, c.elements);
    for (std::size_t i = 0; i < std::min(facts.classes->size(), kShownClasses); ++i) {
      out += paragraph(class_sentence(*layout.layout(), names, (*facts.classes)[i], most));
    }
    if (facts.classes->size() > kShownClasses) {
      out += paragraph(cat("and ", facts.classes->size() - kShownClasses, " more kinds"));
    }
  }
  for (const Warning& warning : facts.warnings) {
    if (warning.code != "shared_slot") out += warn(warning);
  }
  return out;
}

}  // namespace tessera::tools
