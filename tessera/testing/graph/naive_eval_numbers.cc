// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tessera/testing/graph/naive_eval.h"

namespace tessera::test {
namespace {

using Real = long double;

bool unary(NaiveCall& call) {
  const graph::Call& with = call.call;
  const auto alpha = [&] { return static_cast<Real>(with.real("alpha")); };
  static const std::map<std::string_view, Real (*)(Real)> kPlain = {
      {"relu", [](Real x) { return x > 0 || std::isnan(x) ? x : 0; }},
      {"neg", [](Real x) { return -x; }},
      {"abs", [](Real x) { return std::fabs(x); }},
      {"sign", [](Real x) { return x > 0   ? 1.0L
                                   : x < 0 ? -1.0L
                                           : 0.0L; }},
      {"floor", [](Real x) { return std::floor(x); }},
      {"ceil", [](Real x) { return std::ceil(x); }},
      {"round", [](Real x) { return std::nearbyint(x); }},
      {"exp", [](Real x) { return std::exp(x); }},
      {"log", [](Real x) { return std::log(x); }},
      {"sqrt", [](Real x) { return std::sqrt(x); }},
      {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }},
      {"reciprocal", [](Real x) { return 1 / x; }},
      {"erf", [](Real x) { return std::erf(x); }},
      {"sin", [](Real x) { return std::sin(x); }},
      {"cos", [](Real x) { return std::cos(x); }},
      {"tan", [](Real x) { return std::tan(x); }},
      {"asin", [](Real x) { return std::asin(x); }},
      {"acos", [](Real x) { return std::acos(x); }},
      {"atan", [](Real x) { return std::atan(x); }},
      {"sinh", [](Real x) { return std::sinh(x); }},
      {"cosh", [](Real x) { return std::cosh(x); }},
      {"tanh", [](Real x) { return std::tanh(x); }},
      {"asinh", [](Real x) { return std::asinh(x); }},
      {"acosh", [](Real x) { return std::acosh(x); }},
      {"atanh", [](Real x) { return std::atanh(x); }},
      {"sigmoid", [](Real x) { return 1 / (1 + std::exp(-x)); }},
      {"softplus", [](Real x) { return std::log1p(std::exp(x)); }},
      {"softsign", [](Real x) { return x / (1 + std::fabs(x)); }},
      {"hard_swish", [](Real x) { return x * std::clamp(x / 6 + 0.5L, 0.0L, 1.0L); }},
      {"is_nan", [](Real x) { return std::isnan(x) ? 1.0L : 0.0L; }},
      {"not", [](Real x) { return x == 0 ? 1.0L : 0.0L; }},
      {"identity", [](Real x) { return x; }},
      {"dropout", [](Real x) { return x; }},
      {"layout_transform", [](Real x) { return x; }},
  };
  std::function<Real(Real)> f;
  if (const auto plain = kPlain.find(call.op); plain != kPlain.end()) f = plain->second;
  if (call.op == "cast") f = [](Real x) { return x; };  // the type rounds or wraps it
  if (call.op == "leaky_relu") f = [a = alpha()](Real x) { return x < 0 ? a * x : x; };
  if (call.op == "elu") f = [a = alpha()](Real x) { return x < 0 ? a * std::expm1(x) : x; };
  if (call.op == "celu") {
    f = [a = alpha()](Real x) { return std::max(0.0L, x) + std::min(0.0L, a * std::expm1(x / a)); };
  }
  if (call.op == "selu") {
    f = [a = alpha(), g = static_cast<Real>(with.real("gamma"))](Real x) {
      return x > 0 ? g * x : g * (a * std::exp(x) - a);
    };
  }
  if (call.op == "thresholded_relu") f = [a = alpha()](Real x) { return x > a ? x : 0; };
  if (call.op == "shrink") {
    f = [l = static_cast<Real>(with.real("lambd")),
         b = static_cast<Real>(with.real("bias"))](Real x) {
      return x < -l ? x + b : x > l ? x - b : 0;
    };
  }
  if (call.op == "hard_sigmoid") {
    f = [a = alpha(), b = static_cast<Real>(with.real("beta"))](Real x) {
      return std::clamp(a * x + b, 0.0L, 1.0L);
    };
  }
  if (call.op == "gelu") {
    const bool tanh_form = with.text("approximate") == "tanh";
    f = [tanh_form](Real x) {
      const Real inner = std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
      return tanh_form ? x * 0.5L * (1 + std::tanh(inner))
                       : x * 0.5L * (1 + std::erf(x / std::sqrt(2.0L)));
    };
  }
  if (call.op == "is_inf") {
    f = [n = with.integer("detect_negative"), p = with.integer("detect_positive")](Real x) {
      return std::isinf(x) && (x > 0 ? p : n) != 0 ? 1.0L : 0.0L;
    };
  }
  if (!f) return false;
  call.out().elements.clear();
  for (const Real x : call.in(0).elements) call.out().elements.push_back(f(x));
  return true;
}

bool binary(NaiveCall& call) {
  const bool real = call.has(0) && graph::is_float(call.in(0).type.dtype);
  static const std::map<std::string_view, Real (*)(Real, Real)> kPlain = {
      {"add", [](Real x, Real y) { return x + y; }},
      {"sub", [](Real x, Real y) { return x - y; }},
      {"mul", [](Real x, Real y) { return x * y; }},
      {"pow", [](Real x, Real y) { return std::pow(x, y); }},
      {"max", [](Real x, Real y) { return std::isnan(x) || x > y ? x : y; }},
      {"min", [](Real x, Real y) { return std::isnan(x) || x < y ? x : y; }},
      {"equal", [](Real x, Real y) { return x == y ? 1.0L : 0.0L; }},
      {"greater", [](Real x, Real y) { return x > y ? 1.0L : 0.0L; }},
      {"greater_or_equal", [](Real x, Real y) { return x >= y ? 1.0L : 0.0L; }},
      {"less", [](Real x, Real y) { return x < y ? 1.0L : 0.0L; }},
      {"less_or_equal", [](Real x, Real y) { return x <= y ? 1.0L : 0.0L; }},
      {"and", [](Real x, Real y) { return x != 0 && y != 0 ? 1.0L : 0.0L; }},
      {"or", [](Real x, Real y) { return x != 0 || y != 0 ? 1.0L : 0.0L; }},
      {"xor", [](Real x, Real y) { return (x != 0) != (y != 0) ? 1.0L : 0.0L; }},
      {"prelu", [](Real x, Real slope) { return x < 0 ? slope * x : x; }},
  };
  std::function<Real(Real, Real)> f;
  if (const auto plain = kPlain.find(call.op); plain != kPlain.end()) f = plain->second;
  if (call.op == "div") {
    f = [real](Real x, Real y) { return real ? x / y : y == 0 ? 0 : std::trunc(x / y); };
  }
  if (call.op == "mod") {
    // fmod has the sign of x; otherwise the result has the sign of y.
    f = [by_x = call.call.integer("fmod") != 0](Real x, Real y) {
      const Real rest = std::fmod(x, y);
      return by_x || rest == 0 || (rest < 0) == (y < 0) ? rest : rest + y;
    };
  }
  if (call.op == "bit_shift") {
    f = [left = call.call.text("direction") == "left"](Real x, Real y) {
      return left ? std::ldexp(x, static_cast<int>(y))
                  : std::floor(std::ldexp(x, -static_cast<int>(y)));
    };
  }
  if (!f) return false;
  fill(call, [&](const Index& index) {
    return f(broadcast_at(call.in(0), index), broadcast_at(call.in(1), index));
  });
  return true;
}

/// All elements along the reduced dims, for each of the others in row-major order.
std::vector<std::vector<Real>> groups_of(const NaiveTensor& x, const std::vector<bool>& reduced) {
  std::map<Index, std::vector<Real>> groups;
  each_index(x.type.shape, [&](const Index& index) {
    Index key;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (!reduced[d]) key.push_back(index[d]);
    }
    groups[key].push_back(x.elements[static_cast<std::size_t>(row_major(x.type.shape, index))]);
  });
  std::vector<std::vector<Real>> lists;
  for (auto& [key, list] : groups) lists.push_back(list);
  return lists;
}

