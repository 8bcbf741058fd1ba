// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/rules/rules.h"

namespace tessera::ops::rules {
namespace {

/// Softmax and the like: every element needs all of its line along the axis.
void along_axis(Nest& nest) {
  const Shape& shape = nest.in(0);
  const std::size_t axis = axis_of(nest.call(), shape.rank());
  std::vector<int> factors;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    factors.push_back(d == axis ? nest.whole(shape[d]) : nest.pass(shape[d]));
  }
  nest.input(0, dims_at(factors));
  nest.output(0, dims_at(factors));
  nest.scratch("maximum of a row", nest.passing(), nest.in_dtype(0));
  if (!nest.call().op().is("hardmax")) {
    nest.scratch("sum of a row", nest.passing(), nest.wide());
  }
}

/// What is known of the elements that are normalized together.
void add_statistics(Nest& nest) {
  if (!nest.call().op().is("rms_norm")) nest.scratch("mean", nest.passing(), nest.wide());
  nest.scratch("mean square", nest.passing(), nest.wide());
}

/// Layer and RMS norm: the dims from the axis on are normalized together; scale and bias are
/// broadcast to them. Further outputs are the statistics, with extent 1 there.
void from_axis(Nest& nest) {
  const Shape& shape = nest.in(0);
  const std::size_t axis = axis_of(nest.call(), shape.rank());
  std::vector<int> factors;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    factors.push_back(d >= axis ? nest.whole(shape[d]) : nest.pass(shape[d]));
  }
  nest.input(0, dims_at(factors));
  for (std::size_t i = 1; i < nest.call().inputs(); ++i) nest.broadcast_input(i, factors);
  nest.output(0, dims_at(factors));
  std::vector<DimAccess> statistics = dims_at(factors);
  for (std::size_t d = axis; d < shape.rank(); ++d) statistics[d] = {};
  for (std::size_t o = 1; o < nest.call().outputs(); ++o) nest.output(o, statistics);
  add_statistics(nest);
}

/// Norms with one scale per channel, which is dim 1. The spatial dims are divided where statistics
/// are given (batch norm) and whole where they are computed.
void per_channel(Nest& nest, bool divides_space) {
  const Shape& shape = nest.in(0);
  std::vector<int> factors;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    factors.push_back(d < 2 || divides_space ? nest.pass(shape[d]) : nest.whole(shape[d]));
  }
  nest.input(0, dims_at(factors));
  for (std::size_t i = 1; i < nest.call().inputs(); ++i) {
    nest.input(i, {shape.rank() < 2 ? DimAccess{} : at(factors[1])});
  }
  nest.output(0, dims_at(factors));
}

void batch_norm(Nest& nest) { per_channel(nest, true); }
void instance_norm(Nest& nest) {
  per_channel(nest, false);
  add_statistics(nest);
}

/// A group of channels is normalized together: channel = group·(channels / groups) + member.
void group_norm(Nest& nest) {
  const Shape& shape = nest.in(0);
  if (shape.rank() < 2) return instance_norm(nest);
  const std::int64_t groups = nest.call().integer("groups");
  const std::int64_t members = shape[1] / groups;
  std::vector<DimAccess> dims = {at(nest.pass(shape[0], "n"))};
  const int group = nest.pass(groups, "g");
  const int member = nest.whole(members, "c");
  dims.push_back(at(group, members) + at(member));
  for (std::size_t d = 2; d < shape.rank(); ++d) dims.push_back(at(nest.whole(shape[d])));
  for (std::size_t i = 1; i < nest.call().inputs(); ++i) nest.input(i, {dims[1]});
  nest.input(0, dims);
  nest.output(0, dims);
  add_statistics(nest);
}

/// A window over neighbouring channels.
void lrn(Nest& nest) {
  const Shape& shape = nest.in(0);
  const std::vector<int> factors = nest.pass_dims(shape);
  // More neighbours than twice the channels reach none.
  const std::int64_t size = nest.call().integer("size");
  const std::int64_t before = std::min((size - 1) / 2, shape[1]);
  const std::int64_t after = std::min(size / 2, shape[1]);
  std::vector<DimAccess> in = dims_at(factors);
  in[1] = in[1] + at(nest.whole(before + after + 1, "w")) + -before;
  nest.input(0, std::move(in));
  nest.output(0, dims_at(factors));
}

}  // namespace

std::vector<Entry> normalization_rules() {
  return {{"softmax", along_axis},          {"log_softmax", along_axis}, {"hardmax", along_axis},
          {"layer_norm", from_axis},        {"rms_norm", from_axis},     {"batch_norm", batch_norm},
          {"instance_norm", instance_norm}, {"group_norm", group_norm},  {"lrn", lrn}};
}

}  // namespace tessera::ops::rules
