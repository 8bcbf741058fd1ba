// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// tools/draw/: pictures of tensors as SVG, without a browser. Cells with colours and labels come
/// in, a picture goes out. What a cell means is decided by the verb that draws it.
namespace tessera::tools {

/// A cell of a grid. What its colour shows, a label or a stroke shows too.
struct SheetCell {
  /// A class of the sheet: place_style(..), slot_style(..), "tile", "stays", ..
  std::string style;
  std::string label = {};  ///< drawn where it fits
  bool is_struck_out = false;
};

/// Rows of cells. All labels beside it are drawn, or as many of them as have room.
struct SheetGrid {
  std::string kind;                  ///< the class of each cell: "element", "place" or "slot"
  std::vector<std::string> columns;  ///< labels above
  std::vector<std::string> rows;     ///< labels at the left
  std::vector<SheetCell> cells;      ///< row by row; the last row may be shorter
};

/// Every `step`-th of many rows or columns, `count` of them.
/// Laws: count <= most; (count - 1)·step < extent <= count·step; step is 1 if extent <= most.
struct Sampled {
  std::int64_t step = 1;
  std::int64_t count = 0;
};
Sampled sampled(std::int64_t extent, std::int64_t most);
/// The numbers of the rows or columns.
std::vector<std::string> sample_labels(const Sampled& shown);
/// What a cell stands for, where it stands for several; else empty.
/// Example: "a cell stands for 2 x 8 elements, and shows the first of them".
std::string sample_words(const Sampled& rows, const Sampled& columns, std::string_view what);

/// The most rows and columns of pictures of tensors and meshes, and the most slots of a memory.
inline constexpr std::int64_t kMostDrawnElements = 48;
inline constexpr std::int64_t kMostDrawnPlaces = 32;
inline constexpr std::int64_t kMostDrawnSlots = 1536;

/// The colour of a place of a mesh with `columns` places in a row. Up to 24 places all differ;
/// those of larger meshes have a hue along the row and a lightness down the column, and places
/// beside each other differ.
std::string place_style(std::int64_t place, std::int64_t places, std::int64_t columns);
/// The colour of a slot of a single place: a ramp in twelve steps.
std::string slot_style(std::int64_t slot, std::int64_t slots);

/// A picture from top to bottom: a title, lines of text, grids. Its colours suit a light or a dark
/// screen, whichever the reader has (prefers-color-scheme). Laws: well-formed XML whatever the
/// texts are; each cell is one rect with the class of its grid; equal input gives an equal picture.
class Sheet {
 public:
  void title(std::string_view words);
  void heading(std::string_view words);
  /// Text in small type; what is beyond the width of the picture is cut off.
  void line(std::string_view words);
  void grid(const SheetGrid& grid);
  /// Colours with what they mean, each with the label that its cells have.
  void legend(const std::vector<std::pair<SheetCell, std::string>>& entries);
  /// The whole picture. `about` is what a screen reader says.
  std::string finish(std::string_view about) &&;

 private:
  void text(double x, double y, std::string_view style, std::string_view words);

  double y_ = 0;
  double width_ = 0;
  std::string body_;
};

}  // namespace tessera::tools
