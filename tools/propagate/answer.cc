// SPDX-License-Identifier: Apache-2.0
#include "tools/propagate/answer.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/convert.h"
#include "tessera/target/fit.h"
#include "tools/terminal/text.h"
#include "tools/terminal/times.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kListed = 8;  // shares, boxes and sets of places in a text

Json texts_json(const Asked& asked, const std::vector<std::optional<Layout>>& layouts) {
  Json json = Json::array();
  for (const std::optional<Layout>& layout : layouts) {
    json.push_back(layout ? Json(tensor_text(asked, *layout)) : Json());
  }
  return json;
}

Json halos_json(const std::vector<ops::Halo>& halos) {
  Json json = Json::array();
  for (const ops::Halo& halo : halos) {
    json.push_back(std::vector<std::int64_t>{halo.before, halo.after});
  }
  return json;
}

bool is_needed(const std::vector<ops::Halo>& halos) {
  return std::ranges::any_of(halos, [](const ops::Halo& halo) { return halo != ops::Halo{}; });
}

/// The input that needs a halo, or the first.
std::size_t halo_input(const ops::Answer& answer) {
  const auto found = std::ranges::find_if(answer.halos, is_needed);
  return found == answer.halos.end() ? 0 : static_cast<std::size_t>(found - answer.halos.begin());
}

Json places_json(const PlaceSet& set) {
  Json json;
  json["from"] = set.first;
  Place to = set.first;
  for (const PlaceLoop& loop : set.loops) {
    to[static_cast<std::size_t>(loop.axis)] += loop.stride * (loop.count - 1);
  }
  json["to"] = to;
  if (set.is_rectangle()) return json;
  json["loops"] = Json::array();
  for (const PlaceLoop& loop : set.loops) {
    json["loops"].push_back({{"axis", loop.axis}, {"count", loop.count}, {"step", loop.stride}});
  }
  return json;
}

Json boxes_json(const std::vector<std::vector<Box>>& operands) {
  Json json = Json::array();
  for (const std::vector<Box>& boxes : operands) {
    Json list = Json::array();
    for (const Box& box : boxes) list.push_back({{"from", box.from}, {"to", box.to}});
    json.push_back(std::move(list));
  }
  return json;
}

Json share_json(const ops::Share& share) {
  Json json;
  json["places"] = Json::array();
  for (const PlaceSet& set : share.places) json["places"].push_back(places_json(set));
  json["count"] = share.count();
  json["iterations"] = share.iterations;
  json["flops"] = share.flops;
  json["read_bytes"] = share.read_bytes;
  json["made_bytes"] = share.made_bytes;
  json["example"] = share.example;
  json["boxes"] = boxes_json(share.inputs);
  json["output_boxes"] = boxes_json(share.outputs);
  json["elements"] = share.input_elements;
  json["output_elements"] = share.output_elements;
  std::int64_t scratch = 0;
  for (const std::int64_t bytes : share.scratch_bytes) scratch += bytes;
  json["scratch_bytes"] = scratch;
  return json;
}

/// "i over axis 0 in blocks of 2", ..; "repeated over axis 1".
std::vector<std::string> work_parts(const ops::Answer& answer) {
  std::vector<std::string> parts;
  const Form& form = answer.work->form();
  for (const Fold& fold : form.folds) {
    std::string line;
    for (const Term& term : fold.terms) {
      const std::string& name = answer.loops.factors[static_cast<std::size_t>(term.dim)].name;
      line += cat(line.empty() ? "" : " + ", term.coef == 1 ? "" : cat(term.coef, "·"), name);
    }
    if (fold.start != 0) line += cat(" + ", fold.start);
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      if (!cut.target.is_mesh() || needed[k] <= 1) continue;
      const bool dealt = k > 0 && needed[k - 1] > 1;
      parts.push_back(cat(line, dealt ? " dealt" : "", " over mesh axis ", cut.target.axis(),
                          cut.stride == 1 ? "" : cat(" (every ", cut.stride, ")"), ", ", cut.width,
                          dealt ? " at a time" : " on each"));
    }
  }
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed) {
      if (form.mesh[static_cast<std::size_t>(fill.axis)] <= 1) continue;
      parts.push_back(cat("at coordinate ", fill.value, " of mesh axis ", fill.axis));
    } else if (fill.count > 1) {
      parts.push_back(cat("repeated on ", fill.count, " coordinates of mesh axis ", fill.axis));
    }
  }
  return parts;
}

/// "[0, 0]..[3, 3]"; with steps, axis by axis: "[0..3, 1..7 by 2]".
std::string places_text(const PlaceSet& set) {
  if (set.loops.empty()) return bracketed(set.first);
  if (set.is_rectangle()) {
    Place to = set.first;
    for (const PlaceLoop& loop : set.loops) {
      to[static_cast<std::size_t>(loop.axis)] += loop.stride * (loop.count - 1);
    }
    return cat(bracketed(set.first), "..", bracketed(to));
  }
  std::string text;
  for (std::size_t axis = 0; axis < set.first.size(); ++axis) {
    std::string of_axis;
    for (const PlaceLoop& loop : set.loops) {
      if (static_cast<std::size_t>(loop.axis) != axis) continue;
      const std::int64_t from = of_axis.empty() ? set.first[axis] : 0;
      of_axis +=
          cat(of_axis.empty() ? "" : " + ", from, "..", from + loop.stride * (loop.count - 1),
              loop.stride == 1 ? "" : cat(" by ", loop.stride));
    }
    if (of_axis.empty()) of_axis = cat(set.first[axis]);
    text += cat(text.empty() ? "[" : ", ", of_axis);
  }
  return text + "]";
}

