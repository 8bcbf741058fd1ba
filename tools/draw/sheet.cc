// SPDX-License-Identifier: Apache-2.0
#include "tools/draw/sheet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numbers>

#include "tessera/base/text.h"
#include "tools/terminal/svg.h"

namespace tessera::tools {
namespace {

// In pixels.
constexpr double kMargin = 16;
constexpr double kWidth = 1180;  ///< of the widest grid, if its cells can be small enough
constexpr double kHeight = 560;
constexpr double kLeastCell = 8;
constexpr double kMostWide = 56;
constexpr double kMostHigh = 18;
constexpr double kLetter = 6.1;  ///< of 10 pixels, in a font of equal widths
constexpr double kLabelHigh = 12;
constexpr std::size_t kMostLetters = 148;
constexpr std::size_t kMostLabel = 24;

constexpr std::int64_t kHues = 24;
constexpr std::int64_t kSteps = 12;
constexpr std::int64_t kAcross = 12;  ///< hues of a large mesh along its rows
constexpr std::int64_t kDown = 4;     ///< and lightnesses down its columns

struct Oklch {
  double lightness = 0;
  double chroma = 0;
  double hue = 0;  ///< in degrees
};

int channel(double linear) {
  const double x = std::clamp(linear, 0.0, 1.0);
  const double gamma = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<int>(std::lround(255 * gamma));
}

/// "#rrggbb", by the matrices of OKLab.
std::string hex(const Oklch& colour) {
  const double angle = colour.hue * std::numbers::pi / 180;
  const double a = colour.chroma * std::cos(angle);
  const double b = colour.chroma * std::sin(angle);
  const double l = std::pow(colour.lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(colour.lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(colour.lightness - 0.0894841775 * a - 1.291485548 * b, 3);
  std::array<char, 16> text{};
  (void)std::snprintf(text.data(), text.size(), "#%02x%02x%02x",
                      channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                      channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                      channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s));
  return text.data();
}

struct Rule {
  std::string name;
  Oklch light;
  Oklch dark;
};

/// The colours of cells, for both themes.
std::vector<Rule> cell_rules() {
  std::vector<Rule> rules;
  for (std::int64_t i = 0; i < kHues; ++i) {
    const double hue = 25 + 137.508 * static_cast<double>(i);
    const double parity = i % 2 == 0 ? -0.02 : 0.04;
    rules.push_back({cat("p", i), {0.8 + parity, 0.105, hue}, {0.52 + parity, 0.1, hue}});
  }
  for (std::int64_t i = 0; i < kDown * kAcross * 2; ++i) {
    const std::int64_t band = i / 2 / kAcross;
    const double hue = 20 + 320 * static_cast<double>(i / 2 % kAcross) / kAcross;
    const double down = 0.06 * static_cast<double>(band) - 0.09;
    const double parity = i % 2 == 0 ? -0.02 : 0.02;
    rules.push_back(
        {cat("q", i), {0.79 - down + parity, 0.1, hue}, {0.5 - down + parity, 0.1, hue}});
  }
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const double t = static_cast<double>(i) / (kSteps - 1);
    const double chroma = 0.06 + 0.06 * t;
    const double hue = 250 - 170 * t;
    rules.push_back({cat("r", i), {0.93 - 0.31 * t, chroma, hue}, {0.34 + 0.2 * t, chroma, hue}});
  }
  constexpr std::array<std::pair<std::string_view, double>, 6> kCauseHues = {{{"synthetic", 300},
                                                                              {"gap", 100},
                                                                              {"alignment", 70},
                                                                              {"stick", 180},
                                                                              {"tile", 15},
                                                                              {"grid", 255}}};
  for (const auto& [name, hue] : kCauseHues) {
    rules.push_back({std::string(name), {0.91, 0.035, hue}, {0.31, 0.04, hue}});
  }
  rules.push_back({"stays", {0.94, 0.006, 220}, {0.3, 0.01, 220}});
  rules.push_back({"reordered", {0.88, 0.09, 90}, {0.42, 0.07, 90}});
  return rules;
}

/// All names are below the class of the picture, so that they mean nothing to a page around it.
const std::string& style_sheet() {
  static const std::string sheet = [] {
    const auto rule = [](std::string_view name, std::string_view what) {
      return cat(".tessera-picture .", name, "{", what, "}");
    };
    std::string out = cat(rule("back", "fill:#fbf9f5"), rule("ink", "fill:#1d2125"),
                          rule("soft", "fill:#565d64"), rule("none", "fill:none;stroke:#565d64"),
                          rule("strike", "fill:none;stroke:#565d64;stroke-opacity:.6"),
                          rule("on", "fill:#14181c"));
    std::string dark = cat(rule("back", "fill:#101418"), rule("ink", "fill:#e8eaea"),
                           rule("soft", "fill:#a4acb3"), rule("none", "fill:none;stroke:#a4acb3"),
                           rule("strike", "fill:none;stroke:#a4acb3;stroke-opacity:.6"),
                           rule("on", "fill:#ffffff"));
    for (const Rule& each : cell_rules()) {
      out += rule(each.name, cat("fill:", hex(each.light)));
      dark += rule(each.name, cat("fill:", hex(each.dark)));
    }
    return cat("<style>", out, "@media(prefers-color-scheme:dark){", dark, "}</style>\n");
  }();
  return sheet;
}

double width_of(std::string_view words) {
  const auto inside = [](char c) {  // of a code point
    return static_cast<unsigned char>(c) >= 0x80 && static_cast<unsigned char>(c) < 0xC0;
  };
  return kLetter * static_cast<double>(words.size() - static_cast<std::size_t>(
                                                          std::ranges::count_if(words, inside)));
}

double widest(const std::vector<std::string>& labels) {
  double width = 0;
  for (const std::string& label : labels) width = std::max(width, width_of(label));
  return width;
}

/// How many labels apart two are that have room beside each other.
std::size_t apart(double needed, double room) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(needed / room)));
}

}  // namespace

