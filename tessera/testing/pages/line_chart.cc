// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/pages/line_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <string_view>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

// In pixels of the picture.
constexpr double kPanelWidth = 330;
constexpr double kPanelHeight = 280;
constexpr double kLeft = 64;
constexpr double kTop = 36;
constexpr double kGap = 36;
constexpr double kBelow = 48;
constexpr double kKeyLine = 20;
constexpr int kKeysInRow = 2;
constexpr int kColours = 4;

// The colours of Okabe and Ito (jfly.uni-koeln.de/color), lighter on dark pages.
constexpr std::string_view kStyle =
    "<style>\n"
    "text { font: 12px sans-serif; fill: #222; }\n"
    ".title { font-weight: bold; }\n"
    ".paper { fill: #fff; }\n"
    ".axis { fill: none; stroke: #888; }\n"
    ".mark { stroke: #888; stroke-opacity: 0.25; }\n"
    ".line { fill: none; stroke-width: 2; }\n"
    ".dashed { stroke-dasharray: 6 4; }\n"
    ".c0 { stroke: #0072b2; } .c1 { stroke: #d55e00; } .c2 { stroke: #009e73; } "
    ".c3 { stroke: #777; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #ddd; } .paper { fill: #161b22; }\n"
    ".c0 { stroke: #56b4e9; } .c1 { stroke: #f09050; } .c2 { stroke: #3dd6a8; } "
    ".c3 { stroke: #aaa; }\n"
    "}\n"
    "</style>\n";

std::string fixed(double number) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.1f", number);
  return text.data();
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

/// Numbers from `least` to `most` on a logarithmic axis from `from` to `to`.
struct Axis {
  double least = 1;
  double most = 10;
  double from = 0;
  double to = 1;
  double at(double value) const {
    return from + (to - from) * std::log(value / least) / std::log(most / least);
  }
};

/// The powers of 10 around all points of all panels.
Axis height_axis(const LineChart& chart) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const ChartPanel& panel : chart.panels) {
    for (const ChartLine& line : panel.lines) {
      for (const ChartPoint& point : line.points) {
        least = std::min(least, point.y);
        most = std::max(most, point.y);
      }
    }
  }
  if (!(least <= most)) least = most = 1;
  const double down = std::floor(std::log10(least) + 1e-9);
  const double up = std::max(std::ceil(std::log10(most) - 1e-9), down + 1);
  return {std::pow(10, down), std::pow(10, up), kTop + kPanelHeight, kTop};
}

std::set<double> places_of(const ChartPanel& panel) {
  std::set<double> places;
  for (const ChartLine& line : panel.lines) {
    for (const ChartPoint& point : line.points) places.insert(point.x);
  }
  return places;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view kind = "") {
  return cat("<text x=\"", fixed(x), "\" y=\"", fixed(y), "\" text-anchor=\"", anchor, "\"",
             kind.empty() ? "" : cat(" class=\"", kind, "\""), ">", escaped(text), "</text>\n");
}

std::string class_of(const ChartLine& line) {
  return cat("line c", line.colour % kColours, line.dashed ? " dashed" : "");
}

std::string panel_text(const ChartPanel& panel, double left, const Axis& height, bool is_first) {
  const std::set<double> places = places_of(panel);
  constexpr double kInset = 14;
  const Axis width{
      places.empty() ? 1 : *places.begin(),
      places.size() < 2 ? 10 * (places.empty() ? 1 : *places.begin()) : *places.rbegin(),
      left + kInset, left + kPanelWidth - kInset};
  std::string out = text_at(left, kTop - 12, "start", panel.title, "title");
  for (double y = height.least; y <= height.most * 1.001; y *= 10) {
    const std::string at = fixed(height.at(y));
    out += cat("<line class=\"mark\" x1=\"", fixed(left), "\" y1=\"", at, "\" x2=\"",
               fixed(left + kPanelWidth), "\" y2=\"", at, "\"/>\n");
    if (is_first) out += text_at(left - 6, height.at(y) + 4, "end", short_seconds(y));
  }
  for (const double x : places) {
    const std::string at = fixed(width.at(x));
    out += cat("<line class=\"mark\" x1=\"", at, "\" y1=\"", fixed(kTop), "\" x2=\"", at,
               "\" y2=\"", fixed(kTop + kPanelHeight), "\"/>\n");
    out +=
        text_at(width.at(x), kTop + kPanelHeight + 16, "middle", std::to_string(std::llround(x)));
  }
  out += cat("<rect class=\"axis\" x=\"", fixed(left), "\" y=\"", fixed(kTop), "\" width=\"",
             fixed(kPanelWidth), "\" height=\"", fixed(kPanelHeight), "\"/>\n");
  out += text_at(left + kPanelWidth / 2, kTop + kPanelHeight + 34, "middle", panel.x_name);
  for (const ChartLine& line : panel.lines) {
    out += cat("<polyline class=\"", class_of(line), "\" points=\"");
    for (std::size_t i = 0; i < line.points.size(); ++i) {
      out += cat(i == 0 ? "" : " ", fixed(width.at(line.points[i].x)), ",",
                 fixed(height.at(line.points[i].y)));
    }
    out += "\"/>\n";
  }
  return out;
}

}  // namespace

std::string short_seconds(double seconds) {
  struct Unit {
    double scale;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {{{1, "s"}, {1e3, "ms"}, {1e6, "us"}, {1e9, "ns"}}};
  const Unit* unit = &kUnits.back();
  for (const Unit& candidate : kUnits) {
    if (seconds * candidate.scale < 0.9995) continue;
    unit = &candidate;
    break;
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.3g %s", seconds * unit->scale, unit->name);
  return text.data();
}

std::string svg_text(const LineChart& chart) {
  const auto panels = static_cast<double>(chart.panels.size());
  const std::size_t keys = chart.panels.empty() ? 0 : chart.panels.front().lines.size();
  const std::size_t key_rows = (keys + kKeysInRow - 1) / kKeysInRow;
  const double width = kLeft + panels * kPanelWidth + (panels - 1) * kGap + 16;
  const double height = kTop + kPanelHeight + kBelow + static_cast<double>(key_rows) * kKeyLine + 8;
  const Axis seconds = height_axis(chart);
  std::string out =
      cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", fixed(width), " ",
          fixed(height), "\" width=\"", fixed(width), "\" height=\"", fixed(height),
          "\" role=\"img\">\n", "<title>", escaped(chart.title), "</title>\n", kStyle,
          "<rect class=\"paper\" width=\"", fixed(width), "\" height=\"", fixed(height), "\"/>\n");
  double left = kLeft;
  for (const ChartPanel& panel : chart.panels) {
    out += panel_text(panel, left, seconds, left == kLeft);
    left += kPanelWidth + kGap;
  }
  for (std::size_t i = 0; i < keys; ++i) {
    const ChartLine& line = chart.panels.front().lines[i];
    const std::size_t row = i / kKeysInRow;
    const double x = kLeft + static_cast<double>(i % kKeysInRow) * (kPanelWidth + kGap);
    const double y = kTop + kPanelHeight + kBelow + static_cast<double>(row) * kKeyLine + 8;
    out += cat("<line class=\"", class_of(line), "\" x1=\"", fixed(x), "\" y1=\"", fixed(y),
               "\" x2=\"", fixed(x + 36), "\" y2=\"", fixed(y), "\"/>\n");
    out += text_at(x + 44, y + 4, "start", line.name);
  }
  return cat(out, "</svg>\n");
}

}  // namespace tessera::test
