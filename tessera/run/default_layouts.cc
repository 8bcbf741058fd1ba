// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/default_layouts.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/run/sub_meshes.h"

namespace tessera::run {
namespace {

/// Rather than with smaller blocks on the same places, tensors are tried on places of their own.
constexpr std::int64_t kLeastTogether = 256;

/// A dim that may be cut along a mesh axis.
struct Cuttable {
  std::size_t dim = 0;
  std::size_t axis = 0;
  std::int64_t extent = 1;
  std::int64_t places = 1;  ///< along the axis
  std::int64_t pieces = 1;

  std::int64_t block() const { return ceil_div(extent, pieces); }
  std::int64_t most() const { return std::min(extent, places); }
};

/// These dims, the last of them along the last mesh axis.
std::vector<Cuttable> along_last_axes(const std::vector<std::size_t>& dims, const Shape& shape,
                                      const Shape& mesh) {
  std::vector<Cuttable> list;
  for (std::size_t n = 1; n <= dims.size(); ++n) {
    const std::size_t dim = dims[dims.size() - n];
    const std::size_t axis = mesh.rank() - n;
    list.push_back({dim, axis, shape[dim], mesh[axis], 1});
  }
  return list;
}

/// Elements of a block if these dims are cut as far as they can be.
std::int64_t smallest_block(const std::vector<Cuttable>& dims, const Shape& shape) {
  Checked block(1);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const auto found = std::ranges::find(dims, d, &Cuttable::dim);
    block *= found == dims.end() ? shape[d] : ceil_div(shape[d], found->most());
  }
  return block.saturated();
}

/// The last dims, or the longest ones where cutting the last does not make blocks small enough. A
/// convolution's weights are long in the first two.
std::vector<Cuttable> cuttable_dims(const Shape& shape, const Shape& mesh, std::int64_t most) {
  const std::size_t count = std::min({shape.rank(), mesh.rank(), std::size_t{2}});
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < shape.rank(); ++d) dims.push_back(d);
  const std::vector<std::size_t> last(dims.end() - static_cast<std::ptrdiff_t>(count), dims.end());
  std::vector<Cuttable> list = along_last_axes(last, shape, mesh);
  if (shape.empty() || smallest_block(list, shape) <= most) return list;
  sort_stably(dims, [&](std::size_t a, std::size_t b) {
    return shape[a] != shape[b] ? shape[a] > shape[b] : a > b;
  });
  dims.resize(count);
  std::ranges::sort(dims);
  return along_last_axes(dims, shape, mesh);
}

/// Halves the dim with the longest block until blocks are small enough or nothing can be cut.
void cut_blocks(std::vector<Cuttable>& dims, std::int64_t others, std::int64_t most) {
  while (true) {
    Checked block(others);
    Cuttable* longest = nullptr;
    for (Cuttable& dim : dims) {
      block *= dim.block();
      const bool can_be_cut = dim.pieces < dim.most();
      if (can_be_cut && (longest == nullptr || dim.block() > longest->block())) longest = &dim;
    }
    if (block.saturated() <= most || longest == nullptr) return;
    longest->pieces = std::min(2 * longest->pieces, longest->most());
  }
}

const std::string& space_for(const graph::Value& value, const Machine& machine) {
  if (value.kind == graph::Kind::kComputed) return machine.data_space;
  for (const target::MemorySpace& space : machine.memory) {
    const bool is_host = space.name == "host";  // beyond the border of the machine
    if (space.owner != target::MemorySpace::Owner::kPlace && !is_host) return space.name;
  }
  return machine.data_space;
}

}  // namespace

