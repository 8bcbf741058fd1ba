// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/layered_drawing.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <utility>

namespace tessera::tools {
namespace {

// In pixels.
constexpr double kBoxGap = 24;       ///< between boxes of a layer
constexpr double kLineGap = 10;      ///< around a line that crosses a layer
constexpr double kLayerGap = 40;     ///< between layers
constexpr double kMostPortGap = 22;  ///< between lines that enter one box
constexpr int kSweeps = 24;
constexpr int kMoves = 16;

constexpr std::size_t kNoBox = SIZE_MAX;

/// A box, or the place of a line in a layer that it crosses.
struct Vertex {
  std::size_t box = kNoBox;
  std::size_t layer = 0;
  double width = 0;
  std::vector<std::size_t> up = {};  ///< neighbours in the layer above
  std::vector<std::size_t> down = {};
  std::size_t rank = 0;  ///< position in the layer
  double x = 0;          ///< of the middle

  bool is_box() const { return box != kNoBox; }
};

/// Numbers that do not decrease and are as close as possible to the wanted ones, by weighted
/// squares: neighbours that are out of order get their mean (pool adjacent violators).
std::vector<double> nearest_ascending(const std::vector<double>& wanted,
                                      const std::vector<double>& weights) {
  struct Pool {
    double sum, weight;
    std::size_t count;
    double mean() const { return sum / weight; }
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    pools.push_back({wanted[i] * weights[i], weights[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().weight += last.weight;
      pools.back().count += last.count;
    }
  }
  std::vector<double> out;
  for (const Pool& pool : pools) out.insert(out.end(), pool.count, pool.mean());
  return out;
}

class Layering {
 public:
  Layering(std::vector<DrawnBox> boxes, std::vector<DrawnLine> lines) {
    drawing_.boxes = std::move(boxes);
    drawing_.lines = std::move(lines);
  }

  LayeredDrawing run() {
    if (drawing_.boxes.empty()) return std::move(drawing_);
    choose_layers();
    add_vertices();
    reduce_crossings();
    choose_columns();
    place_boxes();
    for (std::size_t i = 0; i < drawing_.lines.size(); ++i) place_line(i);
    return std::move(drawing_);
  }

 private:
  void choose_layers() {
    const std::size_t count = drawing_.boxes.size();
    layer_of_.assign(count, 0);
    std::vector<bool> has_source(count, false);
    // In order of the boxes: a line goes from a lower to a higher one.
    std::vector<std::vector<std::size_t>> readers(count);
    for (const DrawnLine& line : drawing_.lines) {
      readers[line.from].push_back(line.to);
      has_source[line.to] = true;
    }
    for (std::size_t b = 0; b < count; ++b) {
      for (const std::size_t r : readers[b]) {
        layer_of_[r] = std::max(layer_of_[r], layer_of_[b] + 1);
      }
    }
    for (std::size_t b = 0; b < count; ++b) {
      if (has_source[b] || readers[b].empty()) continue;
      std::size_t least = SIZE_MAX;
      for (const std::size_t r : readers[b]) least = std::min(least, layer_of_[r]);
      layer_of_[b] = least - 1;
    }
    layers_.resize(*std::ranges::max_element(layer_of_) + 1);
  }

  std::size_t add_vertex(std::size_t box, std::size_t layer, double width) {
    vertices_.push_back({box, layer, width});
    layers_[layer].push_back(vertices_.size() - 1);
    return vertices_.size() - 1;
  }

  /// Vertices are the boxes, then the places of lines: the lines from one box share their places.
  void add_vertices() {
    for (std::size_t b = 0; b < drawing_.boxes.size(); ++b) {
      add_vertex(b, layer_of_[b], drawing_.boxes[b].width);
    }
    ways_.resize(drawing_.boxes.size());
    for (const DrawnLine& line : drawing_.lines) {
      std::vector<std::size_t>& way = ways_[line.from];
      const std::size_t first = layer_of_[line.from];
      if (way.empty()) way.push_back(line.from);
      while (first + way.size() < layer_of_[line.to]) {
        const std::size_t next = add_vertex(kNoBox, first + way.size(), 0);
        join(way.back(), next);
        way.push_back(next);
      }
      join(way[layer_of_[line.to] - first - 1], line.to);
    }
  }

  void join(std::size_t above, std::size_t below) {
    vertices_[above].down.push_back(below);
    vertices_[below].up.push_back(above);
  }

  void number(std::size_t layer) {
    for (std::size_t i = 0; i < layers_[layer].size(); ++i) vertices_[layers_[layer][i]].rank = i;
  }

  /// Crossings between a layer and the one below, by counting pairs that are out of order.
  std::int64_t crossings_below(std::size_t layer) const {
    std::vector<std::int64_t> tree(layers_[layer + 1].size() + 1, 0);
    std::int64_t crossings = 0;
    std::int64_t seen = 0;
    std::vector<std::size_t> ends;
    for (const std::size_t v : layers_[layer]) {
      ends.clear();
      for (const std::size_t w : vertices_[v].down) ends.push_back(vertices_[w].rank);
      for (const std::size_t end : ends) {
        std::int64_t before = 0;  // lines from the left that end at or left of this one
        for (std::size_t i = end + 1; i > 0; i -= i & (~i + 1)) before += tree[i];
        crossings += seen - before;
      }
      for (const std::size_t end : ends) {
        ++seen;
        for (std::size_t i = end + 1; i < tree.size(); i += i & (~i + 1)) ++tree[i];
      }
    }
    return crossings;
  }

  std::int64_t crossings() const {
    std::int64_t sum = 0;
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l) sum += crossings_below(l);
    return sum;
  }

  void sort_layer(std::size_t layer, std::vector<std::size_t> Vertex::* neighbours) {
    struct Place {
      double mean;
      std::size_t rank;  // those with one mean stay in order
      std::size_t vertex;
      auto operator<=>(const Place&) const = default;
    };
    std::vector<Place> order;
    for (const std::size_t v : layers_[layer]) {
      const std::vector<std::size_t>& near = vertices_[v].*neighbours;
      double sum = 0;
      for (const std::size_t w : near) sum += static_cast<double>(vertices_[w].rank);
      const double mean = near.empty() ? static_cast<double>(vertices_[v].rank)
                                       : sum / static_cast<double>(near.size());
      order.push_back({mean, vertices_[v].rank, v});
    }
    std::ranges::sort(order);
    for (std::size_t i = 0; i < order.size(); ++i) layers_[layer][i] = order[i].vertex;
    number(layer);
  }

  void reduce_crossings() {
    for (std::size_t l = 0; l < layers_.size(); ++l) number(l);
    auto best = layers_;
    std::int64_t fewest = crossings();
    for (int sweep = 0; sweep < kSweeps && fewest > 0; ++sweep) {
      for (std::size_t l = 1; l < layers_.size(); ++l) {
        if (sweep % 2 == 0) {
          sort_layer(l, &Vertex::up);
        } else {
          sort_layer(layers_.size() - 1 - l, &Vertex::down);
        }
      }
      const std::int64_t left = crossings();
      if (left < fewest) {
        fewest = left;
        best = layers_;
      }
    }
    layers_ = std::move(best);
    for (std::size_t l = 0; l < layers_.size(); ++l) number(l);
  }

  /// Between the middles of two neighbours in a layer.
  double distance(const Vertex& a, const Vertex& b) const {
    const double gap = a.is_box() && b.is_box() ? kBoxGap : kLineGap;
    return (a.width + b.width) / 2 + gap;
  }

  /// Moves the vertices of a layer towards what they are joined to, in the order that they have.
  void move_layer(std::size_t layer, bool looks_up, bool looks_down) {
    const std::vector<std::size_t>& row = layers_[layer];
    std::vector<double> wanted;
    std::vector<double> weights;
    std::vector<double> starts;
    double start = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Vertex& v = vertices_[row[i]];
      if (i > 0) start += distance(vertices_[row[i - 1]], v);
      double sum = 0;
      double count = 0;
      double weight = 1;
      const auto look = [&](const std::vector<std::size_t>& near) {
        for (const std::size_t w : near) {
          // A line that crosses several layers should be straight there.
          const double pull = v.is_box() || vertices_[w].is_box() ? 1 : 100;
          sum += pull * vertices_[w].x;
          count += pull;
          weight = std::max(weight, pull);
        }
      };
      if (looks_up) look(v.up);
      if (looks_down) look(v.down);
      starts.push_back(start);
      wanted.push_back((count > 0 ? sum / count : v.x) - start);
      weights.push_back(count > 0 ? weight : 0.1);
    }
    const std::vector<double> placed = nearest_ascending(wanted, weights);
    for (std::size_t i = 0; i < row.size(); ++i) vertices_[row[i]].x = placed[i] + starts[i];
  }

  void choose_columns() {
    for (const std::vector<std::size_t>& row : layers_) {
      double x = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (i > 0) x += distance(vertices_[row[i - 1]], vertices_[row[i]]);
        vertices_[row[i]].x = x;
      }
      for (const std::size_t v : row) vertices_[v].x -= x / 2;
    }
    for (int move = 0; move < kMoves; ++move) {
      const bool last = move + 2 >= kMoves;
      for (std::size_t i = 0; i < layers_.size(); ++i) {
        const bool downwards = move % 2 == 0;
        move_layer(downwards ? i : layers_.size() - 1 - i, downwards || last, !downwards || last);
      }
    }
  }

