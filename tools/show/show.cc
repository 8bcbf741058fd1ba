// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <ostream>

#include "tessera/base/text.h"
#include "tools/command/command.h"
#include "tools/draw/picture_file.h"
#include "tools/json/json.h"
#include "tools/show/show_facts.h"
#include "tools/show/show_notation.h"
#include "tools/show/show_svg.h"
#include "tools/show/show_target.h"
#include "tools/show/show_text.h"
#include "tools/terminal/picture.h"
#include "tools/terminal/sharing.h"

namespace tessera::tools {
namespace {

Json fill_json(const Fill& fill) {
  Json json;
  json["axis"] = fill.axis;
  switch (fill.kind) {
    case Fill::Kind::kFixed:
      json["kind"] = "fixed";
      json["value"] = fill.value;
      return json;
    case Fill::Kind::kReplicate:
      json["kind"] = "replicate";
      break;
    case Fill::Kind::kPartial:
      json["kind"] = "partial";
      json["reduction"] = reduction_name(fill.reduction);
      break;
  }
  json["count"] = fill.count;
  json["stride"] = fill.stride;
  return json;
}

Json padding_json(const PaddingCount& padding) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (padding[cause] > 0) json[std::string(cause_name(cause))] = padding[cause];
  }
  return json;
}

Json show_json(const Tensor& tensor, const ShowFacts& facts, const NotationFacts& specific) {
  const Placement& layout = tensor.placement;
  const Atom& atom = layout.atom();
  const std::string space = layout.layout() != nullptr ? layout.layout()->spec().space : "";
  Json json;
  json["shape"] = layout.shape().extents();
  json["dtype"] = dtype_name(layout.dtype());
  json["storage_dtype"] = dtype_name(atom.storage);
  json["notation"] = tensor.notation;
  json["folded_shape"] = facts.folded_shape;
  json["mesh"] = layout.mesh().extents();
  json["shard_shape"] = specific.shard_shape.value_or(facts.shard_shape);
  json["tile"] = atom.is_tile() ? Json{atom.rows, atom.cols} : Json();
  json["atoms_shape"] = specific.atoms_shape.value_or(facts.atoms_shape);
  json["places"] = layout.places();
  json["slots"] = layout.slots();
  json["shard_bytes"] = specific.shard_bytes.value_or(layout.shard_bytes());
  json["logical_bytes"] = facts.logical_bytes;
  json["allocated_bytes"] = layout.allocated_bytes();
  json["padding_elements"] = facts.padding_elements;
  json["padding"] = facts.padding ? padding_json(*facts.padding) : Json();
  json["fill"] = Json::array();
  const Form& first = *form_pieces(layout).front().form;
  for (const Fill& fill : first.fills) json["fill"].push_back(fill_json(fill));
  json["memory_space"] = space.empty() ? Json() : Json(space);
  json["warnings"] = Json::array();
  for (const Warning& warning : facts.warnings) {
    json["warnings"].push_back({{"code", warning.code}, {"message", warning.message}});
  }
  json["shared_slot"] = facts.shared_slot ? sharing_json(*facts.shared_slot) : Json();
  if (!specific.name.empty()) json[specific.name] = specific.json;
  json["native"] = print_native(layout);
  return json;
}

Result<Verdict> run(const Request& request, Console& console) {
  const Tensor& tensor = request.tensor("tensor");
  TESSERA_CHECK_OK(check_picture_file(request));
  std::optional<TargetFit> target;
  if (request.has("target")) {
    TESSERA_TRY(target, fit_on_target(tensor, request.text("target")));
  }
  const Verdict verdict = target && !target->fit.fits() ? Verdict::kNo : Verdict::kYes;
  const ShowFacts facts = facts_of(tensor.placement);
  TESSERA_TRY(const NotationFacts specific, notation_facts(tensor));
  std::string drawn;
  if (request.has("svg")) {
    drawn = show_svg(tensor, facts);
    TESSERA_CHECK_OK(write_picture(request, drawn));
    if (is_only_answer(request, console)) {
      console.out << drawn;
      return verdict;
    }
  }
  if (console.json) {
    Json json = show_json(tensor, facts, specific);
    if (target) {
      json["target"] = target_json(*target);
      for (const Json& reason : json["target"]["reasons"]) json["warnings"].push_back(reason);
    }
    if (request.text("svg") == kPictureInAnswer) json["svg"] = drawn;
    console.out << dump(json) << '\n';
    return verdict;
  }
  const Terminal& terminal = console.terminal;
  console.out << show_text(tensor, facts, specific, terminal);
  if (const Layout* layout = tensor.placement.layout()) {
    console.out << picture(*layout, PlaceNames::of(tensor), facts.classes, terminal);
  }
  // Broken at spaces only where necessary; the parser ignores white space.
  console.out << wrap(cat("native: ", print_native(tensor.placement)), terminal, "", "  ");
  if (target) console.out << target_text(*target, terminal);
  return verdict;
}

}  // namespace

Verb show_verb() {
  Verb verb;
  verb.name = "show";
  verb.summary = "explain a layout as text, numbers and a picture";
  verb.description =
      "Describes what happens to each dim, how many bytes that takes, which slots are padding and "
      "why, and draws the tensor over its mesh. Two elements that share a slot without a stride of "
      "0 are reported first, because that is often a typo. With --json: shape, dtype, "
      "storage_dtype, "
      "notation, folded_shape, mesh, shard_shape, tile, atoms_shape, places, slots, shard_bytes, "
      "logical_bytes, allocated_bytes, padding_elements, padding, fill, memory_space, warnings, "
      "shared_slot, native, and under the notation's name the facts that only that notation has: "
      "pyflame, "
      "spyre, metal, ttnn, morello. With --target: whether it fits one place of that machine; "
      "exits with 1 when it does not.";
  verb.positionals = {{"tensor", Positional::Kind::kTensor, "the tensor to explain", {}, false}};
  verb.flags = {
      {"target", ValueKind::kText, "T",
       "the machine on which the tensor should fit: a name or a path"},
      {"svg", ValueKind::kText, "FILE",
       "draw the tensor, its places and the memory of one; - prints the picture instead"}};
  verb.examples = {"tessera show 'tensor<53x63xf32, strided<[63, 1]>>'",
                   "tessera show 'tensor<96x96xf32, strided<[96, 1]>>' --target wse2"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
