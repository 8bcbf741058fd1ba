// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/calibration/relative_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tessera::fabric {
namespace {

constexpr int kIterations = 80;
constexpr double kLeastError = 0.002;  // smaller errors do not weigh more
constexpr double kDependent = 1e-6;    // of a pivot: what is left of a column of length 1

std::size_t index(std::int32_t term) { return static_cast<std::size_t>(term); }

/// The normal equations of least squares.
class NormalEquations {
 public:
  explicit NormalEquations(std::size_t terms)
      : size_(terms), matrix_(terms * terms), right_(terms) {}

  /// Adds weight · (Σ factor·term - value)².
  void add(std::span<const LinearForm::Part> parts, double value, double weight) {
    for (const LinearForm::Part& a : parts) {
      right_[index(a.term)] += weight * a.factor * value;
      for (const LinearForm::Part& b : parts) {
        at(index(a.term), index(b.term)) += weight * a.factor * b.factor;
      }
    }
  }

  /// Solves for the terms in `free` and leaves the others. A term that depends on those before it
  /// is removed from `free`.
  void solve(std::vector<bool>& free, std::vector<double>& terms) const {
    std::vector<double> lower(size_ * size_);
    std::vector<double> y(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      if (!free[i]) continue;
      double pivot = at(i, i);
      for (std::size_t k = 0; k < i; ++k) pivot -= lower[i * size_ + k] * lower[i * size_ + k];
      if (pivot <= kDependent * at(i, i)) {
        free[i] = false;
        std::fill_n(lower.begin() + static_cast<std::ptrdiff_t>(i * size_), i, 0.0);
        continue;
      }
      lower[i * size_ + i] = std::sqrt(pivot);
      for (std::size_t j = i + 1; j < size_; ++j) {
        if (!free[j]) continue;
        double sum = at(j, i);
        for (std::size_t k = 0; k < i; ++k) sum -= lower[j * size_ + k] * lower[i * size_ + k];
        lower[j * size_ + i] = sum / lower[i * size_ + i];
      }
    }
    for (std::size_t i = 0; i < size_; ++i) {
      if (!free[i]) continue;
      double sum = right_[i];
      for (std::size_t k = 0; k < size_; ++k) {
        if (!free[k]) sum -= at(i, k) * terms[k];
      }
      for (std::size_t k = 0; k < i; ++k) sum -= lower[i * size_ + k] * y[k];
      y[i] = sum / lower[i * size_ + i];
    }
    for (std::size_t i = size_; i-- > 0;) {
      if (!free[i]) continue;
      double sum = y[i];
      for (std::size_t k = i + 1; k < size_; ++k) {
        if (free[k]) sum -= lower[k * size_ + i] * terms[k];
      }
      terms[i] = sum / lower[i * size_ + i];
    }
  }

 private:
  double& at(std::size_t row, std::size_t column) { return matrix_[row * size_ + column]; }
  double at(std::size_t row, std::size_t column) const { return matrix_[row * size_ + column]; }

  std::size_t size_;
  std::vector<double> matrix_;
  std::vector<double> right_;
};

class Fitter {
 public:
  Fitter(std::span<const Observation> observations, std::span<const double> given)
      : observations_(observations), given_(given.begin(), given.end()) {}

  RelativeFit fit() {
    RelativeFit result;
    result.is_determined.assign(given_.size(), true);
    // Each round settles at least one term that cannot be determined.
    for (std::size_t round = 0; round <= given_.size(); ++round) {
      result.terms = search(result.is_determined);
      std::vector<bool> determined = result.is_determined;
      NormalEquations equations = weighted(result.terms);
      std::vector<double> unused = result.terms;
      equations.solve(determined, unused);
      result.rows = rows_of(result.terms);
      for (std::size_t i = 0; i < given_.size(); ++i) {
        if (result.rows[i] < kLeastRows) determined[i] = false;
      }
      if (determined == result.is_determined) break;
      result.is_determined = determined;
    }
    result.mean_error = observations_.empty() ? 0 : error_of(result.terms);
    return result;
  }

 private:
  double error_of(const std::vector<double>& terms) const {
    double sum = 0;
    for (const Observation& o : observations_) sum += std::abs(o.form.at(terms) / o.cycles - 1);
    return sum / static_cast<double>(observations_.size());
  }

