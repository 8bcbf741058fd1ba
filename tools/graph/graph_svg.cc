// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/graph_svg.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tools/graph/layered_drawing.h"
#include "tools/graph/repeated_layers.h"
#include "tools/terminal/svg.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kEnoughNodes = 60;  ///< graphs with more are folded
constexpr std::size_t kMostInputs = 40;   ///< boxes of inputs, and of outputs
constexpr std::size_t kMostWeights = 3;   ///< lines of text about parameters in one box
constexpr std::size_t kMostName = 30;     ///< characters of a name in a box
constexpr std::size_t kMostTitle = 300;   ///< in what a browser shows under the pointer

// In pixels.
constexpr double kLineHeight = 14;
constexpr double kPadding = 8;
constexpr double kMargin = 24;
constexpr double kTitleHeight = 52;
constexpr double kLegendHeight = 30;
constexpr double kLeastWidth = 64;
constexpr double kFrameGap = 10;

/// Light enough for dark text.
std::string_view colour_of(graph::Family family) {
  switch (family) {
    case graph::Family::kElementwise:
      return "#dbeafe";
    case graph::Family::kReduction:
      return "#fef3c7";
    case graph::Family::kContraction:
      return "#bbf7d0";
    case graph::Family::kNormalization:
      return "#ddd6fe";
    case graph::Family::kWindow:
      return "#fed7aa";
    case graph::Family::kMovement:
      return "#e5e7eb";
    case graph::Family::kCreation:
      return "#fce7f3";
    case graph::Family::kOther:
      break;
  }
  return "#fecaca";
}

struct Line {
  std::string text;
  bool is_head = false;
};

/// A box with what it says, before it has a place.
struct Content {
  std::string id;
  std::string_view colour;
  bool is_round = false;
  std::vector<Line> lines;
  std::string title;
};

/// About the width of a text in the drawing's font.
double width_of(std::string_view text, bool is_head) {
  double width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 && byte < 0xC0) continue;  // inside a code point
    width += byte >= 0xE0 ? 12 : byte >= 'A' && byte <= 'Z' ? 7.6 : 6.3;
  }
  return is_head ? width * 1.15 : width;
}

/// The start and the end of a name that is too long: both tell it from others.
std::string shortened(std::string_view name) {
  std::vector<std::string_view> points;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t to = i + 1;
    while (to < name.size() && (static_cast<unsigned char>(name[to]) & 0xC0U) == 0x80U) ++to;
    points.push_back(name.substr(i, to - i));
    i = to;
  }
  if (points.size() <= kMostName) return std::string(name);
  std::string out;
  for (std::size_t i = 0; i < kMostName / 2 - 1; ++i) out += points[i];
  out += "..";
  for (std::size_t i = points.size() - kMostName / 2 + 1; i < points.size(); ++i) out += points[i];
  return out;
}

class GraphDrawing {
 public:
  explicit GraphDrawing(const graph::Graph& graph)
      : graph_(graph), folded_(fold_repeated_layers(graph, kEnoughNodes)) {}

  std::string draw() {
    choose();
    for (const graph::ValueId v : inputs_) add_input(v);
    for (const std::size_t n : nodes_) add_node(n);
    add_outputs();
    std::vector<DrawnBox> boxes;
    for (const Content& content : contents_) boxes.push_back(size_of(content));
    drawing_ = layered_drawing(std::move(boxes), std::move(lines_));
    return print();
  }

 private:
  /// The nodes and inputs that are drawn.
  void choose() {
    nodes_ = folded_.shown;
    if (nodes_.size() > kMostDrawnNodes) nodes_.resize(kMostDrawnNodes);
    for (const RepeatedLayer& layer : folded_.layers) {
      for (const std::size_t n : layer.nodes) times_[n] = layer.times;
    }
    std::set<graph::ValueId> wanted;
    std::set<graph::ValueId> read;
    for (const graph::Node& node : graph_.nodes)
      read.insert(node.inputs.begin(), node.inputs.end());
    for (const std::size_t n : nodes_) {
      wanted.insert(graph_.nodes[n].inputs.begin(), graph_.nodes[n].inputs.end());
    }
    for (const graph::ValueId v : graph_.of_kind(graph::Kind::kInput)) {
      if (wanted.contains(v) || !read.contains(v)) inputs_.push_back(v);
    }
    if (inputs_.size() > kMostInputs) {
      hidden_inputs_ = inputs_.size() - kMostInputs;
      inputs_.resize(kMostInputs);
    }
  }