Result<Layout> default_layout(const graph::Value& value, const Machine& machine,
                              std::int64_t most) {
  const Shape& shape = value.type.shape;
  const Shape mesh = machine.shape();
  std::vector<Cuttable> dims = cuttable_dims(shape, mesh, most);
  std::int64_t others = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(dims, d, &Cuttable::dim) != dims.end()) continue;
    others = (Checked(others) * std::max<std::int64_t>(shape[d], 1)).saturated();
  }
  if (!shape.empty()) cut_blocks(dims, others, most);
  LayoutSpec spec;
  Form& form = spec.form;
  form.shape = shape;
  std::vector<std::int64_t> extents(mesh.rank(), 1);
  Checked stride(1);
  for (std::size_t d = shape.rank(); d-- > 0;) {
    Fold fold{{Term{static_cast<int>(d), 1}}, 0, {}};
    std::int64_t length = shape[d];
    for (const Cuttable& dim : dims) {
      if (dim.dim != d || dim.pieces <= 1) continue;
      length = dim.block();
      const std::int64_t pieces = ceil_div(dim.extent, length);
      extents[dim.axis] = pieces;
      fold.cuts.push_back(
          {length, pieces, Target::mesh(static_cast<int>(dim.axis)), 1, Cause::kGrid});
    }
    TESSERA_TRY(const std::int64_t step, stride.value("a stride"));
    if (fold.cuts.empty() || length > 1) {
      fold.cuts.push_back({1, length, Target::memory(), step, Cause::kAlignment});
      stride *= std::max<std::int64_t>(length, 1);
    }
    form.folds.push_back(std::move(fold));
  }
  TESSERA_TRY(form.mesh, Shape::make(std::move(extents)));
  spec.dtype = value.type.dtype;
  spec.atom = Atom::scalar(value.type.dtype);
  spec.space = space_for(value, machine);
  return Layout::make(std::move(spec));
}

namespace {

/// Default layouts, each on places of its own if they are to be apart; those that are given.
Result<std::vector<Layout>> layouts_for(const graph::Graph& graph, const Machine& machine,
                                        const std::vector<std::optional<Layout>>& given,
                                        std::int64_t most, bool are_apart) {
  std::vector<Layout> defaults;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (v < given.size() && given[v]) continue;
    TESSERA_TRY(Layout layout, default_layout(graph.values[v], machine, most));
    defaults.push_back(std::move(layout));
  }
  if (are_apart) {
    TESSERA_TRY(defaults, apart(std::move(defaults), machine.shape()));
  }
  std::vector<Layout> all;
  std::size_t next = 0;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const bool is_given = v < given.size() && given[v].has_value();
    all.push_back(is_given ? *given[v] : std::move(defaults[next++]));
  }
  return all;
}

/// Whether parameters stay in the memory of places, all the time.
bool keeps_parameters_on_places(const graph::Graph& graph, const Machine& machine) {
  const target::MemorySpace* const space = machine.find_space(machine.data_space);
  if (space == nullptr || space->owner != target::MemorySpace::Owner::kPlace) return false;
  return std::ranges::any_of(graph.values, [&](const graph::Value& value) {
    return value.kind != graph::Kind::kComputed && space_for(value, machine) == machine.data_space;
  });
}

}  // namespace

Result<Execution> compile_with_defaults(const graph::Graph& graph, const Machine& machine,
                                        const std::vector<std::optional<Layout>>& layouts) {
  TESSERA_CHECK_OK(machine.check());
  struct Way {
    bool are_apart = false;
    bool may_divide_otherwise = false;
    std::int64_t least = 1;  ///< elements of the smallest blocks that are tried
  };
  std::vector<Way> ways = {{false, false, 1}, {false, true, 1}};
  if (keeps_parameters_on_places(graph, machine)) {
    ways = {{false, false, kLeastTogether}, {true, true, 1}, {false, true, 1}};
  }
  Error does_not_fit{ErrorCode::kDoesNotFit, ""};
  for (const Way& way : ways) {
    CompileOptions options;
    options.may_divide_otherwise = way.may_divide_otherwise;
    for (std::int64_t most = 4096; most >= way.least; most /= 4) {
      TESSERA_TRY(const std::vector<Layout> all,
                  layouts_for(graph, machine, layouts, most, way.are_apart));
      Result<Execution> made = compile(graph, machine, all, options);
      if (made || made.error().code != ErrorCode::kDoesNotFit) return made;
      does_not_fit = made.error();
    }
  }
  return does_not_fit;
}

}  // namespace tessera::run
