// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/naive.h"

#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/testing/tuples.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t line_position(const Fold& fold, const Index& index) {
  std::int64_t p = fold.start;
  for (const Term& term : fold.terms) p += term.coef * index[at(term.dim)];
  return p;
}

Place fixed_corner(const Form& form) {
  Place corner(form.mesh.rank(), 0);
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed) corner[at(fill.axis)] += fill.value;
  }
  return corner;
}

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

std::int64_t naive_extent(const Fold& fold, const Shape& shape) {
  std::int64_t last = fold.start;
  for (const Term& term : fold.terms) {
    const std::int64_t extent = shape[at(term.dim)];
    if (extent == 0) return 0;
    if (term.coef > 0) last += term.coef * (extent - 1);
  }
  return last + 1;
}

std::vector<std::int64_t> naive_needed(const Fold& fold, const Shape& shape) {
  std::vector<std::int64_t> needed;
  std::int64_t room = naive_extent(fold, shape);
  for (const Cut& cut : fold.cuts) {
    std::int64_t values = 0;
    for (std::int64_t v = 0; v < room; v += cut.width) ++values;
    needed.push_back(values);
    room = std::min(room, cut.width);
  }
  return needed;
}

NaivePosition naive_evaluate(const Form& form, const Index& index) {
  NaivePosition position;
  position.first = fixed_corner(form);
  position.slot = form.offset;
  for (const Fold& fold : form.folds) {
    std::int64_t v = line_position(fold, index);
    for (const Cut& cut : fold.cuts) {
      const std::int64_t digit = v / cut.width;
      v = v % cut.width;
      if (cut.target.is_memory()) position.slot += digit * cut.stride;
      if (cut.target.is_mesh()) position.first[at(cut.target.axis())] += digit * cut.stride;
    }
  }
  position.places = {position.first};
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed || fill.count == 1) continue;
    std::vector<Place> all;
    for (const Place& place : position.places) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        all.push_back(place);
        all.back()[at(fill.axis)] += i * fill.stride;
      }
    }
    position.places = std::move(all);
  }
  std::sort(position.places.begin(), position.places.end());
  position.places.erase(std::unique(position.places.begin(), position.places.end()),
                        position.places.end());
  return position;
}

std::vector<NaivePosition> naive_map(const Form& form) {
  std::vector<NaivePosition> map;
  for_each_tuple(form.shape.extents(), [&](const std::vector<std::int64_t>& index) {
    map.push_back(naive_evaluate(form, index));
  });
  return map;
}

std::map<Reduction, std::vector<Place>> naive_partials(const Form& form) {
  std::map<Reduction, std::vector<Place>> shares;
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count == 1) continue;
    auto& offsets = shares[fill.reduction];
    if (offsets.empty()) offsets = {Place(form.mesh.rank(), 0)};
    std::vector<Place> all;
    for (const Place& offset : offsets) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        all.push_back(offset);
        all.back()[at(fill.axis)] += i * fill.stride;
      }
    }
    std::sort(all.begin(), all.end());
    offsets = std::move(all);
  }
  return shares;
}

std::string describe(const Form& form) {
  std::string text = cat("[", form.shape.to_string(), "] mesh[", form.mesh.to_string(), "]");
  for (const Fold& fold : form.folds) text += " " + fold_text(fold);
  for (const Fill& fill : form.fills) text += " " + fill_text(fill);
  if (form.offset != 0) text += cat(" offset ", form.offset);
  return text;
}

}  // namespace tessera::test
