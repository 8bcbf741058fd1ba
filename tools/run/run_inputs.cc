// SPDX-License-Identifier: Apache-2.0
#include "tools/run/run_inputs.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/random_weights.h"
#include "tessera/relayout/plan.h"
#include "tessera/relayout/program.h"
#include "tessera/run/elements.h"
#include "tessera/run/kernels/kernel.h"
#include "tools/files/array_file.h"
#include "tools/files/array_layout.h"
#include "tools/files/mapped_file.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Result<run::HostTensor> read_array(const graph::TensorType& type, const std::string& file) {
  TESSERA_TRY(const Layout plain, Layout::row_major(type.shape, type.dtype));
  const Placement wanted(plain);
  Placement placement = wanted;
  TESSERA_TRY(const ArrayFile array,
              open_array(file, is_raw_file(file, false), type.bytes(),
                         [&](const NpyHeader& header) -> Status {
                           TESSERA_TRY(placement, placement_in_file(wanted, header, file));
                           return ok_status();
                         }));
  run::HostTensor tensor{type, {}};
  tensor.bytes.resize(static_cast<std::size_t>(type.bytes()));
  const std::span<std::byte> to = std::as_writable_bytes(std::span(tensor.bytes));
  if (placement == wanted) {
    std::memcpy(to.data(), array.elements.data(), to.size());
  } else {
    TESSERA_TRY(relayout::Program program, relayout::make_program(placement, wanted));
    TESSERA_TRY(const relayout::Plan plan, relayout::Plan::make(std::move(program)));
    ThreadPool pool(1);
    TESSERA_CHECK_OK(plan.run(array.elements, to, pool));
  }
  TESSERA_CHECK_OK(array.file.check());
  return tensor;
}

/// What a * in the pattern stands for in a name that matches it; "" in the name itself.
std::optional<std::string> starred(std::string_view name, std::string_view pattern) {
  if (name == pattern) return std::string();
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos || name.size() + 1 < pattern.size()) return std::nullopt;
  const std::string_view end = pattern.substr(star + 1);
  if (!name.starts_with(pattern.substr(0, star)) || !name.ends_with(end)) return std::nullopt;
  return std::string(name.substr(star, name.size() - star - end.size()));
}

/// The file with this text in place of its *, if it has one.
std::string with_star(std::string file, const std::string& middle) {
  const std::size_t star = file.find('*');
  if (star != std::string::npos) file.replace(star, 1, middle);
  return file;
}

/// One past the largest position that an integer input may hold: the smallest extent that it
/// chooses from.
std::int64_t positions_of(const graph::Graph& graph, graph::ValueId input) {
  std::int64_t below = 2;
  bool chooses = false;
  for (const graph::Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != input) continue;
      const bool is_table = i == 1 && (node.op.is("gather") || node.op.is("embedding") ||
                                       node.op.is("gather_elements") || node.op.is("gather_nd") ||
                                       node.op.is("scatter_nd") || node.op.is("scatter_elements"));
      if (!is_table) continue;
      const Shape& shape = graph.values[node.inputs[0]].type.shape;
      std::size_t dim = 0;
      if (const graph::Attribute* axis = node.attributes.find("axis");
          axis != nullptr && !node.op.is("embedding")) {
        const std::int64_t at = std::get<std::int64_t>(*axis);
        dim = static_cast<std::size_t>(at < 0 ? at + static_cast<std::int64_t>(shape.rank()) : at);
      }
      std::int64_t extent = shape.rank() == 0 ? 1 : shape[dim];
      if (node.op.is("gather_nd") || node.op.is("scatter_nd")) {
        for (const std::int64_t e : shape.extents()) extent = std::min(extent, e);
      }
      below = chooses ? std::min(below, extent) : extent;
      chooses = true;
    }
  }
  return std::max<std::int64_t>(below, 1);
}

}  // namespace