bool reduction(NaiveCall& call) {
  if (!call.op.starts_with("reduce_")) return false;
  const NaiveTensor& x = call.in(0);
  std::vector<bool> reduced(x.type.shape.rank(), !call.call.given("axes"));
  for (const std::int64_t axis : call.call.integers("axes")) {
    reduced[dim_at(axis, reduced.size())] = true;
  }
  call.out().elements.clear();
  if (x.elements.empty()) {
    // A sum of nothing is 0, a product 1; a largest element does not exist.
    if (call.op != "reduce_sum" && call.op != "reduce_l1" && call.op != "reduce_prod") return false;
    fill(call, [&](const Index&) { return call.op == "reduce_prod" ? 1.0L : 0.0L; });
    return true;
  }
  for (const std::vector<Real>& list : groups_of(x, reduced)) {
    Real sum = 0;
    Real product = 1;
    Real absolute = 0;
    Real squares = 0;
    Real exponentials = 0;
    Real most = list[0];
    Real least = list[0];
    for (const Real value : list) {
      sum += value;
      product *= value;
      absolute += std::fabs(value);
      squares += value * value;
      exponentials += std::exp(value);
      most = std::isnan(value) || value > most ? value : most;  // a NaN stays, as in NumPy
      least = std::isnan(value) || value < least ? value : least;
    }
    const std::map<std::string_view, Real> results = {
        {"reduce_sum", sum},
        {"reduce_mean", sum / static_cast<Real>(list.size())},
        {"reduce_prod", product},
        {"reduce_l1", absolute},
        {"reduce_l2", std::sqrt(squares)},
        {"reduce_sum_square", squares},
        {"reduce_log_sum", std::log(sum)},
        {"reduce_log_sum_exp", std::log(exponentials)},
        {"reduce_max", most},
        {"reduce_min", least}};
    call.out().elements.push_back(results.at(call.op));
  }
  return true;
}

