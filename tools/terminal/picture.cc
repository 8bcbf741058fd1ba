// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/picture.h"

#include <algorithm>
#include <set>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kMostRows = 6;
constexpr std::int64_t kMostColumns = 12;
constexpr std::size_t kMostLines = 4;      // in one cell
constexpr std::int64_t kMostBoxes = 4096;  // of one tile; beyond this its ranges are not listed
constexpr std::string_view kLeftOut = "...";

using Lines = std::vector<std::string>;

/// A rectangle of cells with labels, drawn with or without boxes around the cells.
struct Grid {
  std::vector<std::string> column_labels;
  std::vector<std::string> row_labels;
  std::vector<std::vector<Lines>> cells;  // by row, then column
};

struct Strokes {
  std::string_view across, down;
  std::string_view top[3], middle[3], bottom[3];  // left, crossing, right
};
constexpr Strokes kUnicode = {"─", "│", {"┌", "┬", "┐"}, {"├", "┼", "┤"}, {"└", "┴", "┘"}};
constexpr Strokes kAscii = {"-", "|", {"+", "+", "+"}, {"+", "+", "+"}, {"+", "+", "+"}};

std::string centred(std::string_view text, std::size_t width) {
  const std::size_t used = std::min(width, columns_of(text));
  const std::size_t left = (width - used) / 2;
  return cat(std::string(left, ' '), text, std::string(width - used - left, ' '));
}

std::string right_aligned(std::string_view text, std::size_t width) {
  return cat(std::string(width - std::min(width, columns_of(text)), ' '), text);
}

std::vector<std::size_t> column_widths(const Grid& grid) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < grid.column_labels.size(); ++c) {
    std::size_t width = columns_of(grid.column_labels[c]);
    for (const auto& row : grid.cells) {
      for (const std::string& line : row[c]) width = std::max(width, columns_of(line));
    }
    widths.push_back(width);
  }
  return widths;
}

std::size_t label_width(const Grid& grid) {
  std::size_t width = 0;
  for (const std::string& label : grid.row_labels) width = std::max(width, columns_of(label));
  return width;
}

