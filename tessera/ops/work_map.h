// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/ops/loops.h"

namespace tessera::ops {

/// Which places perform an iteration. Like a layout it is a form: its dims are the factors, its
/// digits are on mesh axes or nowhere, and what no digit uses is a fill: on a fixed coordinate, or
/// replicated, where every coordinate repeats the work.
///
///     C[i, j] = A[i, k]·B[k, j] on a 2x4 mesh, 8 rows and 8 columns:
///     i  {f0} by (4 on axis 0, 1 nowhere)
///     j  {f2} by (2 on axis 1, 1 nowhere)        every place performs all of k
///
/// From it follow the layouts of the operands (layouts_for.h): place q performs f, so it must hold
/// the elements that f reads, and it has the elements, or shares of them, that f makes.
class WorkMap {
 public:
  /// Checks that the form is well-formed over the loops' iterations, has no digits in memory and no
  /// partial fill, and divides no whole factor. Errors: those of Form::check; kShapeMismatch;
  /// kBadFold for a digit in memory; kBadFill; kNotSupported, naming the factor, for one that must
  /// stay whole.
  static Result<WorkMap> make(const Loops& loops, Form form);

  /// Every place of the mesh performs every iteration.
  static Result<WorkMap> repeated(const Loops& loops, const Shape& mesh);

  const Form& form() const { return form_; }
  const Shape& mesh() const { return form_.mesh; }

  friend bool operator==(const WorkMap&, const WorkMap&) = default;

 private:
  explicit WorkMap(Form form) : form_(std::move(form)) {}
  Form form_;
};

/// The range of a factor, half open.
struct Range {
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool empty() const { return from >= to; }
};

/// The form x -> places, slot of an operand as a form over iterations f in these ranges, counted
/// from their beginnings: pull_back(form, access)(f - from) = form(access(f)). Every index must lie
/// inside the operand. Errors of checked arithmetic.
Result<Form> pull_back(const Form& form, const Access& access, const std::vector<Range>& ranges);

/// The same for the form of a work map: its iterations, restricted to ranges.
Result<Form> restrict_to(const Form& form, const std::vector<Range>& ranges);

/// A form over factors without memory, with one fold for each independent line and digits in their
/// simplest form: factors that a fold joins needlessly are parted. Same places for every iteration.
/// kNotSupported where a line runs backwards over the mesh.
Result<Form> simplified_places(const Form& form);

}  // namespace tessera::ops