/// Up to kListed items, and how many more there are.
template <typename T, typename Text>
std::string listed(const std::vector<T>& items, std::string_view separator, const Text& text) {
  std::string out;
  for (std::size_t i = 0; i < std::min(items.size(), kListed); ++i) {
    out += cat(i == 0 ? "" : separator, text(items[i]));
  }
  return items.size() > kListed ? cat(out, separator, "and ", items.size() - kListed, " more")
                                : out;
}

/// "[0:14, 0:224]".
std::string box_text(const Box& box) {
  std::string text = "[";
  for (std::size_t d = 0; d < box.from.size(); ++d) {
    text += cat(d == 0 ? "" : ", ", box.from[d], ":", box.to[d]);
  }
  return text + "]";
}

std::string share_text(const ops::Share& share, const Terminal& terminal) {
  const std::string where = listed(share.places, " ", places_text);
  if (share.iterations == 0) {
    return wrap(cat(count_of(share.count(), "place"), " ", where, ": idle"), terminal, "  ",
                "    ");
  }
  std::string out =
      wrap(cat(count_of(share.count(), "place"), " ", where, ": ",
               count_of(share.iterations, "iteration"), ", ", count_of(share.flops, "operation"),
               ", reads ", target::size_text(share.read_bytes), ", makes ",
               target::size_text(share.made_bytes)),
           terminal, "  ", "    ");
  const auto lines = [&](std::string_view verb, std::string_view operand,
                         const std::vector<std::vector<Box>>& operands,
                         const std::vector<std::int64_t>& elements) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      std::string boxes = operands[i].empty() ? "nothing" : listed(operands[i], " ", box_text);
      std::int64_t inside = 0;
      for (const Box& box : operands[i]) inside += box.elements();
      if (elements[i] < inside) boxes += cat(", ", elements[i], " of ", inside, " elements");
      out += wrap(cat(bracketed(share.example), " ", verb, " ", operand, " ", i, " ", boxes),
                  terminal, "    ", "      ");
    }
  };
  lines("reads", "input", share.inputs, share.input_elements);
  lines("makes", "output", share.outputs, share.output_elements);
  return out;
}

}  // namespace

std::string tensor_text(const Asked& asked, const Layout& layout) {
  for (const auto* operands : {&asked.inputs, &asked.outputs}) {
    for (const std::optional<Operand>& operand : *operands) {
      if (operand && operand->layout && *operand->layout == layout) {
        return print_tensor(*operand->tensor);
      }
    }
  }
  if (asked.notation != "native") {
    const Result<Conversion> converted = convert(Tensor{layout, "native"}, asked.notation);
    if (converted && converted->lost.empty()) return converted->text;
  }
  return print_native(layout);
}

Json propagated_json(const Asked& asked, const Propagated& propagated) {
  const ops::Answer& answer = propagated.answer;
  Json json;
  json["op"] = asked.op.name();
  json["legal"] = answer.legal;
  json["reason"] = answer.legal ? Json() : Json(answer.reason);
  json["outputs"] = Json::array();
  json["partial"] = Json::array();
  for (std::size_t o = 0; o < answer.outputs.size(); ++o) {
    json["outputs"].push_back(tensor_text(asked, answer.outputs[o]));
    for (const ops::PartialAxis& axis : ops::partial_axes(answer.outputs[o])) {
      json["partial"].push_back({{"output", static_cast<std::int64_t>(o)},
                                 {"axis", axis.axis},
                                 {"count", axis.count},
                                 {"reduction", reduction_name(axis.reduction)}});
    }
  }
  const std::size_t with_halo = halo_input(answer);
  json["halo"] = answer.halos.empty() ? Json::array() : halos_json(answer.halos[with_halo]);
  json["halo_input"] = static_cast<std::int64_t>(with_halo);
  json["local"] = Json::array();
  for (const ops::Share& share : propagated.shares) json["local"].push_back(share_json(share));
  json["alternatives"] = Json::array();
  Json bytes = Json::array();
  for (const ops::Alternative& alternative : answer.alternatives) {
    json["alternatives"].push_back(texts_json(asked, alternative.inputs));
    bytes.push_back(alternative.bytes);
  }
  json["alternative_bytes"] = std::move(bytes);
  json["alternative_seconds"] = Json::array();
  for (const ops::Alternative& alternative : answer.alternatives) {
    json["alternative_seconds"].push_back(alternative.seconds ? Json(*alternative.seconds)
                                                              : Json());
  }
  json["rule"] = propagated.rule.empty() ? Json() : Json(propagated.rule);
  json["brought"] = Json::array();
  for (const std::string& text : propagated.brought) {
    json["brought"].push_back(text.empty() ? Json() : Json(text));
  }
  json["scratch"] = Json::array();
  for (const ops::Scratch& part : propagated.scratch) {
    json["scratch"].push_back({{"name", part.name}, {"bytes", part.bytes}});
  }
  json["inputs"] = texts_json(asked, answer.inputs);
  json["loops"] = answer.loops.to_string();
  json["work"] = answer.work ? Json(work_parts(answer)) : Json();
  return json;
}