bool position(NaiveCall& call) {
  if (call.op != "argmax" && call.op != "argmin") return false;
  const NaiveTensor& x = call.in(0);
  std::vector<bool> reduced(x.type.shape.rank(), false);
  reduced[dim_at(call.call.integer("axis"), reduced.size())] = true;
  const bool last = call.call.integer("select_last") != 0;
  call.out().elements.clear();
  for (const std::vector<Real>& list : groups_of(x, reduced)) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < list.size(); ++i) {
      const bool better = call.op == "argmax" ? list[i] > list[best] : list[i] < list[best];
      if (better || (last && list[i] == list[best])) best = i;
    }
    call.out().elements.push_back(static_cast<Real>(best));
  }
  return true;
}

/// The elements along one dim through `index`.
std::vector<Real> line(const NaiveTensor& x, Index index, std::size_t dim) {
  std::vector<Real> out;
  for (index[dim] = 0; index[dim] < x.type.shape[dim]; ++index[dim]) {
    out.push_back(x.elements[static_cast<std::size_t>(row_major(x.type.shape, index))]);
  }
  return out;
}

bool along_axis(NaiveCall& call) {
  if (call.op != "softmax" && call.op != "log_softmax" && call.op != "hardmax" &&
      call.op != "cumsum") {
    return false;
  }
  const NaiveTensor& x = call.in(0);
  const std::size_t dim = dim_at(call.call.integer("axis"), x.type.shape.rank());
  const bool exclusive = call.call.integer("exclusive") != 0;
  const bool reverse = call.call.integer("reverse") != 0;
  fill(call, [&](const Index& index) -> Real {
    const std::vector<Real> list = line(x, index, dim);
    const auto here = static_cast<std::size_t>(index[dim]);
    const Real most = *std::max_element(list.begin(), list.end());
    Real sum = 0;
    for (const Real value : list) sum += std::exp(value - most);
    if (call.op == "softmax") return std::exp(list[here] - most) / sum;
    if (call.op == "log_softmax") return list[here] - most - std::log(sum);
    if (call.op == "hardmax") {
      return std::find(list.begin(), list.end(), most) - list.begin() == index[dim] ? 1 : 0;
    }
    Real running = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool before = reverse ? i > here : i < here;
      if (before || (i == here && !exclusive)) running += list[i];
    }
    return running;
  });
  return true;
}

