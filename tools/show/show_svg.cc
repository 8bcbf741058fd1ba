// SPDX-License-Identifier: Apache-2.0
#include "tools/show/show_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/same_places.h"
#include "tools/draw/sheet.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// The letters of causes, in the order of Cause; the page of docs/explorer.md has the same.
constexpr std::array<std::string_view, kCauses> kLetters = {"Y", "G", "A", "S", "T", "R"};

std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += cat(text.empty() ? "" : ",", number);
  return text;
}

class Drawing {
 public:
  Drawing(const Tensor& tensor, const ShowFacts& facts)
      : placement_(tensor.placement), facts_(facts), names_(PlaceNames::of(tensor)) {
    const Shape& mesh = placement_.mesh();
    mesh_columns_ = mesh.rank() == 0 ? 1 : mesh[mesh.rank() - 1];
  }

  std::string draw(const Tensor& tensor) {
    const Shape& shape = placement_.shape();
    const std::string about =
        cat(shape.rank() == 0 ? "scalar" : cat("tensor ", shape.to_string()), " of ",
            dtype_name(placement_.dtype()), ", in ", tensor.notation, " notation");
    sheet_.title(about);
    sheet_.line(print_tensor(tensor));
    sheet_.line(cat(count_of(shape.elements(), "element"), ", ",
                    count_of(placement_.places(), "place"), " with ",
                    count_of(placement_.slots(), "slot"), " and ",
                    count_of(placement_.shard_bytes(), "byte"), " each"));
    draw_elements();
    draw_mesh();
    draw_memory();
    return std::move(sheet_).finish(about);
  }

 private:
  /// The number by which the notation calls a place.
  std::int64_t named(const Place& place) const {
    return names_.number_of(placement_.mesh().linear(place));
  }
  std::string style_of(std::int64_t number) const {
    return place_style(number, placement_.places(), mesh_columns_);
  }

  void draw_elements() {
    const Shape& shape = placement_.shape();
    const std::size_t rank = shape.rank();
    std::string words = "Elements by place, with their slots";
    if (rank > 2)
      words += cat(": dim ", rank - 2, " down, dim ", rank - 1, " across, the others at 0");
    sheet_.heading(words);
    if (shape.empty()) {
      sheet_.line("there are none");
      return;
    }
    const Sampled rows = sampled(rank > 1 ? shape[rank - 2] : 1, kMostDrawnElements);
    const Sampled columns = sampled(rank > 0 ? shape[rank - 1] : 1, kMostDrawnElements);
    const std::string samples = sample_words(rows, columns, "elements");
    if (!samples.empty()) sheet_.line(samples);
    SheetGrid grid{"element", sample_labels(columns), sample_labels(rows), {}};
    if (rank < 2) grid.rows = {""};
    if (rank < 1) grid.columns = {""};
    Place place;
    for (std::int64_t r = 0; r < rows.count; ++r) {
      for (std::int64_t c = 0; c < columns.count; ++c) {
        Index index(rank, 0);
        if (rank > 1) index[rank - 2] = r * rows.step;
        if (rank > 0) index[rank - 1] = c * columns.step;
        const auto [form, local] = placement_.form_at(index);
        std::int64_t slot = 0;
        form->evaluate(local, place, slot);
        grid.cells.push_back({placement_.places() == 1 ? slot_style(slot, placement_.slots())
                                                       : style_of(named(place)),
                              std::to_string(slot)});
      }
    }
    sheet_.grid(grid);
  }

  /// Whether no element is on a place; unknown where there are no classes.
  bool is_empty(const Place& place) const {
    if (!facts_.classes) return false;
    return std::ranges::any_of(*facts_.classes, [&](const PlaceClass& each) {
      return each.elements == 0 && std::ranges::any_of(each.sets, [&](const PlaceSet& set) {
               return set.contains(place);
             });
    });
  }

  void draw_mesh() {
    const Shape& mesh = placement_.mesh();
    if (mesh.rank() == 0 || placement_.places() == 0) return;
    sheet_.heading(cat("Places: a mesh of ", mesh.to_string()));
    std::int64_t across = mesh_columns_;
    if (mesh.rank() == 1 && across > kMostDrawnPlaces) {  // a long line wraps
      across = static_cast<std::int64_t>(std::sqrt(static_cast<double>(mesh_columns_)));
    }
    const std::int64_t down = (placement_.places() - 1) / across + 1;
    const Sampled rows = sampled(down, kMostDrawnPlaces);
    const Sampled columns = sampled(across, kMostDrawnPlaces);
    const std::string samples = sample_words(rows, columns, "places");
    if (!samples.empty()) sheet_.line(samples);
    SheetGrid grid{"place", sample_labels(columns), sample_labels(rows), {}};
    if (mesh.rank() != 2) std::ranges::fill(grid.rows, "");
    if (mesh.rank() == 1 && down > 1) std::ranges::fill(grid.columns, "");
    bool any_empty = false;
    for (std::int64_t r = 0; r < rows.count; ++r) {
      for (std::int64_t c = 0; c < columns.count; ++c) {
        const std::int64_t number = r * rows.step * across + c * columns.step;
        if (number >= placement_.places()) break;
        const Place place = mesh.delinear(number);
        const bool none = is_empty(place);
        any_empty = any_empty || none;
        grid.cells.push_back(
            {none ? "none" : style_of(named(place)), joined(names_.name_of(place)), none});
      }
    }
    sheet_.grid(grid);
    if (any_empty) sheet_.line("places that are struck out hold no data");
    describe_classes();
  }

