// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/testing/ops/call_maker.h"

namespace tessera::test {

void CallMaker::movement(std::string_view op) {
  Extents x = shape(1, 4);
  const auto rank = static_cast<std::int64_t>(x.size());
  const auto any = [&](std::int64_t at) {
    return static_cast<std::size_t>(at < 0 ? at + rank : at);
  };
  if (op == "reshape") {
    input(x);
    set("shape", regrouped(x));
  } else if (op == "flatten") {
    input(x);
    set("axis", dice_.between(0, rank));
  } else if (op == "squeeze") {
    const std::int64_t at = dice_.below(rank);
    x[static_cast<std::size_t>(at)] = 1;
    input(x);
    if (dice_.chance(50)) set("axes", Extents{at});
  } else if (op == "unsqueeze") {
    input(x);
    set("axes", Extents{dice_.between(0, rank)});
  } else if (op == "transpose") {
    input(x);
    Extents perm;
    for (const std::size_t d : dice_.order(x.size())) perm.push_back(static_cast<int>(d));
    if (dice_.chance(80)) set("perm", perm);
  } else if (op == "slice") {
    input(x);
    Extents starts;
    Extents ends;
    Extents steps;
    for (const std::int64_t e : x) {
      const bool back = dice_.chance(30);
      starts.push_back(dice_.below(e));
      ends.push_back(back ? -e - 1 : dice_.between(starts.back() + 1, e));
      steps.push_back(back ? -dice_.between(1, 2) : dice_.between(1, 3));
    }
    set("starts", starts);
    set("ends", ends);
    set("steps", steps);
  } else if (op == "split") {
    input(x);
    const std::int64_t at = axis(x.size());
    const std::int64_t first = dice_.between(0, x[any(at)]);
    set("axis", at);
    set("sizes", Extents{first, x[any(at)] - first});
    made_.outputs = 2;
  } else if (op == "concat") {
    const std::int64_t at = axis(x.size());
    set("axis", at);
    for (std::int64_t i = dice_.between(1, 3); i > 0; --i) {
      x[any(at)] = extent();
      input(x);
    }
  } else if (op == "pad") {
    const bool constant = dice_.chance(60);
    const bool edge = dice_.chance(50);
    set("mode", std::string(constant ? "constant" : edge ? "edge" : "reflect"));
    Extents pads(2 * x.size());
    for (std::size_t d = 0; d < x.size(); ++d) {
      const std::int64_t most = constant || edge ? 2 : x[d] - 1;
      const std::int64_t crop = constant && x[d] > 2 ? 1 : 0;
      pads[d] = dice_.between(0, most + crop) - crop;
      pads[d + x.size()] = dice_.between(0, most);
    }
    input(x);
    set("pads", pads);
    if (constant && dice_.chance(50)) input({});
  } else if (op == "expand") {
    input(narrower(x));
    set("shape", x);
  } else if (op == "tile") {
    input(x);
    Extents repeats;
    for (std::size_t d = 0; d < x.size(); ++d) repeats.push_back(dice_.between(1, 3));
    set("repeats", repeats);
  } else if (op == "gather") {
    const std::int64_t at = axis(x.size());
    input(x);
    indices(shape(0, 2), x[any(at)]);
    set("axis", at);
  } else if (op == "embedding") {
    const Extents table = {extent(), extent()};
    input(table);
    indices(shape(0, 2), table[0]);
  } else if (op == "gather_elements" || op == "scatter_elements") {
    const std::int64_t at = axis(x.size());
    input(x);
    Extents picked = x;
    for (std::int64_t& e : picked) e = dice_.between(1, e);
    picked[any(at)] = op == "gather_elements" ? extent() : dice_.between(1, x[any(at)]);
    indices(picked, x[any(at)]);
    set("axis", at);
    if (op == "scatter_elements") {
      set("reduction", std::string("add"));
      input(picked);
    }
  } else if (op == "gather_nd" || op == "scatter_nd") {
    const bool gather = op == "gather_nd";
    const std::int64_t batch =
        gather && rank > 1 ? dice_.below(std::min<std::int64_t>(rank, 2)) : 0;
    const std::int64_t width = dice_.between(1, rank - batch);
    Extents list(x.begin(), x.begin() + batch);
    for (const std::int64_t e : shape(1, 1)) list.push_back(e);
    Extents updates = list;
    updates.insert(updates.end(), x.begin() + batch + width, x.end());
    list.push_back(width);
    input(x);
    std::int64_t least = 5;
    for (std::int64_t d = batch; d < batch + width; ++d) {
      least = std::min(least, x[static_cast<std::size_t>(d)]);
    }
    indices(list, least);
    if (gather) set("batch_dims", batch);
    if (!gather) input(updates);
  } else if (op == "depth_to_space" || op == "space_to_depth") {
    const std::int64_t block = dice_.between(1, 2);
    Extents deep = {dice_.between(1, 2), dice_.between(1, 2), extent(), extent()};
    set("block", block);
    if (op == "depth_to_space") {
      deep[1] *= block * block;
      if (dice_.chance(50)) set("mode", std::string("CRD"));
    } else {
      deep[2] *= block;
      deep[3] *= block;
    }
    input(deep);
  } else if (op == "trilu") {
    input({extent(), extent()});
    set("upper", dice_.below(2));
    set("k", dice_.between(-1, 1));
  } else if (op == "reverse_sequence") {
    const Extents matrix = {extent(), extent()};
    input(matrix);
    indices({matrix[1]}, matrix[0] + 1);
  } else {
    input(x);
  }
}

CallMaker::Extents CallMaker::regrouped(const Extents& x) {
  Extents to(static_cast<std::size_t>(dice_.between(1, 4)), 1);
  const auto last = static_cast<std::int64_t>(to.size());
  for (std::int64_t left : x) {
    for (std::int64_t p = 2; left > 1; ++p) {
      for (; left % p == 0; left /= p) to[static_cast<std::size_t>(dice_.below(last))] *= p;
    }
  }
  return to;
}

void CallMaker::creation(std::string_view op) {
  const Extents x = shape(1, 3);
  if (op == "constant_of_shape") {
    set("shape", x);
  } else if (op == "constant") {
    set("shape", Extents{2});
    set("reals", std::vector<double>{1, 2});
  } else if (op == "range") {
    set("limit", 4.0);
  } else if (op == "one_hot") {
    const std::int64_t depth = extent();
    indices(x, depth);
    input({2});
    set("depth", depth);
    set("axis", axis(x.size() + 1));
  } else if (op == "topk") {
    const std::int64_t at = axis(x.size());
    input(x);
    set("axis", at);
    set("k",
        dice_.between(
            1,
            x[static_cast<std::size_t>(at < 0 ? at + static_cast<std::int64_t>(x.size()) : at)]));
    made_.outputs = 2;
  } else if (op == "eye_like") {
    input({extent(), extent()});
  } else {
    input(x);
  }
}

}  // namespace tessera::test
