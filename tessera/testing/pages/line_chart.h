// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Pictures for the pages: charts with logarithmic axes as SVG; the same numbers give the same
/// text.
namespace tessera::test {

struct ChartPoint {
  double x = 1;
  double y = 1;
};

/// Points from left to right, joined. Numbers are above 0.
struct ChartLine {
  std::string name;
  int colour = 0;  ///< 0, 1, 2, ..: one of a few that also colour-blind readers can tell apart
  bool dashed = false;
  std::vector<ChartPoint> points;
};

/// One pair of axes. The marks of the x axis are at the points, those of the y axis at powers of 10
/// of a second.
struct ChartPanel {
  std::string title;
  std::string x_name;
  std::vector<ChartLine> lines;
};

/// Panels side by side with the same y axis, and below them a legend for the lines of the first.
struct LineChart {
  std::string title;  ///< for screen readers
  std::vector<ChartPanel> panels;
};

/// The chart as an SVG document: no scripts, no fonts of its own, colours for light and for dark
/// pages. Law: every point is inside its panel, one with a larger x further right, one with a
/// larger y further up.
std::string svg_text(const LineChart& chart);

/// "250 us", "1.5 ms", "20 s": three digits at most.
std::string short_seconds(double seconds);

}  // namespace tessera::test
