// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

/// Where the boxes of a graph without cycles are drawn, and the lines between them.
namespace tessera::tools {

struct DrawnBox {
  double width = 0;
  double height = 0;
  double x = 0;  ///< of the left edge
  double y = 0;  ///< of the top edge
};

struct DrawnPoint {
  double x = 0;
  double y = 0;
};

/// A line from the bottom of one box to the top of another, through points whose y never decreases.
/// Between two points with one x it is straight, else it begins and ends vertically.
struct DrawnLine {
  std::size_t from = 0;
  std::size_t to = 0;
  std::vector<DrawnPoint> points = {};
};

struct LayeredDrawing {
  std::vector<DrawnBox> boxes;
  std::vector<DrawnLine> lines;
  double width = 0;
  double height = 0;
};

/// Draws boxes of these sizes and lines (from, to) between them, with from < to, in layers from top
/// to bottom (Sugiyama, Tagawa and Toda 1981): a box is as many layers down as its longest path
/// from a source has lines, and a source without readers above is just above its first reader.
/// Lines that cross a layer have a place in it. Boxes of a layer are put in order by the mean
/// position of their neighbours, as long as that leaves fewer crossings; then each is moved as
/// close to the mean of its neighbours as the order allows. Laws: boxes do not overlap; `lines` are
/// those that came in, in their order; a line enters no box; equal input gives an equal drawing.
/// Cost: in proportion to boxes and lines, times the number of layers in the worst case.
LayeredDrawing layered_drawing(std::vector<DrawnBox> boxes, std::vector<DrawnLine> lines);

}  // namespace tessera::tools
