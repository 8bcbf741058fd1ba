// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "tessera/testing/graph/naive_eval.h"

namespace tessera::test {
namespace {

using Real = long double;

bool product(NaiveCall& call) {
  if (call.op == "gemm") {
    const bool turn_a = call.call.integer("trans_a") != 0;
    const bool turn_b = call.call.integer("trans_b") != 0;
    const std::int64_t inner = call.in(0).type.shape[turn_a ? 0 : 1];
    fill(call, [&](const Index& index) {
      Real sum = 0;
      for (std::int64_t k = 0; k < inner; ++k) {
        sum += broadcast_at(call.in(0), turn_a ? Index{k, index[0]} : Index{index[0], k}) *
               broadcast_at(call.in(1), turn_b ? Index{index[1], k} : Index{k, index[1]});
      }
      sum *= call.call.real("alpha");
      return call.has(2) ? sum + call.call.real("beta") * broadcast_at(call.in(2), index) : sum;
    });
    return true;
  }
  if (call.op != "matmul") return false;
  const NaiveTensor& a = call.in(0);
  const NaiveTensor& b = call.in(1);
  const std::size_t rank_a = a.type.shape.rank();
  const std::size_t rank_b = b.type.shape.rank();
  fill(call, [&](const Index& index) {
    // The output's dims are those of the batch, then the row unless a is a vector, then the column.
    Index batch = index;
    std::int64_t row = 0;
    std::int64_t col = 0;
    if (rank_b > 1) {
      col = batch.back();
      batch.pop_back();
    }
    if (rank_a > 1) {
      row = batch.back();
      batch.pop_back();
    }
    Real sum = 0;
    for (std::int64_t k = 0; k < a.type.shape[rank_a - 1]; ++k) {
      Index in_a = batch;
      if (rank_a > 1) in_a.push_back(row);
      in_a.push_back(k);
      Index in_b = batch;
      in_b.push_back(k);
      if (rank_b > 1) in_b.push_back(col);
      sum += broadcast_at(a, in_a) * broadcast_at(b, in_b);
    }
    return sum;
  });
  return true;
}

/// The score of query i and key j is scale·q·k + mask; causal queries see keys up to their own
/// position, counted from the end.
bool attention(NaiveCall& call) {
  if (call.op != "attention") return false;
  const Shape& q = call.in(0).type.shape;
  const Shape& k = call.in(1).type.shape;
  const std::size_t rank = q.rank();
  const std::int64_t width = q[rank - 1];
  const std::int64_t keys = k[rank - 2];
  const Real scale = call.call.given("scale") ? static_cast<Real>(call.call.real("scale"))
                                              : 1 / std::sqrt(static_cast<Real>(width));
  const auto shared = [&](Index index) {  // heads of keys serve several heads of queries
    if (rank > 2) index[rank - 3] /= q[rank - 3] / k[rank - 3];
    return index;
  };
  fill(call, [&](const Index& index) {
    std::vector<Real> scores;
    for (std::int64_t j = 0; j < keys; ++j) {
      Real score = 0;
      for (std::int64_t d = 0; d < width; ++d) {
        Index at_q = index;
        at_q[rank - 1] = d;
        Index at_k = shared(at_q);
        at_k[rank - 2] = j;
        score += broadcast_at(call.in(0), at_q) * broadcast_at(call.in(1), at_k);
      }
      score *= scale;
      Index at_mask = index;
      at_mask[rank - 1] = j;
      if (call.has(3)) score += broadcast_at(call.in(3), at_mask);
      const bool hidden =
          call.call.integer("causal") != 0 && j > index[rank - 2] + keys - q[rank - 2];
      scores.push_back(hidden ? -std::numeric_limits<Real>::infinity() : score);
    }
    // Without the subtraction, exponentials of large scores overflow.
    const Real most = scores.empty() ? Real{0} : *std::max_element(scores.begin(), scores.end());
    Real sum = 0;
    Real value = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      Index at_v = shared(index);
      at_v[rank - 2] = j;
      const Real weight = std::exp(scores[static_cast<std::size_t>(j)] - most);
      sum += weight;
      value += weight * broadcast_at(call.in(2), at_v);
    }
    return value / sum;
  });
  return true;
}

/// Every assignment of numbers to labels, one after the other.
bool einsum(NaiveCall& call) {
  if (call.op != "einsum") return false;
  std::string text(call.call.text("equation"));
  std::erase(text, ' ');
  if (text.find('.') != std::string::npos) {
    // An ellipsis is written out as upper-case letters, aligned at the last dim.
    std::size_t term = 0;
    std::string whole;
    std::size_t most = 0;
    for (const NaiveTensor* const input : call.inputs)
      most = std::max(most, input->type.shape.rank());
    const std::size_t arrow = text.find("->");
    std::size_t longest = 0;
    std::vector<std::size_t> dims;
    std::size_t from = 0;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      std::size_t to = std::min(text.find(',', from), std::min(arrow, text.size()));
      const std::string part = text.substr(from, to - from);
      const bool open = part.find("...") != std::string::npos;
      dims.push_back(open ? call.in(i).type.shape.rank() - (part.size() - 3) : 0);
      longest = std::max(longest, dims.back());
      from = to + 1;
    }
    if (arrow == std::string::npos) return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == ',') ++term;
      if (at == arrow) term = call.inputs.size();
      if (text.compare(at, 3, "...") != 0) {
        whole += text[at];
        continue;
      }
      const std::size_t count = term < dims.size() ? dims[term] : longest;
      for (std::size_t d = longest - count; d < longest; ++d) whole += static_cast<char>('A' + d);
      at += 2;
    }
    text = whole;
  }
  const std::size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::string right;
  if (arrow != std::string::npos) {
    right = text.substr(arrow + 2);
  } else {
    for (char c = 'A'; c <= 'z'; ++c) {
      if (std::count(left.begin(), left.end(), c) == 1) right += c;
    }
  }
  std::vector<std::string> terms = {""};
  for (const char c : left) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  std::string labels;
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t d = 0; d < terms[i].size(); ++d) {
      const std::size_t at = labels.find(terms[i][d]);
      const std::int64_t extent = call.in(i).type.shape[d];
      if (at == std::string::npos) {
        labels += terms[i][d];
        extents.push_back(extent);
      } else {
        extents[at] = std::max(extents[at], extent);
      }
    }
  }
  NaiveTensor& out = call.out();
  out.elements.assign(static_cast<std::size_t>(out.type.shape.elements()), 0);
  each_index(*Shape::make(extents), [&](const Index& numbers) {
    const auto pick = [&](const std::string& term) {
      Index index;
      for (const char c : term) index.push_back(numbers[labels.find(c)]);
      return index;
    };
    Real value = 1;
    for (std::size_t i = 0; i < terms.size(); ++i)
      value *= broadcast_at(call.in(i), pick(terms[i]));
    out.elements[static_cast<std::size_t>(row_major(out.type.shape, pick(right)))] += value;
  });
  return true;
}

}  // namespace

bool evaluate_products(NaiveCall& call) { return product(call) || attention(call) || einsum(call); }

}  // namespace tessera::test