  /// No term can be larger than a measurement divided by its factor there.
  std::vector<double> largest_possible(const std::vector<bool>& free) const {
    std::vector<double> terms(given_.size(), HUGE_VAL);
    const auto limit = [&](const LinearForm& form, double cycles) {
      for (const LinearForm::Part& part : form.parts) {
        if (part.factor <= 0) continue;
        double& term = terms[index(part.term)];
        term = std::min(term, cycles / part.factor);
      }
    };
    for (const Observation& o : observations_) {
      limit(o.form.always, o.cycles);
      for (const LinearForm& form : o.form.alternatives) limit(form, o.cycles);
    }
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (!free[i] || terms[i] == HUGE_VAL) terms[i] = given_[i];
    }
    return terms;
  }

  /// The parts that count in an observation, and the rest of its prediction.
  double active_parts(const Observation& o, const std::vector<double>& terms) {
    parts_ = o.form.always.parts;
    double constant = o.form.always.constant;
    if (const LinearForm* form = o.form.largest(terms)) {
      parts_.insert(parts_.end(), form->parts.begin(), form->parts.end());
      constant += form->constant;
    }
    return constant;
  }

  NormalEquations weighted(const std::vector<double>& terms) {
    NormalEquations equations(given_.size());
    for (const Observation& o : observations_) {
      const double error = std::abs(o.form.at(terms) / o.cycles - 1);
      const double constant = active_parts(o, terms);
      // Σ w·e² with w = 1 / |e| is Σ |e|; e is relative to the measurement.
      const double weight = 1 / (std::max(error, kLeastError) * o.cycles * o.cycles);
      equations.add(parts_, o.cycles - constant, weight);
    }
    return equations;
  }

  /// Least squares with no negative term: those that would be are 0.
  void solve(const NormalEquations& equations, std::vector<bool> free,
             std::vector<double>& terms) const {
    for (std::size_t round = 0; round < terms.size(); ++round) {
      equations.solve(free, terms);
      bool negative = false;
      for (std::size_t i = 0; i < terms.size(); ++i) {
        if (!free[i] || terms[i] >= 0) continue;
        negative = true;
        free[i] = false;
        terms[i] = 0;
      }
      if (!negative) return;
    }
  }

  std::vector<double> search(const std::vector<bool>& free) {
    std::vector<double> terms = largest_possible(free);
    if (observations_.empty()) return terms;
    std::vector<double> best = terms;
    double least = error_of(terms);
    for (int i = 0; i < kIterations; ++i) {
      std::vector<double> next = terms;
      solve(weighted(terms), free, next);
      // Half a step, because a whole one can change which alternative is the largest back and
      // forth; the whole step is tried as well.
      for (std::size_t k = 0; k < terms.size(); ++k) terms[k] = (terms[k] + next[k]) / 2;
      for (const std::vector<double>* found : {&next, &terms}) {
        const double error = error_of(*found);
        if (error >= least) continue;
        least = error;
        best = *found;
      }
    }
    return best;
  }

  std::vector<std::int64_t> rows_of(const std::vector<double>& terms) {
    std::vector<std::int64_t> rows(given_.size());
    for (const Observation& o : observations_) {
      active_parts(o, terms);
      std::vector<bool> counted(given_.size());
      for (const LinearForm::Part& part : parts_) {
        if (part.factor <= 0 || counted[index(part.term)]) continue;
        counted[index(part.term)] = true;
        ++rows[index(part.term)];
      }
    }
    return rows;
  }

  std::span<const Observation> observations_;
  std::vector<double> given_;
  std::vector<LinearForm::Part> parts_;
};

}  // namespace

double LinearForm::at(std::span<const double> terms) const {
  double sum = constant;
  for (const Part& part : parts) sum += part.factor * terms[index(part.term)];
  return sum;
}

const LinearForm* CycleForm::largest(std::span<const double> terms) const {
  const LinearForm* found = nullptr;
  double most = 0;
  for (const LinearForm& form : alternatives) {
    const double value = form.at(terms);
    if (found != nullptr && value <= most) continue;
    found = &form;
    most = value;
  }
  return found;
}

double CycleForm::at(std::span<const double> terms) const {
  const LinearForm* form = largest(terms);
  return always.at(terms) + (form == nullptr ? 0 : form->at(terms));
}

RelativeFit fit_relative(std::span<const Observation> observations, std::span<const double> given) {
  return Fitter(observations, given).fit();
}

}  // namespace tessera::fabric