  std::string type_text(graph::ValueId v) const { return graph_.values[v].type.to_string(); }

  void add_input(graph::ValueId v) {
    const graph::Value& value = graph_.values[v];
    boxes_of_values_[v] = contents_.size();
    contents_.push_back({cat("input", v),
                         "#ffffff",
                         true,
                         {{shortened(value.name), true}, {type_text(v)}},
                         cat("input ", value.name, ": ", type_text(v))});
  }

  void add_node(std::size_t n) {
    const graph::Node& node = graph_.nodes[n];
    Content content{cat("node", n),
                    colour_of(node.op.rule().family),
                    false,
                    {},
                    cat(node.op.name(), " ", node.name)};
    const auto times = times_.find(n);
    const std::string repeats = times == times_.end() ? "" : cat(" \xC3\x97", times->second);
    content.lines.push_back({cat(node.op.name(), repeats), true});
    if (!node.name.empty() && node.name != node.op.name())
      content.lines.push_back({shortened(node.name)});
    std::set<std::size_t> sources;
    std::size_t weights = 0;
    for (const graph::ValueId v : node.inputs) {
      if (v == graph::kAbsent) continue;
      const graph::Value& value = graph_.values[v];
      content.title += cat("\nreads ", value.name, ": ", type_text(v));
      const auto source = box_of(v);
      if (source) sources.insert(*source);
      const bool is_weight =
          value.kind == graph::Kind::kParameter || value.kind == graph::Kind::kConstant;
      if (is_weight && weights++ < kMostWeights) {
        content.lines.push_back({cat(shortened(value.name), " ", type_text(v))});
      }
    }
    if (weights > kMostWeights) {
      content.lines.push_back({cat("and ", weights - kMostWeights, " more")});
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const graph::ValueId v = node.outputs[i];
      boxes_of_values_[v] = contents_.size();
      content.title += cat("\ngives ", graph_.values[v].name, ": ", type_text(v));
      if (i < 2) content.lines.push_back({cat("\xE2\x86\x92 ", type_text(v))});
    }
    for (const auto& [name, value] : node.attributes) {
      content.title += cat("\n", name, " = ", graph::to_string(value));
    }
    for (const std::size_t source : sources) lines_.push_back({source, contents_.size()});
    contents_.push_back(std::move(content));
  }