  void place_boxes() {
    double left = std::numeric_limits<double>::max();
    for (const Vertex& v : vertices_) left = std::min(left, v.x - v.width / 2);
    double y = 0;
    for (const std::vector<std::size_t>& row : layers_) {
      tops_.push_back(y);
      double height = 0;
      for (const std::size_t v : row) {
        vertices_[v].x -= left;
        drawing_.width = std::max(drawing_.width, vertices_[v].x + vertices_[v].width / 2);
        if (!vertices_[v].is_box()) continue;
        DrawnBox& box = drawing_.boxes[vertices_[v].box];
        box.x = vertices_[v].x - box.width / 2;
        box.y = y;
        height = std::max(height, box.height);
      }
      bottoms_.push_back(y + height);
      y += height + kLayerGap;
    }
    drawing_.height = bottoms_.back();
    enter_from_.resize(drawing_.boxes.size());
    for (std::size_t b = 0; b < drawing_.boxes.size(); ++b) {
      // Lines enter from left to right as they come.
      enter_from_[b] = vertices_[b].up;
      std::ranges::sort(enter_from_[b], {}, [&](std::size_t v) {
        return std::pair(vertices_[v].x, vertices_[v].rank);
      });
    }
  }

  double port_of(std::size_t box, std::size_t above) const {
    const std::vector<std::size_t>& all = enter_from_[box];
    const auto at = static_cast<double>(std::ranges::find(all, above) - all.begin());
    const auto count = static_cast<double>(all.size());
    const double gap = std::min(kMostPortGap, 0.8 * drawing_.boxes[box].width / count);
    return vertices_[box].x + (at - (count - 1) / 2) * gap;
  }