Result<GivenTensors> read_given(const graph::Graph& graph, const std::vector<std::string>& texts) {
  GivenTensors given;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::kUsage, cat("--in ", quote(text), " names no value"), std::nullopt,
                   "as in --in x=x.npy"};
    }
    const std::string name = text.substr(0, equals);
    bool is_known = false;
    for (const graph::Value& value : graph.values) {
      if (value.kind == graph::Kind::kComputed) continue;
      const std::optional<std::string> middle = starred(value.name, name);
      if (!middle) continue;
      is_known = true;
      if (given.contains(value.name)) {
        return Error{ErrorCode::kUsage, cat("--in names ", quote(value.name), " twice")};
      }
      std::string file = text.substr(equals + 1);
      if (value.name != name) file = with_star(std::move(file), *middle);
      Result<run::HostTensor> tensor = read_array(value.type, file);
      if (!tensor) {
        Error error = tensor.error();
        error.message =
            cat(graph::kind_name(value.kind), " ", quote(value.name), ": ", error.message);
        return error;
      }
      given[value.name] = *std::move(tensor);
    }
    if (is_known) continue;
    std::vector<std::string_view> names;
    for (const graph::Value& each : graph.values) {
      if (each.kind != graph::Kind::kComputed) names.push_back(each.name);
    }
    return Error{ErrorCode::kUnknownName, cat("the model has no input ", quote(name)), std::nullopt,
                 did_you_mean(name, names, "tessera graph MODEL lists its inputs")};
  }
  return given;
}

Status load_data(const graph::Graph& graph, const std::string& folder, GivenTensors& given) {
  for (const graph::Value& value : graph.values) {
    if (value.data.form != graph::Data::Form::kFile || given.contains(value.name)) continue;
    const bool is_absolute = value.data.file.starts_with('/');
    const std::string path = is_absolute ? value.data.file : folder + value.data.file;
    TESSERA_TRY(const MappedInput file, MappedInput::open(path));
    const std::int64_t bytes = value.type.bytes();
    if (value.data.offset < 0 || value.data.offset > std::ssize(file.bytes()) - bytes) {
      return Error{ErrorCode::kIo,
                   cat(quote(path), " has ", file.bytes().size(), " bytes, but '", value.name,
                       "' is bytes ", value.data.offset, " to ", value.data.offset + bytes)};
    }
    const std::byte* const from = file.bytes().data() + value.data.offset;
    given[value.name] = {value.type, std::string(reinterpret_cast<const char*>(from),
                                                 static_cast<std::size_t>(bytes))};
    TESSERA_CHECK_OK(file.check());
  }
  return ok_status();
}

Status check_given(const graph::Graph& graph, const GivenTensors& given) {
  constexpr std::int64_t kMostNamed = 5;
  std::string names;
  std::int64_t missing = 0;
  for (const graph::Value& value : graph.values) {
    const bool has_data = value.data.form != graph::Data::Form::kNone;
    if (value.kind == graph::Kind::kComputed || has_data || given.contains(value.name)) continue;
    if (missing++ >= kMostNamed) continue;
    names += cat(names.empty() ? "" : ", ", graph::kind_name(value.kind), " ", quote(value.name),
                 " ", value.type.to_string());
  }
  if (missing == 0) return ok_status();
  const std::string others =
      missing > kMostNamed ? cat(" and ", missing - kMostNamed, " more") : "";
  return Error{ErrorCode::kBadGraph,
               cat(names, others, missing == 1 ? " has" : " have", " no elements"), std::nullopt,
               "give them by --in NAME=FILE.npy, or all by --random SEED"};
}

Status add_random_inputs(const graph::Graph& graph, std::uint64_t seed, GivenTensors& given) {
  for (const graph::ValueId v : graph.of_kind(graph::Kind::kInput)) {
    const graph::Value& value = graph.values[v];
    if (given.contains(value.name)) continue;
    std::mt19937_64 random(seed * 1'000'003 + graph::random_stream(value.name));
    const DType dtype = value.type.dtype;
    const DType compute = run::compute_type(dtype);
    const std::int64_t count = value.type.shape.elements();
    const auto below = static_cast<std::uint64_t>(positions_of(graph, v));
    std::vector<std::byte> numbers(static_cast<std::size_t>(8 * count));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t bits = random();
      const double real = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
      std::byte* const at = numbers.data() + i * run::compute_bytes(compute);
      if (compute == DType::kF32) {
        const auto number = static_cast<float>(real);
        std::memcpy(at, &number, sizeof number);
      } else if (compute == DType::kF64) {
        std::memcpy(at, &real, sizeof real);
      } else {
        const std::uint64_t number = bits % below;
        std::memcpy(at, &number, sizeof number);
      }
    }
    run::HostTensor tensor{value.type, {}};
    tensor.bytes.resize(static_cast<std::size_t>(value.type.bytes()));
    TESSERA_CHECK_OK(run::from_compute(numbers.data(), dtype,
                                       std::as_writable_bytes(std::span(tensor.bytes)), count));
    given[value.name] = std::move(tensor);
  }
  return ok_status();
}

}  // namespace tessera::tools
