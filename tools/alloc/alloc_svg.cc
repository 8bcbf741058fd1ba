// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "tessera/base/text.h"
#include "tools/alloc/alloc_print.h"
#include "tools/alloc/alloc_svg_marks.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

// In pixels: the plan, and below it the bytes over time.
constexpr double kWidth = 1200, kHeight = 800;
constexpr double kLeft = 90, kRight = 1080, kTop = 70, kBottom = 620;
constexpr double kProfileTop = 665, kProfileBottom = 760;
constexpr double kLetter = 6.4;  // of 11 pixels, on average
constexpr double kLeastEdge = 0.6;
constexpr std::size_t kMostDrawn = 3000;
constexpr std::size_t kMostAliases = 1000;
constexpr std::size_t kMostLetters = 80;  // of an id in a tooltip
constexpr double kCell = 4;               // of buffers that are drawn together
constexpr std::string_view kPeak = "#1f2937", kCapacity = "#c81e1e", kBound = "#0f766e",
                           kLive = "#2563eb";

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double area() const { return width * height; }
};

class Drawing {
 public:
  explicit Drawing(const AllocAnswer& answer) : answer_(answer) {
    const memory::Solution& solution = answer.solution;
    std::int64_t high = std::max<std::int64_t>(solution.peak, 1);
    // A capacity far above the plan would leave too little space for the plan.
    shows_capacity_ = answer.capacity && *answer.capacity / 2 <= high;
    if (shows_capacity_) high = std::max(high, *answer.capacity);
    plan_ = {kLeft, kRight, kTop, kBottom, 0, 0, high};
    if (!answer.ranges.empty()) {
      plan_.from = answer.ranges.front().from;
      plan_.to = answer.ranges.back().to;
    }
    profile_ = plan_;
    profile_.top = kProfileTop;
    profile_.bottom = kProfileBottom;
  }

  std::string draw() {
    choose();
    out_ = cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", svg_number(kWidth), " ",
               svg_number(kHeight), "\" width=\"", svg_number(kWidth), "\" height=\"",
               svg_number(kHeight),
               "\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#111827\">\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    draw_title();
    draw_axes();
    draw_together();
    for (const std::size_t i : drawn_) draw_buffer(answer_.blocks[i]);
    draw_aliases();
    draw_levels();
    draw_profile();
    return out_ + "</svg>\n";
  }

 private:
  Box box_of(const PlacedBlock& held) const {
    const double x = plan_.x_of(held.lower);
    const double y = plan_.y_of(held.end());
    return {x, y, std::max(kLeastEdge, plan_.x_of(held.upper) - x),
            std::max(kLeastEdge, plan_.y_of(held.offset) - y)};
  }

  /// The largest are drawn one by one.
  void choose() {
    drawn_.resize(answer_.blocks.size());
    std::iota(drawn_.begin(), drawn_.end(), std::size_t{0});
    if (drawn_.size() <= kMostDrawn) return;
    const auto middle = drawn_.begin() + kMostDrawn;
    std::nth_element(drawn_.begin(), middle, drawn_.end(), [&](std::size_t a, std::size_t b) {
      const double first = box_of(answer_.blocks[a]).area();
      const double second = box_of(answer_.blocks[b]).area();
      return first != second ? first > second : a < b;
    });
    together_.assign(middle, drawn_.end());
    drawn_.erase(middle, drawn_.end());
    std::sort(drawn_.begin(), drawn_.end());
  }

  void text(double x, double y, std::string_view more, std::string_view words) {
    out_ += cat("<text x=\"", svg_number(x), "\" y=\"", svg_number(y), "\"", more, ">", words,
                "</text>\n");
  }
  void line(double x1, double y1, double x2, double y2, std::string_view more) {
    out_ += cat("<path d=\"M", svg_number(x1), " ", svg_number(y1), "L", svg_number(x2), " ",
                svg_number(y2), "\" ", more, "/>\n");
  }

  void draw_title() {
    const memory::Solution& solution = answer_.solution;
    std::array<char, 48> gap{};
    std::snprintf(gap.data(), gap.size(), "%.2f", solution.gap() * 100);
    text(kLeft, 26, " font-size=\"16\" font-weight=\"bold\"",
         cat(count_of(std::ssize(answer_.file.rows), "buffer"), ", peak ", solution.peak));
    std::string words = cat("lower bound ", solution.lower_bound, ", gap ", gap.data(), " %",
                            solution.optimal ? "; no plan is lower" : "");
    if (answer_.capacity) {
      const bool fits = solution.outcome == memory::Outcome::kFits;
      words += cat("; ", fits ? "within" : "not within", " the capacity ", *answer_.capacity);
    }
    if (!together_.empty()) {
      words += cat("; the smallest ", together_.size(), " are drawn together, in grey");
    }
    text(kLeft, 46, "", words);
  }

