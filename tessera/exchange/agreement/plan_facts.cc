// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement/plan_facts.h"

#include "tessera/base/text.h"
#include "tessera/exchange/fingerprint.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/tensor.h"
#include "tessera/reshard/part.h"

namespace tessera::exchange {
namespace {

void add(Fingerprint& print, const std::vector<std::int64_t>& list) {
  print.add(static_cast<std::int64_t>(list.size()));
  for (const std::int64_t number : list) print.add(number);
}

void add(Fingerprint& print, const Form& form) {
  add(print, form.shape.extents());
  add(print, form.mesh.extents());
  print.add(form.offset);
  print.add(static_cast<std::int64_t>(form.folds.size()));
  for (const Fold& fold : form.folds) {
    print.add(fold.start);
    print.add(static_cast<std::int64_t>(fold.terms.size()));
    for (const Term& term : fold.terms) {
      print.add(term.dim);
      print.add(term.coef);
    }
    print.add(static_cast<std::int64_t>(fold.cuts.size()));
    for (const Cut& cut : fold.cuts) {
      print.add(cut.width);
      print.add(cut.count);
      print.add(cut.target.is_mesh() ? cut.target.axis() : cut.target.is_memory() ? -1 : -2);
      print.add(cut.stride);
    }
  }
  print.add(static_cast<std::int64_t>(form.fills.size()));
  for (const Fill& fill : form.fills) {
    print.add(fill.axis);
    print.add(static_cast<std::int64_t>(fill.kind));
    print.add(fill.count);
    print.add(fill.stride);
    print.add(fill.value);
    print.add(static_cast<std::int64_t>(fill.reduction));
  }
}

std::string mesh_text(const Shape& mesh) { return mesh.rank() == 0 ? "1" : mesh.to_string(); }

Fact side_fact(std::string name, const Placement& placement,
               const std::vector<reshard::ReshardPart>& parts,
               reshard::PlaceMap reshard::ReshardPart::* map) {
  Fingerprint print;
  print.add(placement.slots());
  print.add(dtype_name(placement.atom().storage));
  print.add(placement.atom().rows);
  print.add(placement.atom().cols);
  for (const FormPiece& piece : form_pieces(placement)) {
    add(print, piece.box.from);
    add(print, piece.box.to);
    add(print, *piece.form);
  }
  const reshard::PlaceMap* last = nullptr;
  for (const reshard::ReshardPart& part : parts) {
    const reshard::PlaceMap& here = part.*map;
    if (last != nullptr && here == *last) continue;
    last = &here;
    for (std::int64_t v = 0; v < here.mesh().elements(); ++v) print.add(here.physical(v));
  }
  return {std::move(name), print.value(), print_native(placement)};
}

Fact ranks_fact(std::string name, const RankMap& map) {
  return {std::move(name), map.hash(), cat(map.places(), " places on ", map.ranks(), " ranks")};
}

}  // namespace

std::vector<Fact> facts_of(const reshard::Reshard& reshard, const RankMap& from, const RankMap& to,
                           const std::string& agreed) {
  const Shape& shape = reshard.from().shape();
  Fingerprint tensor;
  add(tensor, shape.extents());
  tensor.add(dtype_name(reshard.from().dtype()));
  Fingerprint physical;
  add(physical, reshard.physical().mesh.extents());
  add(physical, reshard.physical().dead);
  Fingerprint options;
  options.add(agreed);
  return {
      {"tensor", tensor.value(),
       cat(shape.rank() == 0 ? "" : shape.to_string() + "x", dtype_name(reshard.from().dtype()))},
      side_fact("layout of A", reshard.from(), reshard.parts(), &reshard::ReshardPart::map_a),
      side_fact("layout of B", reshard.to(), reshard.parts(), &reshard::ReshardPart::map_b),
      {"mesh", physical.value(), cat(mesh_text(reshard.physical().mesh), " places")},
      ranks_fact("ranks of A's places", from),
      ranks_fact("ranks of B's places", to),
      {"options", options.value(), agreed}};
}

std::uint64_t plan_hash(const std::vector<Fact>& facts) {
  Fingerprint print;
  for (const Fact& fact : facts) {
    print.add(fact.name);
    print.add(static_cast<std::int64_t>(fact.hash));
  }
  return print.value();
}

}  // namespace tessera::exchange