/// (x - mean) / sqrt(variance + epsilon) over a set of elements.
struct Statistics {
  Real mean = 0;
  Real variance = 0;
  Real squares = 0;  ///< mean of squares
};
Statistics statistics(const std::vector<Real>& list) {
  Statistics out;
  for (const Real value : list) out.mean += value / static_cast<Real>(list.size());
  for (const Real value : list) {
    out.variance += (value - out.mean) * (value - out.mean) / static_cast<Real>(list.size());
    out.squares += value * value / static_cast<Real>(list.size());
  }
  return out;
}

bool norm(NaiveCall& call) {
  const bool layer = call.op == "layer_norm";
  const bool rms = call.op == "rms_norm";
  const bool batch = call.op == "batch_norm";
  const bool group = call.op == "group_norm";
  const bool instance = call.op == "instance_norm";
  if (!layer && !rms && !batch && !group && !instance) return false;
  const NaiveTensor& x = call.in(0);
  const Shape& shape = x.type.shape;
  const Real epsilon = call.call.real("epsilon");
  const auto channel = [&](std::size_t input, const Index& index) {
    return call.in(input).elements[static_cast<std::size_t>(index.size() < 2 ? 0 : index[1])];
  };
  if (batch) {
    fill(call, [&](const Index& index) {
      const Real deviation = std::sqrt(channel(4, index) + epsilon);
      return channel(1, index) *
                 (x.elements[static_cast<std::size_t>(row_major(shape, index))] -
                  channel(3, index)) /
                 deviation +
             channel(2, index);
    });
    return true;
  }
  const std::int64_t group_size = group ? shape[1] / call.call.integer("groups") : std::int64_t{1};
  const std::size_t axis = layer || rms ? dim_at(call.call.integer("axis"), shape.rank()) : 0;
  const auto same_group = [&](const Index& a, const Index& b) {
    if (layer || rms)
      return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(axis), b.begin());
    return a[0] == b[0] && a[1] / group_size == b[1] / group_size;
  };
  std::map<Index, Statistics> known;
  const auto of = [&](const Index& index) -> const Statistics& {
    Index key = layer || rms
                    ? Index(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(axis))
                    : Index{index[0], index[1] / group_size};
    const auto at = known.find(key);
    if (at != known.end()) return at->second;
    std::vector<Real> list;
    each_index(shape, [&](const Index& other) {
      if (same_group(index, other)) {
        list.push_back(x.elements[static_cast<std::size_t>(row_major(shape, other))]);
      }
    });
    return known.emplace(std::move(key), statistics(list)).first->second;
  };
  fill(call, [&](const Index& index) {
    const Statistics& s = of(index);
    const Real value = x.elements[static_cast<std::size_t>(row_major(shape, index))];
    if (rms) {
      const Real scaled = value / std::sqrt(s.squares + epsilon);
      return call.has(1) ? scaled * broadcast_at(call.in(1), index) : scaled;
    }
    const Real normal = (value - s.mean) / std::sqrt(s.variance + epsilon);
    if (!layer) return normal * channel(1, index) + channel(2, index);
    return normal * broadcast_at(call.in(1), index) +
           (call.has(2) ? broadcast_at(call.in(2), index) : 0);
  });
  for (std::size_t i = 1; i < call.outputs.size(); ++i) {
    call.out(i).elements.clear();
    each_index(call.out(i).type.shape, [&](const Index& index) {
      const Statistics& s = of(index);
      call.out(i).elements.push_back(i == 1 ? s.mean : 1 / std::sqrt(s.variance + epsilon));
    });
  }
  return true;
}

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

bool choice(NaiveCall& call) {
  if (call.op == "where") {
    fill(call, [&](const Index& index) {
      return broadcast_at(call.in(0), index) != 0 ? broadcast_at(call.in(1), index)
                                                  : broadcast_at(call.in(2), index);
    });
    return true;
  }
  if (call.op == "clip") {
    call.out().elements = call.in(0).elements;
    for (Real& value : call.out().elements) {
      if (call.has(1)) value = std::max(value, call.in(1).elements[0]);
      if (call.has(2)) value = std::min(value, call.in(2).elements[0]);
    }
    return true;
  }
  return false;
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

bool evaluate_numbers(NaiveCall& call) {
  return unary(call) || binary(call) || reduction(call) || position(call) || along_axis(call) ||
         norm(call) || product(call) || choice(call) || attention(call) || einsum(call);
}

}  // namespace tessera::test