  void place_line(std::size_t index) {
    DrawnLine& line = drawing_.lines[index];
    const DrawnBox& from = drawing_.boxes[line.from];
    const std::size_t first = layer_of_[line.from];
    const std::size_t last = layer_of_[line.to];
    const auto add = [&](double x, double y) {
      // A point in the middle of a straight piece says nothing.
      while (line.points.size() > 1 && line.points.back().x == x &&
             line.points[line.points.size() - 2].x == x) {
        line.points.pop_back();
      }
      line.points.push_back({x, y});
    };
    line.points.clear();
    const double x = vertices_[line.from].x;
    add(x, from.y + from.height);
    if (bottoms_[first] > from.y + from.height) add(x, bottoms_[first]);
    for (std::size_t l = first + 1; l < last; ++l) {
      const double place = vertices_[ways_[line.from][l - first]].x;
      add(place, tops_[l]);
      add(place, bottoms_[l]);
    }
    add(port_of(line.to, ways_[line.from][last - first - 1]), tops_[last]);
  }

  LayeredDrawing drawing_;
  std::vector<std::size_t> layer_of_;             ///< of boxes
  std::vector<Vertex> vertices_;                  ///< boxes first
  std::vector<std::vector<std::size_t>> layers_;  ///< vertices from left to right
  std::vector<std::vector<std::size_t>> ways_;    ///< of lines from a box: itself, then places
  std::vector<std::vector<std::size_t>> enter_from_;
  std::vector<double> tops_;
  std::vector<double> bottoms_;
};

}  // namespace

LayeredDrawing layered_drawing(std::vector<DrawnBox> boxes, std::vector<DrawnLine> lines) {
  return Layering(std::move(boxes), std::move(lines)).run();
}

}  // namespace tessera::tools