  /// The box of what computes a value, or of the node that stands for it.
  std::optional<std::size_t> box_of(graph::ValueId v) {
    if (producers_.empty()) {
      for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
        for (std::size_t i = 0; i < graph_.nodes[n].outputs.size(); ++i) {
          producers_[graph_.nodes[n].outputs[i]] = {n, i};
        }
      }
    }
    const auto producer = producers_.find(v);
    graph::ValueId shown = v;
    if (producer != producers_.end()) {
      const auto [n, i] = producer->second;
      shown = graph_.nodes[folded_.stands_for[n]].outputs[i];
    }
    const auto at = boxes_of_values_.find(shown);
    if (at == boxes_of_values_.end()) return std::nullopt;
    return at->second;
  }

  /// Outputs that one node stands for are one box.
  void add_outputs() {
    std::set<std::pair<std::size_t, std::string>> seen;
    std::size_t drawn = 0;
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) {
      const graph::ValueId v = graph_.outputs[k];
      const std::optional<std::size_t> source = box_of(v);
      const graph::Value& value = graph_.values[v];
      const auto producer = producers_.find(v);
      const bool is_folded = producer != producers_.end() &&
                             folded_.stands_for[producer->second.first] != producer->second.first;
      // The node that is shown has outputs of its own, or stands for those of the last repetition.
      if (source && !seen.insert({*source, type_text(v)}).second && is_folded) continue;
      if (++drawn > kMostInputs) {
        ++hidden_outputs_;
        continue;
      }
      if (source) lines_.push_back({*source, contents_.size()});
      contents_.push_back({cat("output", k),
                           "#ffffff",
                           true,
                           {{shortened(value.name), true}, {type_text(v)}},
                           cat("output ", value.name, ": ", type_text(v))});
    }
  }

  static DrawnBox size_of(const Content& content) {
    DrawnBox box;
    box.width = kLeastWidth;
    for (const Line& line : content.lines) {
      box.width = std::max(box.width, width_of(line.text, line.is_head) + 2 * kPadding);
    }
    box.height = kLineHeight * static_cast<double>(content.lines.size()) + kPadding;
    return box;
  }

  std::string text(double x, double y, std::string_view more, std::string_view words,
                   std::size_t most = kMostTitle) const {
    return cat("<text x=\"", svg_number(x), "\" y=\"", svg_number(y), "\"", more, ">",
               svg_text(words, most), "</text>\n");
  }

  std::string print() const {
    const std::string head = graph_.name.empty() ? "graph" : graph_.name;
    const std::string about = describe();
    const double words =
        std::max(1.5 * width_of(shortened(head), true), std::max(width_of(about, false), 520.0));
    const double width = std::max(drawing_.width, words) + 2 * kMargin;
    const double height = drawing_.height + 2 * kMargin + kTitleHeight + kLegendHeight;
    std::string out = cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ",
                          svg_number(width), " ", svg_number(height), "\" width=\"",
                          svg_number(width), "\" height=\"", svg_number(height),
                          "\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#111827\">\n"
                          "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    out += text(kMargin, kMargin + 8, " font-size=\"16\" font-weight=\"bold\"", shortened(head));
    out += text(kMargin, kMargin + 26, " fill=\"#4b5563\"", about);
    out += legend(kMargin, kMargin + 38);
    const double left = (width - drawing_.width) / 2;
    out += cat("<g transform=\"translate(", svg_number(left), " ",
               svg_number(kMargin + kTitleHeight + kLegendHeight), ")\">\n");
    for (const RepeatedLayer& layer : folded_.layers) out += frame(layer);
    for (const DrawnLine& line : drawing_.lines) out += path(line);
    for (std::size_t b = 0; b < contents_.size(); ++b) out += box(b);
    return out + "</g>\n</svg>\n";
  }

  /// How much of the graph the drawing has.
  std::string describe() const {
    std::string out = cat(count_of(std::ssize(graph_.nodes), "node"), ", ",
                          count_of(std::ssize(graph_.values), "value"));
    if (folded_.shown.size() < graph_.nodes.size()) {
      out += cat("; repeated layers are drawn once, which leaves ", folded_.shown.size());
    }
    if (nodes_.size() < folded_.shown.size()) {
      out += cat("; only the first ", nodes_.size(), " are drawn");
    }
    if (hidden_inputs_ > 0) out += cat("; ", hidden_inputs_, " more inputs");
    if (hidden_outputs_ > 0) out += cat("; ", hidden_outputs_, " more outputs");
    return out;
  }

  /// The colours of the families that occur.
  std::string legend(double x, double y) const {
    std::set<graph::Family> families;
    for (const std::size_t n : nodes_) families.insert(graph_.nodes[n].op.rule().family);
    std::string out;
    for (const graph::Family family : families) {
      const std::string_view name = graph::family_name(family);
      out += cat("<rect x=\"", svg_number(x), "\" y=\"", svg_number(y),
                 "\" width=\"10\" height=\"10\" fill=\"", colour_of(family),
                 "\" stroke=\"#9ca3af\"/>\n");
      out += text(x + 14, y + 9, " font-size=\"10\" fill=\"#4b5563\"", name);
      x += 30 + width_of(name, false);
    }
    return out;
  }

  /// Around the boxes of a repeated layer, unless another box would be inside.
  std::string frame(const RepeatedLayer& layer) const {
    const std::set<std::size_t> nodes(layer.nodes.begin(), layer.nodes.end());
    double left = 1e300;
    double top = 1e300;
    double right = -1e300;
    double bottom = -1e300;
    std::set<std::size_t> mine;
    for (std::size_t b = inputs_.size(); b < inputs_.size() + nodes_.size(); ++b) {
      if (!nodes.contains(nodes_[b - inputs_.size()])) continue;
      const DrawnBox& box = drawing_.boxes[b];
      left = std::min(left, box.x - kFrameGap);
      top = std::min(top, box.y - kFrameGap);
      right = std::max(right, box.x + box.width + kFrameGap);
      bottom = std::max(bottom, box.y + box.height + kFrameGap);
      mine.insert(b);
    }
    for (std::size_t b = 0; b < contents_.size(); ++b) {
      const DrawnBox& box = drawing_.boxes[b];
      const bool inside =
          box.x < right && box.x + box.width > left && box.y < bottom && box.y + box.height > top;
      // Inputs and outputs stand next to their nodes.
      const bool is_node = b >= inputs_.size() && b < inputs_.size() + nodes_.size();
      if (inside && is_node && !mine.contains(b)) return "";
    }
    if (mine.empty()) return "";
    return cat("<rect class=\"layer\" x=\"", svg_number(left), "\" y=\"", svg_number(top),
               "\" width=\"", svg_number(right - left), "\" height=\"", svg_number(bottom - top),
               "\" rx=\"10\" fill=\"#f3f4f6\" stroke=\"#9ca3af\" stroke-dasharray=\"5 3\"/>\n") +
           text(left + 8, top - 5, " font-weight=\"bold\" fill=\"#4b5563\"",
                cat("these ", layer.nodes.size(), " nodes ", layer.times, " times"));
  }

  std::string path(const DrawnLine& line) const {
    std::string d = cat("M", svg_number(line.points[0].x), " ", svg_number(line.points[0].y));
    for (std::size_t i = 1; i < line.points.size(); ++i) {
      const DrawnPoint& from = line.points[i - 1];
      const DrawnPoint& to = line.points[i];
      const std::string end = cat(svg_number(to.x), " ", svg_number(to.y));
      const std::string middle = svg_number((from.y + to.y) / 2);
      d += from.x == to.x ? cat("L", end)
                          : cat("C", svg_number(from.x), " ", middle, " ", svg_number(to.x), " ",
                                middle, " ", end);
    }
    const DrawnPoint& tip = line.points.back();
    return cat("<path id=\"line-", contents_[line.from].id, "-", contents_[line.to].id, "\" d=\"",
               d, "\" fill=\"none\" stroke=\"#6b7280\"/>\n<path fill=\"#6b7280\" d=\"M",
               svg_number(tip.x), " ", svg_number(tip.y), "l-3 -6h6z\"/>\n");
  }

  std::string box(std::size_t b) const {
    const DrawnBox& place = drawing_.boxes[b];
    const Content& content = contents_[b];
    std::string out = cat(
        "<g id=\"", content.id, "\"><title>", svg_text(content.title, kMostTitle),
        "</title>\n<rect x=\"", svg_number(place.x), "\" y=\"", svg_number(place.y), "\" width=\"",
        svg_number(place.width), "\" height=\"", svg_number(place.height), "\" rx=\"",
        content.is_round ? "12" : "4", "\" fill=\"", content.colour, "\" stroke=\"#4b5563\"/>\n");
    double y = place.y + kPadding / 2;
    for (const Line& line : content.lines) {
      y += kLineHeight;
      out += text(
          place.x + place.width / 2, y - 3,
          line.is_head ? " text-anchor=\"middle\" font-weight=\"bold\"" : " text-anchor=\"middle\"",
          line.text);
    }
    return out + "</g>\n";
  }

  const graph::Graph& graph_;
  FoldedGraph folded_;
  std::vector<std::size_t> nodes_;
  std::vector<graph::ValueId> inputs_;
  std::size_t hidden_inputs_ = 0;
  std::size_t hidden_outputs_ = 0;
  std::map<std::size_t, std::int64_t> times_;  ///< of nodes in repeated layers
  std::unordered_map<graph::ValueId, std::pair<std::size_t, std::size_t>> producers_;
  std::unordered_map<graph::ValueId, std::size_t> boxes_of_values_;
  std::vector<Content> contents_;  ///< inputs, nodes, outputs
  std::vector<DrawnLine> lines_;
  LayeredDrawing drawing_;
};

}  // namespace

std::string graph_svg(const graph::Graph& graph) { return GraphDrawing(graph).draw(); }

}  // namespace tessera::tools