Sampled sampled(std::int64_t extent, std::int64_t most) {
  if (extent <= 0) return {1, 0};
  const std::int64_t step = (extent - 1) / most + 1;
  return {step, (extent - 1) / step + 1};
}

std::vector<std::string> sample_labels(const Sampled& shown) {
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < shown.count; ++i) labels.push_back(std::to_string(i * shown.step));
  return labels;
}

std::string sample_words(const Sampled& rows, const Sampled& columns, std::string_view what) {
  if (rows.step == 1 && columns.step == 1) return "";
  return cat("a cell stands for ", rows.step, " x ", columns.step, " ", what,
             ", and shows the first of them");
}

std::string place_style(std::int64_t place, std::int64_t places, std::int64_t columns) {
  if (places <= kHues) return cat("p", place % kHues);
  const std::int64_t row = place / std::max<std::int64_t>(columns, 1);
  const std::int64_t column = place % std::max<std::int64_t>(columns, 1);
  const auto share = [](std::int64_t at, std::int64_t of, std::int64_t steps) {
    const double t = static_cast<double>(at) / static_cast<double>(std::max<std::int64_t>(of, 1));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(t * static_cast<double>(steps)), 0,
                                    steps - 1);
  };
  const std::int64_t across = share(column, columns, kAcross);
  const std::int64_t down = share(row, places / std::max<std::int64_t>(columns, 1), kDown);
  return cat("q", (down * kAcross + across) * 2 + (row + column) % 2);
}

std::string slot_style(std::int64_t slot, std::int64_t slots) {
  const double t = slots > 1 ? static_cast<double>(slot) / static_cast<double>(slots) : 0;
  return cat("r", std::clamp<std::int64_t>(static_cast<std::int64_t>(t * kSteps), 0, kSteps - 1));
}

void Sheet::text(double x, double y, std::string_view style, std::string_view words) {
  body_ += cat("<text class=\"", style, "\" x=\"", svg_number(x), "\" y=\"", svg_number(y), "\">",
               svg_text(words, kMostLetters), "</text>\n");
}

void Sheet::title(std::string_view words) {
  y_ += 22;
  body_ += cat("<text class=\"ink\" x=\"0\" y=\"", svg_number(y_),
               "\" font-size=\"14\" font-weight=\"bold\">", svg_text(words, 100), "</text>\n");
}

void Sheet::heading(std::string_view words) {
  y_ += 28;
  body_ += cat("<text class=\"ink\" x=\"0\" y=\"", svg_number(y_),
               "\" font-size=\"12\" font-weight=\"bold\">", svg_text(words, 120), "</text>\n");
}

void Sheet::line(std::string_view words) {
  y_ += 15;
  width_ = std::max(width_, std::min(width_of(words), kLetter * kMostLetters));
  text(0, y_, "soft", words);
}