/// Cells with one space on both sides and a stroke between them.
std::string draw_boxes(const Grid& grid, const Terminal& terminal) {
  const Strokes& strokes = terminal.unicode ? kUnicode : kAscii;
  const std::vector<std::size_t> widths = column_widths(grid);
  const std::size_t indent = label_width(grid) + 1;
  const auto rule = [&](const std::string_view(&ends)[3]) {
    std::string line = cat(std::string(indent, ' '), ends[0]);
    for (std::size_t c = 0; c < widths.size(); ++c) {
      for (std::size_t i = 0; i < widths[c] + 2; ++i) line += strokes.across;
      line += ends[c + 1 == widths.size() ? 2 : 1];
    }
    return line + "\n";
  };
  std::string out(indent, ' ');
  for (std::size_t c = 0; c < widths.size(); ++c) {
    out += cat(" ", centred(grid.column_labels[c], widths[c] + 2));
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += "\n" + rule(strokes.top);
  for (std::size_t r = 0; r < grid.cells.size(); ++r) {
    std::size_t height = 1;
    for (const Lines& cell : grid.cells[r]) height = std::max(height, cell.size());
    for (std::size_t line = 0; line < height; ++line) {
      out += right_aligned(line == (height - 1) / 2 ? grid.row_labels[r] : "", indent - 1);
      out += " ";
      for (std::size_t c = 0; c < widths.size(); ++c) {
        const Lines& cell = grid.cells[r][c];
        out += cat(strokes.down, " ",
                   centred(line < cell.size() ? cell[line] : std::string(), widths[c]), " ");
      }
      out += cat(strokes.down, "\n");
    }
    out += rule(r + 1 == grid.cells.size() ? strokes.bottom : strokes.middle);
  }
  return out;
}

/// Numbers in right-aligned columns, two spaces between them.
std::string draw_table(const Grid& grid) {
  const std::vector<std::size_t> widths = column_widths(grid);
  const std::size_t indent = label_width(grid);
  std::string out(indent, ' ');
  for (std::size_t c = 0; c < widths.size(); ++c) {
    out += cat("  ", right_aligned(grid.column_labels[c], widths[c]));
  }
  out += "\n";
  for (std::size_t r = 0; r < grid.cells.size(); ++r) {
    out += right_aligned(grid.row_labels[r], indent);
    for (std::size_t c = 0; c < widths.size(); ++c) {
      out += cat("  ", right_aligned(grid.cells[r][c].front(), widths[c]));
    }
    out += "\n";
  }
  return out;
}

/// Draws as many columns as fit the terminal; `cell(row, column)` makes one cell.
template <typename Cell, typename Draw>
std::string fitted(std::int64_t rows, std::int64_t columns, const Terminal& terminal,
                   const Cell& cell, const Draw& draw) {
  const std::vector<std::int64_t> shown_rows = shown_of(rows, kMostRows);
  std::string drawing;
  for (std::int64_t room = std::min(columns, kMostColumns); room >= 1; --room) {
    Grid grid;
    const std::vector<std::int64_t> shown_columns = shown_of(columns, room);
    for (const std::int64_t c : shown_columns) {
      grid.column_labels.push_back(c < 0 ? std::string(kLeftOut) : std::to_string(c));
    }
    for (const std::int64_t r : shown_rows) {
      grid.row_labels.push_back(r < 0 ? std::string(kLeftOut) : std::to_string(r));
      auto& row = grid.cells.emplace_back();
      for (const std::int64_t c : shown_columns) {
        row.push_back(r < 0 || c < 0 ? Lines{std::string(kLeftOut)} : cell(r, c));
      }
    }
    drawing = draw(grid);
    if (columns_of(drawing.substr(0, drawing.find('\n'))) <=
            static_cast<std::size_t>(terminal.width) &&
        columns_of(drawing.substr(drawing.rfind('\n', drawing.size() - 2) + 1)) <=
            static_cast<std::size_t>(terminal.width) + 1) {
      return drawing;
    }
  }
  return wrap("(the window is too narrow for a picture)", terminal, "  ", "  ");
}

/// An upper estimate of the boxes a place holds: digits in memory above a digit on the mesh each
/// open a new range.
std::int64_t boxes_estimate(const Layout& layout) {
  Checked boxes = 1;
  for (const Fold& fold : layout.form().folds) {
    const std::vector<std::int64_t> needed = fold.needed(layout.shape());
    Checked open = 1;
    Checked ranges = 1;
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (fold.cuts[k].target.is_mesh()) {
        ranges = open;
      } else {
        open *= std::max<std::int64_t>(1, needed[k]);
      }
    }
    boxes *= ranges;
  }
  return boxes.saturated();
}

/// The ranges of a tile along one dim, neighbours joined.
std::vector<std::pair<std::int64_t, std::int64_t>> ranges_along(const Tile& tile, std::size_t dim) {
  std::set<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const Box& box : tile.boxes) ranges.insert({box.from[dim], box.to[dim]});
  std::vector<std::pair<std::int64_t, std::int64_t>> joined;
  for (const auto& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, range.second);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

Lines tile_lines(const Layout& layout, const Tile& tile) {
  const Shape& shape = layout.shape();
  if (tile.elements == 0) return {"empty"};
  if (shape.rank() == 0) return {"the scalar"};
  Lines lines;
  Checked product = 1;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    const auto ranges = ranges_along(tile, dim);
    std::int64_t length = 0;
    for (const auto& [from, to] : ranges) length += to - from;
    product *= length;
    if (shape.rank() > kMostLines && length == shape[dim]) continue;
    std::string line = cat("d", dim, " ", ranges[0].first, ":", ranges[0].second);
    if (ranges.size() == 2) line += cat(" ", ranges[1].first, ":", ranges[1].second);
    if (ranges.size() > 2) line += cat(" +", ranges.size() - 1);
    if (lines.size() < kMostLines) lines.push_back(line);
  }
  // Ranges along each dim describe the tile only when it is their product.
  if (product.saturated() != tile.elements) {
    return {count_of(tile.elements, "element"), count_of(std::ssize(tile.boxes), "box", "boxes")};
  }
  if (lines.empty()) lines.emplace_back("all");
  return lines;
}