std::string propagated_text(const Asked& asked, const Propagated& propagated,
                            const Terminal& terminal) {
  const ops::Answer& answer = propagated.answer;
  const auto heading = [&](std::string_view text) {
    return cat(paint(terminal, Paint::kHeading, text), "\n");
  };
  std::string out = answer.legal
                        ? heading(cat(asked.op.name(), ": legal"))
                        : cat(paint(terminal, Paint::kError, cat(asked.op.name(), ": not legal")),
                              "\n", wrap(answer.reason, terminal, "  ", "  "));
  out += wrap(cat("loops ", answer.loops.to_string()), terminal, "  ", "    ");
  if (answer.legal && !propagated.rule.empty() && propagated.rule != "any") {
    out += wrap(cat("by '", propagated.rule, "' of ", propagated.family), terminal, "  ", "    ");
  }
  if (answer.work) {
    const std::vector<std::string> parts = work_parts(answer);
    out += wrap(cat("work ", parts.empty() ? "all on one place" : join(parts, "; ")), terminal,
                "  ", "    ");
  }
  const auto tensors = [&](std::string_view title, const auto& layouts, const auto& note) {
    if (layouts.empty()) return;
    out += heading(title);
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      const std::optional<Layout>& layout = layouts[i];
      // Never wrapped: a text that is pasted must be whole.
      out += cat("  ", i, " ", layout ? tensor_text(asked, *layout) : "not read", "\n");
      const std::string more = note(i);
      if (!more.empty()) out += wrap(more, terminal, "    ", "      ");
    }
  };
  tensors("inputs", answer.inputs, [&](std::size_t i) {
    std::string note;
    for (std::size_t d = 0; d < answer.halos[i].size(); ++d) {
      const ops::Halo& halo = answer.halos[i][d];
      if (halo == ops::Halo{}) continue;
      note += cat(note.empty() ? "" : "; ", "needs a halo along dim ", d, ": ", halo.before,
                  " before, ", halo.after, " after");
    }
    if (answer.legal && i < propagated.brought.size() && !propagated.brought[i].empty()) {
      note += cat(note.empty() ? "" : "; ", propagated.brought[i]);
    }
    return note;
  });
  const std::vector<std::optional<Layout>> outputs(answer.outputs.begin(), answer.outputs.end());
  tensors("outputs", outputs, [&](std::size_t o) {
    std::string note;
    for (const ops::PartialAxis& axis : ops::partial_axes(answer.outputs[o])) {
      note += cat(note.empty() ? "" : "; ", "a share of the ", reduction_name(axis.reduction),
                  " on each of ", axis.count, " coordinates of mesh axis ", axis.axis);
    }
    return note;
  });
  if (!propagated.shares.empty()) out += heading("each place");
  if (!propagated.scratch.empty()) {
    std::string list;
    for (const ops::Scratch& part : propagated.scratch) {
      list += cat(list.empty() ? "" : ", ", part.name, " ", target::size_text(part.bytes));
    }
    out += wrap(cat("needs up to: ", list), terminal, "  ", "    ");
  }
  for (std::size_t i = 0; i < std::min(propagated.shares.size(), kListed); ++i) {
    out += share_text(propagated.shares[i], terminal);
  }
  if (propagated.shares.size() > kListed) {
    out += cat("  and ", propagated.shares.size() - kListed, " more kinds of places (--json)\n");
  }
  if (!propagated.no_shares.empty()) {
    out += wrap(propagated.no_shares, terminal, "  ", "    ");
  }
  for (std::size_t a = 0; a < answer.alternatives.size(); ++a) {
    const ops::Alternative& other = answer.alternatives[a];
    const std::string price =
        other.seconds  ? cat(", ", seconds_text(*other.seconds), " away")
        : other.cycles ? cat(", ", static_cast<std::int64_t>(*other.cycles), " cycles away")
                       : "";
    out += heading(cat(a == 0 ? "legal instead" : "or", ", with ", target::size_text(other.bytes),
                       " of new layouts", price));
    for (std::size_t i = 0; i < other.inputs.size(); ++i) {
      if (!other.inputs[i]) continue;
      const bool given = asked.inputs[i] && asked.inputs[i]->layout;
      out += cat("  ", i,
                 other.changed[i] ? " new  "
                 : given          ? " kept "
                                  : " gets ",
                 tensor_text(asked, *other.inputs[i]), "\n");
    }
  }
  return out;
}

}  // namespace tessera::tools