void Sheet::grid(const SheetGrid& grid) {
  if (grid.cells.empty() || grid.columns.empty()) return;
  const auto columns = static_cast<double>(grid.columns.size());
  const auto rows = static_cast<double>(grid.rows.size());
  double label = 0;
  for (const SheetCell& cell : grid.cells) label = std::max(label, width_of(cell.label));
  const double wide = std::clamp(std::min(label + 6, kWidth / columns), kLeastCell, kMostWide);
  const double high = std::clamp(kHeight / rows, kLeastCell, kMostHigh);
  const double left = widest(grid.rows) + 8;
  y_ += 8;
  if (widest(grid.columns) > 0) y_ += kLabelHigh;
  const double top = y_;
  body_ += "<g text-anchor=\"middle\">\n";
  const std::size_t each_column = apart(widest(grid.columns) + 6, wide);
  for (std::size_t c = 0; c < grid.columns.size(); c += each_column) {
    if (grid.columns[c].empty()) continue;
    text(left + wide * (static_cast<double>(c) + 0.5), top - 4, "soft", grid.columns[c]);
  }
  for (std::size_t k = 0; k < grid.cells.size(); ++k) {
    const SheetCell& cell = grid.cells[k];
    const double x = left + wide * static_cast<double>(k % grid.columns.size());
    const std::size_t row = k / grid.columns.size();
    const double y = top + high * static_cast<double>(row);
    body_ += cat("<rect class=\"", grid.kind, " ", cell.style, "\" x=\"", svg_number(x + 0.5),
                 "\" y=\"", svg_number(y + 0.5), "\" width=\"", svg_number(wide - 1),
                 "\" height=\"", svg_number(high - 1), "\"/>\n");
    if (cell.is_struck_out) {
      body_ += cat("<path class=\"strike\" d=\"M", svg_number(x + 1), " ", svg_number(y + high - 1),
                   "L", svg_number(x + wide - 1), " ", svg_number(y + 1), "\"/>\n");
    }
    const bool fits = width_of(cell.label) + 2 <= wide && high >= kLabelHigh;
    if (!fits || cell.label.empty() || cell.label.size() > kMostLabel) continue;
    text(x + wide / 2, y + high / 2 + 3.5, cell.is_struck_out ? "soft" : "on", cell.label);
  }
  body_ += "</g>\n<g text-anchor=\"end\">\n";
  const std::size_t each_row = apart(kLabelHigh, high);
  for (std::size_t r = 0; r < grid.rows.size(); r += each_row) {
    if (grid.rows[r].empty()) continue;
    text(left - 5, top + high * (static_cast<double>(r) + 0.5) + 3.5, "soft", grid.rows[r]);
  }
  body_ += "</g>\n";
  y_ = top + high * rows;
  width_ = std::max(width_, left + wide * columns);
}

void Sheet::legend(const std::vector<std::pair<SheetCell, std::string>>& entries) {
  if (entries.empty()) return;
  y_ += 18;
  double x = 0;
  for (const auto& [cell, words] : entries) {
    const double width = 16 + 6 + width_of(words) + 14;
    if (x > 0 && x + width > kWidth) {
      x = 0;
      y_ += 18;
    }
    body_ += cat("<rect class=\"key ", cell.style, "\" x=\"", svg_number(x), "\" y=\"",
                 svg_number(y_ - 11), "\" width=\"14\" height=\"14\"/>\n");
    if (!cell.label.empty()) text(x + 4, y_, "on", cell.label);
    text(x + 20, y_, "soft", words);
    x += width;
    width_ = std::max(width_, x);
  }
}

std::string Sheet::finish(std::string_view about) && {
  const double width = std::max(width_, 520.0) + 2 * kMargin;
  const double height = y_ + 2 * kMargin;
  // What is longer than the picture is cut off by a picture inside.
  return cat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tessera-picture\" role=\"img\" "
      "viewBox=\"0 0 ",
      svg_number(width), " ", svg_number(height), "\" width=\"", svg_number(width), "\" height=\"",
      svg_number(height),
      "\" font-family=\"ui-monospace,DejaVu Sans Mono,monospace\" font-size=\"10\">\n", "<title>",
      svg_text(about, 300), "</title>\n", style_sheet(),
      "<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n<svg x=\"", svg_number(kMargin),
      "\" width=\"", svg_number(width - 2 * kMargin), "\" height=\"", svg_number(height), "\">\n",
      body_, "</svg>\n</svg>\n");
}

}  // namespace tessera::tools