Lines place_lines(const Layout& layout, const std::optional<std::vector<PlaceClass>>& classes,
                  const Place& place) {
  if (boxes_estimate(layout) <= kMostBoxes) {
    if (const Result<Tile> tile = tile_of(layout, place)) return tile_lines(layout, *tile);
  }
  for (const PlaceClass& c : classes.value_or(std::vector<PlaceClass>{})) {
    for (const PlaceSet& set : c.sets) {
      if (set.contains(place)) return {count_of(c.elements, "element")};
    }
  }
  return {"?"};
}

std::string mesh_picture(const Layout& layout, const PlaceNames& names,
                         const std::optional<std::vector<PlaceClass>>& classes,
                         const Terminal& terminal) {
  const Shape& mesh = layout.mesh();
  const std::size_t rank = mesh.rank();
  const std::int64_t columns = mesh[rank - 1];
  const std::int64_t rows = rank > 1 ? mesh[rank - 2] : 1;
  std::string title = rank == 1   ? "places along mesh axis 0"
                      : rank == 2 ? "places: mesh axis 0 down, axis 1 across"
                                  : cat("places: mesh axis ", rank - 2, " down, axis ", rank - 1,
                                        " across, the other axes at 0");
  const auto cell = [&](std::int64_t row, std::int64_t column) {
    Place place(rank, 0);
    place[rank - 1] = column;
    if (rank > 1) place[rank - 2] = row;
    return place_lines(layout, classes, names.place_of(place));
  };
  return wrap(title, terminal, "", "") +
         fitted(rows, columns, terminal, cell,
                [&](const Grid& grid) { return draw_boxes(grid, terminal); });
}

std::string slot_picture(const Layout& layout, const Terminal& terminal) {
  const Shape& shape = layout.shape();
  const std::size_t rank = shape.rank();
  const std::int64_t columns = rank > 0 ? shape[rank - 1] : 1;
  const std::int64_t rows = rank > 1 ? shape[rank - 2] : 1;
  const std::string title = rank == 0   ? "the slot of the scalar"
                            : rank == 1 ? "slots along dim 0"
                            : rank == 2 ? "slots: dim 0 down, dim 1 across"
                                        : cat("slots: dim ", rank - 2, " down, dim ", rank - 1,
                                              " across, the other dims at 0");
  const auto cell = [&](std::int64_t row, std::int64_t column) {
    Index index(rank, 0);
    if (rank > 0) index[rank - 1] = column;
    if (rank > 1) index[rank - 2] = row;
    Place place;
    std::int64_t slot = 0;
    layout.form().evaluate(index, place, slot);
    return Lines{std::to_string(slot)};
  };
  return wrap(title, terminal, "", "") + fitted(rows, columns, terminal, cell, draw_table);
}

}  // namespace

std::vector<std::int64_t> shown_of(std::int64_t total, std::int64_t room) {
  std::vector<std::int64_t> shown;
  if (total <= room) {
    for (std::int64_t i = 0; i < total; ++i) shown.push_back(i);
    return shown;
  }
  const std::int64_t head = std::max<std::int64_t>(1, room - 2);
  for (std::int64_t i = 0; i < head; ++i) shown.push_back(i);
  shown.push_back(-1);
  if (room > 2) shown.push_back(total - 1);
  return shown;
}

std::string picture(const Layout& layout, const PlaceNames& names,
                    const std::optional<std::vector<PlaceClass>>& classes,
                    const Terminal& terminal) {
  if (layout.shape().empty() || layout.places() == 0) return "";
  if (layout.mesh().rank() > 0) return mesh_picture(layout, names, classes, terminal);
  return slot_picture(layout, terminal);
}

}  // namespace tessera::tools