  void draw_axes() {
    const std::string_view grid = "stroke=\"#e5e7eb\"";
    for (const Tick& tick : address_ticks(plan_.high, 8)) {
      const double y = plan_.y_of(tick.at);
      line(kLeft, y, kRight, y, grid);
      text(kLeft - 6, y + 4, " text-anchor=\"end\"", tick.label);
    }
    if (plan_.from < plan_.to) {
      for (const Tick& tick : time_ticks(plan_.from, plan_.to, 8)) {
        const double x = plan_.x_of(tick.at);
        line(x, kTop, x, kBottom, grid);
        line(x, kProfileTop, x, kProfileBottom, grid);
        text(x, kBottom + 16, " text-anchor=\"middle\"", tick.label);
        text(x, kProfileBottom + 16, " text-anchor=\"middle\"", tick.label);
      }
    }
    text(kLeft - 6, kTop - 12, " text-anchor=\"end\" fill=\"#4b5563\"", "address");
    text(kRight + 8, kBottom + 16, " fill=\"#4b5563\"", "time");
    text(kRight + 8, kProfileBottom + 16, " fill=\"#4b5563\"", "time");
  }

  /// Marks the cells that any of them touches, and draws rows of cells.
  void draw_together() {
    if (together_.empty()) return;
    const auto columns = static_cast<std::size_t>((kRight - kLeft) / kCell) + 1;
    const auto rows = static_cast<std::size_t>((kBottom - kTop) / kCell) + 1;
    std::vector<bool> cells(columns * rows, false);
    const auto cell = [](double length, std::size_t count) {
      return std::min(static_cast<std::size_t>(std::max(0.0, length) / kCell), count - 1);
    };
    for (const std::size_t i : together_) {
      const Box box = box_of(answer_.blocks[i]);
      const std::size_t last_row = cell(box.y + box.height - kTop, rows);
      const std::size_t last_column = cell(box.x + box.width - kLeft, columns);
      for (std::size_t r = cell(box.y - kTop, rows); r <= last_row; ++r) {
        for (std::size_t c = cell(box.x - kLeft, columns); c <= last_column; ++c) {
          cells[r * columns + c] = true;
        }
      }
    }
    out_ += cat("<path stroke=\"#9ca3af\" stroke-width=\"", svg_number(kCell), "\" d=\"");
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        if (!cells[r * columns + c]) continue;
        std::size_t end = c;
        while (end < columns && cells[r * columns + end]) ++end;
        const double y =
            std::min(kBottom - kCell / 2, kTop + (static_cast<double>(r) + 0.5) * kCell);
        const double x = kLeft + static_cast<double>(c) * kCell;
        const double right = std::min(kRight, kLeft + static_cast<double>(end) * kCell);
        out_ += cat("M", svg_number(x), " ", svg_number(y), "H", svg_number(right));
        c = end;
      }
    }
    out_ += cat("\"><title>", count_of(std::ssize(together_), "small buffer"), "</title></path>\n");
  }

  std::string rectangle(const Box& box, std::string_view more) const {
    return cat("<rect x=\"", svg_number(box.x), "\" y=\"", svg_number(box.y), "\" width=\"",
               svg_number(box.width), "\" height=\"", svg_number(box.height), "\" ", more, ">");
  }

  /// `held` may be less than the size of the whole, which has gaps.
  static std::string tooltip(std::string_view id, const PlacedBlock& held, std::int64_t size) {
    const std::string part = held.size < size ? cat(held.size, " of ") : "";
    return cat("<title>", svg_text(id, kMostLetters), ": ", part, count_of(size, "byte"), " at ",
               held.offset, ", from ", held.lower, " to ", held.upper, "</title>");
  }

  void draw_buffer(const PlacedBlock& held) {
    const Box box = box_of(held);
    const std::string& id = answer_.file.ids[held.buffer];
    const memory::Buffer& buffer = answer_.file.problem.buffers[held.buffer];
    const std::int64_t size = buffer.gaps.empty() ? held.size : buffer.size;
    const bool has_edge = std::min(box.width, box.height) >= 3;
    out_ += cat(rectangle(box, cat("fill=\"", svg_colour(id), "\"",
                                   has_edge ? " stroke=\"#374151\" stroke-width=\"0.6\"" : "")),
                tooltip(id, held, size), "</rect>\n");
    draw_label(box, id);
  }

  /// The id across, upright where only that fits, or shortened; the same letters as the tooltip.
  void draw_label(const Box& box, std::string_view id) {
    const double letters = kLetter * static_cast<double>(columns_of(id)) + 6;
    const double x = box.x + box.width / 2;
    const double y = box.y + box.height / 2;
    const std::string_view style = " text-anchor=\"middle\" pointer-events=\"none\"";
    if (box.height >= 13 && box.width >= std::min(letters, 6 * kLetter + 6)) {
      const double room = (box.width - 6) / kLetter;
      text(x, y + 4, style,
           svg_text(id, letters <= box.width ? kMostLetters
                                             : static_cast<std::size_t>(std::max(1.0, room - 2))));
    } else if (box.width >= 13 && box.height >= letters) {
      text(x, y + 4,
           cat(style, " transform=\"rotate(-90 ", svg_number(x), " ", svg_number(y), ")\""),
           svg_text(id, kMostLetters));
    }
  }

  void draw_aliases() {
    std::size_t aliases = 0;
    for (std::size_t i = 0; i < answer_.file.rows.size(); ++i) {
      const memory::Buffer& buffer = answer_.file.problem.buffers[i];
      if (!buffer.alias || buffer.size == 0 || ++aliases > kMostAliases) continue;
      const std::int64_t offset = answer_.solution.offsets[i];
      const PlacedBlock part{buffer.lower, buffer.upper, offset, buffer.size, i, 0};
      out_ += cat(rectangle(box_of(part),
                            "fill=\"#ffffff\" fill-opacity=\"0.25\" stroke=\"#111827\" "
                            "stroke-width=\"0.8\" stroke-dasharray=\"4 2\""),
                  tooltip(answer_.file.ids[i], part, buffer.size), "</rect>\n");
      draw_label(box_of(part), answer_.file.ids[i]);
    }
    if (aliases <= kMostAliases) return;
    text(kRight, 46, " text-anchor=\"end\"",
         cat("only the first ", kMostAliases, " of ", aliases, " parts are drawn"));
  }

  void draw_levels() {
    struct Level {
      std::int64_t at;
      std::string_view name, colour, dash;
    };
    std::vector<Level> levels = {{answer_.solution.lower_bound, "lower bound", kBound, "2 3"},
                                 {answer_.solution.peak, "peak", kPeak, "none"}};
    if (shows_capacity_) levels.push_back({*answer_.capacity, "capacity", kCapacity, "8 4"});
    std::sort(levels.begin(), levels.end(),
              [](const Level& a, const Level& b) { return a.at < b.at; });
    double lowest = kBottom;  // for the next label
    for (const Level& level : levels) {
      const double y = plan_.y_of(level.at);
      line(kLeft, y, kRight, y,
           cat("stroke=\"", level.colour, "\" stroke-width=\"1.5\" stroke-dasharray=\"", level.dash,
               "\""));
      const double label = std::min(y + 4, lowest);
      text(kRight + 8, label, cat(" fill=\"", level.colour, "\""), cat(level.name, " ", level.at));
      lowest = label - 13;
    }
  }

  void draw_profile() {
    text(kLeft - 6, kProfileTop - 8, " text-anchor=\"end\" fill=\"#4b5563\"", "bytes");
    text(kLeft, kProfileTop - 8, cat(" fill=\"", kLive, "\""), "live");
    text(kLeft + 40, kProfileTop - 8, cat(" fill=\"", kPeak, "\""), "top");
    text(kLeft - 6, kProfileBottom + 4, " text-anchor=\"end\"", "0");
    text(kLeft - 6, kProfileTop + 8, " text-anchor=\"end\"", std::to_string(plan_.high));
    out_ += cat("<path fill=\"#bfdbfe\" stroke=\"", kLive, "\" stroke-width=\"0.6\" d=\"",
                svg_steps(profile_, answer_.ranges, &TimeRange::live), "Z\"/>\n");
    out_ += cat("<path fill=\"none\" stroke=\"", kPeak, "\" stroke-width=\"0.8\" d=\"",
                svg_steps(profile_, answer_.ranges, &TimeRange::top), "\"/>\n");
    if (!shows_capacity_) return;
    const double y = profile_.y_of(*answer_.capacity);
    line(kLeft, y, kRight, y, cat("stroke=\"", kCapacity, "\" stroke-dasharray=\"8 4\""));
  }

  const AllocAnswer& answer_;
  Frame plan_;
  Frame profile_;
  bool shows_capacity_ = false;
  std::vector<std::size_t> drawn_;
  std::vector<std::size_t> together_;
  std::string out_;
};

}  // namespace

std::string alloc_svg(const AllocAnswer& answer) { return Drawing(answer).draw(); }

}  // namespace tessera::tools