  void describe_classes() {
    constexpr std::size_t kMostClasses = 6;
    if (!facts_.classes || placement_.shape().empty()) return;
    const auto& classes = *facts_.classes;
    for (std::size_t i = 0; i < std::min(classes.size(), kMostClasses); ++i) {
      const PlaceClass& each = classes[i];
      sheet_.line(cat(
          count_of(each.places, "place"), " as [", joined(names_.name_of(each.sets.front().first)),
          "]: ", count_of(each.elements, "element"), " in ", placement_.slots(), " slots"));
    }
    if (classes.size() > kMostClasses) {
      sheet_.line(cat("and ", classes.size() - kMostClasses, " more kinds of places"));
    }
  }

  /// A place that holds data, and of those one with the most padding.
  Place shown_place() const {
    if (facts_.classes) {
      const PlaceClass* emptiest = nullptr;
      for (const PlaceClass& each : *facts_.classes) {
        if (each.elements == 0) continue;
        if (emptiest == nullptr || each.elements < emptiest->elements) emptiest = &each;
      }
      if (emptiest != nullptr) return emptiest->sets.front().first;
    }
    if (placement_.shape().empty()) return Place(placement_.mesh().rank(), 0);
    const auto [form, local] = placement_.form_at(Index(placement_.shape().rank(), 0));
    Place place;
    std::int64_t slot = 0;
    form->evaluate(local, place, slot);
    return place;
  }

  /// As many slots in a row as a row of a tile has, or a row of the tensor, or what fills rows.
  std::int64_t row_width() const {
    const std::int64_t slots = placement_.slots();
    if (placement_.atom().is_tile() && placement_.atom().cols <= 64) return placement_.atom().cols;
    const std::size_t rank = placement_.shape().rank();
    const std::int64_t last = rank > 0 ? placement_.shape()[rank - 1] : 1;
    if (last >= 4 && last <= 48 && slots % last == 0) return last;
    for (const std::int64_t width : {32, 48, 40, 24, 16, 20, 12, 10, 8}) {
      if (slots % width == 0) return width;
    }
    return std::clamp<std::int64_t>(slots, 1, 32);
  }

  void draw_memory() {
    if (placement_.slots() == 0 || placement_.places() == 0) return;
    const Place place = shown_place();
    const bool is_alone = placement_.places() == 1;
    sheet_.heading(
        is_alone ? "Memory, slot by slot"
                 : cat("Memory of place [", joined(names_.name_of(place)), "], slot by slot"));
    const Sampled shown = sampled(placement_.slots(), kMostDrawnSlots);
    if (shown.step > 1) {
      sheet_.line(cat("a cell stands for ", shown.step, " slots, and shows the first of them"));
    }
    const std::int64_t width = shown.step > 1 ? 48 : std::min(row_width(), shown.count);
    SheetGrid grid{"slot", {}, {}, {}};
    for (std::int64_t c = 0; c < width; ++c) grid.columns.emplace_back();
    std::array<std::int64_t, kCauses> padding{};
    for (std::int64_t k = 0; k < shown.count; ++k) {
      const std::int64_t slot = k * shown.step;
      if (k % width == 0) grid.rows.push_back(std::to_string(slot));
      const Result<SlotContent> content = placement_.contents_at(place, slot);
      if (!content) {
        sheet_.line(cat("not drawn: ", content.error().message));
        return;
      }
      if (const auto* const indices = std::get_if<std::vector<Index>>(&*content)) {
        const std::string more = indices->size() > 1 ? cat(" +", indices->size() - 1) : "";
        grid.cells.push_back(
            {is_alone ? slot_style(slot, placement_.slots()) : style_of(named(place)),
             indices->empty() ? "" : cat(joined(indices->front()), more)});
        continue;
      }
      const Cause cause = std::get<Padding>(*content).cause;
      const auto which = static_cast<std::size_t>(cause);
      ++padding[which];
      grid.cells.push_back({std::string(cause_name(cause)), std::string(kLetters[which])});
    }
    sheet_.grid(grid);
    std::vector<std::pair<SheetCell, std::string>> entries;
    for (std::size_t i = 0; i < kCauses; ++i) {
      if (padding[i] == 0) continue;
      const auto name = std::string(cause_name(static_cast<Cause>(i)));
      entries.push_back({{name, std::string(kLetters[i])},
                         cat("padding: ", name, shown.step > 1 ? "" : cat(" (", padding[i], ")"))});
    }
    sheet_.legend(entries);
  }

  const Placement& placement_;
  const ShowFacts& facts_;
  PlaceNames names_;
  std::int64_t mesh_columns_ = 1;
  Sheet sheet_;
};

}  // namespace

std::string show_svg(const Tensor& tensor, const ShowFacts& facts) {
  return Drawing(tensor, facts).draw(tensor);
}

}  // namespace tessera::tools
